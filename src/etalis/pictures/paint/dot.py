"""A diagram as Graphviz text (DOT).

Law: whatever a program is named and says, it stays inside its quotes: backslash, quote and ampersand are escaped, and
characters that no picture can show are written out.
"""

from __future__ import annotations

from etalis.pictures.paint.lettering import show
from etalis.pictures.palette import COLOURS, LINKS, look_of
from etalis.pictures.scene import Box, Diagram


def paint_dot(diagram: Diagram) -> str:
    """Write a diagram as a directed graph."""
    rank = "BT" if diagram.is_derivation else "LR"
    lines = [f"digraph {quote(diagram.title)} {{", f"  rankdir={rank};"]
    lines += ['  node [fontname="monospace", fontsize=10];', "  edge [fontsize=9];"]
    lines += [f"  n{number} [{_shape(box)}, label={_label(box)}];" for number, box in enumerate(diagram.boxes)]
    for link in diagram.links:
        label = f", label={quote(link.label)}" if link.label else ""
        lines.append(f"  n{link.source} -> n{link.target} [style={_line(link.form)}{label}];")
    return "\n".join([*lines, "}", ""])


def _shape(box: Box) -> str:
    look = look_of(box.form)
    shape = "ellipse" if look.round > 12 else "box"
    styles = ["filled", *(["rounded"] if 3 < look.round <= 12 else []), *(["bold"] if look.width > 1.5 else [])]
    styles += [] if look.dash is None else ["dashed"]
    return f'shape={shape}, style="{",".join(styles)}", fillcolor="{COLOURS[look.paper][0]}"'


def _line(form: str) -> str:
    dash = LINKS[form].dash
    return "solid" if dash is None else "dotted" if dash.startswith("1") else "dashed"


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
    return show(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
