"""Small tables of HTML for notebooks; whatever text is in them, it is text, and well-formed XML as well."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what no XML holds, however it is written


def escape(text: object) -> str:
    """Write a text so that HTML and XML show it; characters that these cannot hold as Python writes them.

    >>> escape("a<b & \\0")
    'a&lt;b &amp; \\\\x00'
    """
    shown = _NO_XML.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), str(text))
    return html.escape(shown)


def write_table(rows: Sequence[Mapping[str, Any]], *, title: str | None = None) -> str:
    """Write rows as a table; the first one names the columns.

    >>> write_table([{"x": 1, "y": "<"}])
    '<table><thead><tr><th>x</th><th>y</th></tr></thead><tbody><tr><td>1</td><td>&lt;</td></tr></tbody></table>'
    """
    caption = "" if title is None else f"<caption>{escape(title)}</caption>"
    names = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else ()))
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row.values())}</tr>" for row in rows)
    return f"<table>{caption}<thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>"
