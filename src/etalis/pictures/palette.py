"""The colours of all pictures, each for a light and a dark page, and how the forms of scenes look.

Laws, which a test measures: texts have a contrast of at least 4.5 to what is behind them, shapes one of 3; the colours
of rules can be told apart by readers who see no red or no green (after Okabe and Ito 2002). No form differs from
another by its colour alone: shape, line or dash differ too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

COLOURS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "paper": ("#ffffff", "#12161c"),
        "band": ("#f5f7f9", "#191f27"),
        "grid": ("#dde2e8", "#2c3540"),
        "ink": ("#1b2430", "#e6eaf0"),
        "faint": ("#566170", "#a3adba"),
        "line": ("#4b5563", "#a7b1be"),
        "blue": ("#0072b2", "#5aaeea"),
        "blue paper": ("#e8f1fb", "#15293c"),
        "purple": ("#9b4a80", "#dd90bd"),
        "purple paper": ("#f7ecf4", "#33212e"),
        "amber": ("#946a00", "#e6a52a"),
        "amber paper": ("#fdf5e1", "#322910"),
        "green": ("#00785a", "#35c49f"),
        "green paper": ("#e4f3ee", "#10312a"),
        "olive": ("#6f6a00", "#d9cd3c"),
        "olive paper": ("#f8f6da", "#2c2b10"),
        "grey": ("#656e7a", "#8d97a5"),
        "grey paper": ("#f1f3f5", "#22282f"),
        "red": ("#c24100", "#ff8a4c"),
        "red paper": ("#fdece2", "#3d2114"),
        "rule 0": ("#0072b2", "#5aaeea"),
        "rule 1": ("#8f5a00", "#f0b040"),
        "rule 2": ("#00785a", "#35c49f"),
        "rule 3": ("#b0569a", "#e79ccc"),
        "rule 4": ("#2b2f77", "#b9bdfb"),
        "rule 5": ("#7c7a00", "#e4dc52"),
        "rule 6": ("#5d4037", "#bf9b8c"),
    }
)
_RULES = sum(name.startswith("rule ") for name in COLOURS)
_SHAPES = ("diamond", "square", "triangle", "wedge")
_STRIPES = (None, "6 3", "2 2")  # lines of bars; with the shapes: 84 rules before two look alike


@dataclass(frozen=True, slots=True)
class Look:
    """How a form looks: names of colours, the shape of an instant, corners and line of a box or bar.

    What `is_bar` is always an interval.
    """

    colour: str
    paper: str
    shape: str = "circle"
    round: int = 3
    dash: str | None = None
    width: float = 1.2
    is_bar: bool = False


FORMS: Mapping[str, Look] = MappingProxyType(
    {
        # boxes
        "event": Look("blue", "blue paper", round=12),
        "time": Look("purple", "purple paper", round=12, dash="1 2"),
        "operator": Look("amber", "amber paper"),
        "head": Look("green", "green paper", width=2),
        "kind": Look("grey", "grey paper", round=18),
        "reference": Look("grey", "grey paper", round=12, dash="3 3"),
        "test": Look("olive", "olive paper", round=0, dash="6 2"),
        "nothing": Look("red", "paper", round=0, dash="4 3"),
        "knowledge": Look("purple", "purple paper", round=0),
        # marks
        "received": Look("line", "grey paper"),
        "match": Look("green", "green paper", "diamond"),
        "taken back": Look("grey", "paper", "ring", dash="2 3"),
        "present": Look("green", "green paper", "circle"),
        "missing": Look("red", "paper", "ring", dash="5 3", width=1.6, is_bar=True),
        "nearest": Look("amber", "paper", "ring"),
        "blocker": Look("red", "red paper", "cross", width=2),
        "rival": Look("purple", "purple paper", "square"),
        "allowed": Look("grey", "grey paper", "square", is_bar=True),
        "excess": Look("red", "red paper", "square", dash="2 2", is_bar=True),
    }
)
LINKS: Mapping[str, Look] = MappingProxyType(
    {
        "match": Look("line", "paper"),
        "absent": Look("red", "paper", dash="5 3"),
        "event": Look("green", "paper", dash="1.5 3"),
        "part": Look("faint", "paper"),
    }
)


def rule_form(number: int) -> str:
    """Return the form of events that the rule of this number made, counted from 0."""
    return f"rule {number}"


def look_of(form: str) -> Look:
    """Return how a form looks.

    >>> look_of("rule 0").colour, look_of("rule 8").colour, look_of("rule 8").shape
    ('rule 0', 'rule 1', 'diamond')
    """
    if form in FORMS:
        return FORMS[form]
    number = int(form.removeprefix("rule "))
    colour = f"rule {number % _RULES}"
    dash = _STRIPES[number // (_RULES * len(_SHAPES)) % len(_STRIPES)]
    return Look(colour, "paper", _SHAPES[number % len(_SHAPES)], 3, dash)


def class_of(colour: str) -> str:
    """Return the class of elements that a colour fills (`f-`) or draws (`s-`), without its prefix."""
    return colour.replace(" ", "-")


def write_style(scope: str) -> str:
    """Write the colours as rules of CSS below a selector: `.f-x` fills, `.s-x` draws, on a dark page in the dark."""
    light, dark = (
        " ".join(f"{scope} .f-{class_of(n)}{{fill:{c[i]}}} {scope} .s-{class_of(n)}{{stroke:{c[i]}}}"
                 for n, c in COLOURS.items())
        for i in (0, 1)
    )  # fmt: skip
    return f"{light} @media (prefers-color-scheme:dark){{{dark}}}"


def write_variables() -> str:
    """Write the colours as variables of CSS, for pages."""
    light, dark = ("".join(f"--{class_of(n)}:{c[i]};" for n, c in COLOURS.items()) for i in (0, 1))
    return f":root{{color-scheme:light dark;{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def contrast(a: str, b: str) -> float:
    """Return the contrast of two colours, from 1 to 21 (WCAG 2).

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    lighter, darker = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = channels(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def channels(colour: str) -> Iterator[float]:
    """Yield the linear parts of red, green and blue, from 0 to 1."""
    for place in (1, 3, 5):
        part = int(colour[place : place + 2], 16) / 255
        yield part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
