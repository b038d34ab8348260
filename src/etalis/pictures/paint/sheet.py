"""The SVG around a picture: its size, its colours for light and dark pages, the heads of its arrows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from etalis.pictures.paint.lettering import FONT, LETTER, cells, escape, letter, wrap
from etalis.pictures.palette import LINKS, class_of, write_style

MARGIN = 24
_NOTE = 11  # size of letters
_NARROWEST = 560  # of notes


@dataclass(frozen=True, slots=True)
class SetNotes:
    """Lines under a picture: how wide they are, and where they end."""

    elements: Sequence[str]
    width: float
    bottom: float


def write_sheet(title: str, corner: tuple[float, float], width: float, height: float, body: Iterable[str]) -> str:
    """Write an SVG picture; it can stand alone, or in a page."""
    x, y = corner
    view = f'width="{width:.0f}" height="{height:.0f}" viewBox="{x:.0f} {y:.0f} {width:.0f} {height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="etalis" {view} role="img" font-family="{FONT}">',
            f"<title>{escape(title)}</title>",
            f"<style>{write_style('.etalis')}</style>",
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" class="f-paper"/>',
            *(_arrow_head(form) for form in LINKS),
            *body,
            "</svg>",
            "",
        ]
    )


def _arrow_head(form: str) -> str:
    return (
        f'<marker id="etalis-{form}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7"'
        f' orient="auto"><path d="M0 0.5 L8 4 L0 7.5 z" class="f-{class_of(LINKS[form].colour)}"/></marker>'
    )


def stroke(form: str) -> str:
    """Write how a link is drawn."""
    look = LINKS[form]
    return f'class="s-{class_of(look.colour)}" fill="none" stroke-width="1.3"{dashed(look.dash)}'


def dashed(dash: str | None) -> str:
    """Write a dash, if there is one."""
    return "" if dash is None else f' stroke-dasharray="{dash}"'


def set_notes(notes: Iterable[str], width: float, top: float) -> SetNotes:
    """Set notes under a picture, broken to its width, unless that is very narrow."""
    most = int(max(width, _NARROWEST) / (_NOTE * LETTER))
    lines = [line for note in notes for line in wrap(note, most)]
    elements = [letter(0, top + 26 + 15 * place, line, colour="faint") for place, line in enumerate(lines)]
    widest = max((cells(line) * _NOTE * LETTER for line in lines), default=0.0)
    return SetNotes(elements, widest, top + 15 * len(lines) + (8 if lines else 0))
