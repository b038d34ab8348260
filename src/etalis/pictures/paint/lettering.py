"""Texts in pictures: how wide they are, how they are broken and cut, and how SVG holds them.

They are set in a font of fixed width, so that boxes fit them without measuring. Law: text of a program is only ever
character data, never markup.
"""

from __future__ import annotations

from unicodedata import combining, east_asian_width

FONT = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
LETTER = 0.61  # width of a letter, as a part of its size
TITLE = 120  # letters of a title, and of what is said above a time line


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` cells, at spaces where there are any, later lines indented.

    >>> wrap("one two three", 8)
    ['one two', '  three']
    """
    lines, line = [], ""
    for word in show(text).split(" "):
        if line.strip() and cells(line) + 1 + cells(word) > width:
            lines.append(line)
            line = "  " + word
        else:
            line = f"{line} {word}" if line.strip() else line + word
        while cells(line) > width:
            head = _cut(line, width)
            lines.append(head)
            line = "  " + line[len(head) :]
    return [*lines, line]


def _cut(line: str, width: int) -> str:
    """Return the beginning of a line that fits; at least three characters, so that wrapping comes to an end."""
    used = 0
    for place, character in enumerate(line):
        used += cells(character)
        if used > width and place >= 3:
            return line[:place]
    return line


def shorten(text: str, width: int) -> str:
    """Return a text that nobody can miss to be cut where it is wider than `width` cells.

    >>> shorten("withdrawal", 6), shorten("a", 6)
    ('withd…', 'a')
    """
    shown = show(text[: 4 * width + 4])
    if cells(shown) <= width:
        return shown
    used = 0
    for place, character in enumerate(shown):
        used += cells(character)
        if used > width - 1:
            return shown[:place] + "…"
    return shown


def cells(text: str) -> int:
    """Return how many letters wide a text is: East Asian wide ones count twice, marks on a letter not at all.

    >>> cells("ab"), cells("語")
    (2, 2)
    """
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def show(text: str) -> str:
    r"""Write out the characters that XML does not know or nobody sees.

    >>> show("a\x00b\tc")
    'a\\x0b\\x9c'
    """
    return "".join(c if c.isprintable() else f"\\x{ord(c):x}" for c in text)


def escape(text: str) -> str:
    """Return text as character data or the value of an attribute."""
    return show(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def letter(x: float, y: float, text: str, *, size: int = 11, colour: str = "ink", more: str = "") -> str:
    """Write one line of text at a place; `more` are further attributes."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}"{more} class="f-{colour}" xml:space="preserve">'
        f"{escape(text)}</text>"
    )
