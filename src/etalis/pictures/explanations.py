"""Pictures of explanations, entered as forms of their prints."""

from __future__ import annotations

from etalis.pictures.paint.dot import paint_dot
from etalis.pictures.picture import Picture
from etalis.pictures.scenes.why import draw_why
from etalis.pictures.scenes.why_not import draw_why_not
from etalis.why.justification import Justification
from etalis.why.printable import form
from etalis.why.why_not import WhyNot


@form("Justification", "svg")
def _why_svg(found: Justification, *, direction: str = "down") -> str:
    return Picture(draw_why(found, direction=direction)).to_svg()


@form("Justification", "html")
def _why_html(found: Justification, *, direction: str = "down") -> str:
    return Picture(draw_why(found, direction=direction)).to_html()


@form("Justification", "dot")
def _why_dot(found: Justification) -> str:
    return paint_dot(draw_why(found, direction="right"))


@form("WhyNot", "svg")
def _why_not_svg(found: WhyNot) -> str:
    return _why_not(found).to_svg()


@form("WhyNot", "html")
def _why_not_html(found: WhyNot) -> str:
    return _why_not(found).to_html()


def _why_not(found: WhyNot) -> Picture:
    """Return the picture of an answer; of an event that did occur, why it did."""
    return Picture(draw_why_not(found) if found.occurred is None else draw_why(found.occurred))
