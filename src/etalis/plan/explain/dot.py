"""An explanation as Graphviz text (DOT).

Law: whatever a program is named and says, it stays inside its quotes: backslash, quote and ampersand are escaped, and
characters that no picture can show are written out.
"""

from __future__ import annotations

from etalis.plan.explain.picture import Box, draw_picture
from etalis.plan.explain.text import Explanation

_SHAPES = {
    "event": 'shape=box, style="rounded,filled", fillcolor="#e8f1fb"',
    "time": 'shape=box, style="rounded,filled", fillcolor="#f0ecfa"',
    "operator": 'shape=box, style=filled, fillcolor="#fdf6e3"',
    "head": 'shape=box, style="filled,bold", fillcolor="#e6f4ea"',
    "kind": 'shape=ellipse, style=filled, fillcolor="#f3f4f6"',
}
_LINES = {"match": "solid", "absent": "dashed", "event": "dotted"}


def write_dot(explanation: Explanation) -> str:
    """Write an explanation as a directed graph."""
    picture = draw_picture(explanation)
    lines = ["digraph plan {", "  rankdir=LR;", '  node [fontname="monospace", fontsize=10];', "  edge [fontsize=9];"]
    lines += [f"  n{number} [{_SHAPES[box.form]}, label={_label(box)}];" for number, box in enumerate(picture.boxes)]
    for arrow in picture.arrows:
        label = f", label={quote(arrow.label)}" if arrow.label else ""
        lines.append(f"  n{arrow.source} -> n{arrow.target} [style={_LINES[arrow.form]}{label}];")
    return "\n".join([*lines, "}", ""])


def _label(box: Box) -> str:
    """Write a box's text, every line flush left."""
    return '"' + "".join(f"{_escape(line)}\\l" for line in (box.title, *box.lines) if line) + '"'


def quote(text: str) -> str:
    r"""Write a text as a quoted label.

    >>> print(quote('say "&lt;" \\N'))
    "say \"&amp;lt;\" \\N"
    """
    return f'"{_escape(text)}"'


def _escape(text: str) -> str:
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):x}" for c in text)
    return shown.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
