"""Source positions in a TOML text: the path of a key to the part of the text that holds it.

The standard reader of TOML tells values without places. This one tells places without values: it follows headers, keys
and brackets of a text that is known to be TOML, and leaves the meaning to the other. Law: a path that is not found is
answered by its nearest parent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from etalis.errors import Source, Span

Path: TypeAlias = tuple[str | int, ...]

_WORD = r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'"""
_KEY = re.compile(rf"\s*({_WORD})(?:\s*\.\s*(?:{_WORD}))*")
_PART = re.compile(_WORD)
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r""""(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*""", re.DOTALL
)


class Places:
    """The places of all keys of one text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._found: dict[Path, tuple[int, int]] = {}
        self._counts: dict[Path, int] = {}
        self._read()

    def find(self, path: Path) -> Span | None:
        """Return where a key stands, or where the nearest thing around it begins."""
        while path:
            if path in self._found:
                return Span(self.source, *self._found[path])
            path = path[:-1]
        return None

    def _read(self) -> None:
        text, place, table = self.source.text, 0, ()
        inside: Path = table
        while place < len(text):
            if text[place] in " \t\r\n":
                place += 1
            elif text[place] == "#":
                place = _line_end(text, place)
            elif text[place] == "[":
                inside, place = self._header(place)
            else:
                place = self._pair(inside, place)

    def _header(self, place: int) -> tuple[Path, int]:
        """Read `[a.b]` or `[[a.b]]`; return the path that what follows stands in."""
        text = self.source.text
        several = text.startswith("[[", place)
        found = _KEY.match(text, place + (2 if several else 1))
        names = _names(found[0]) if found else []
        path: Path = ()
        for name in names[:-1]:
            path = self._enter((*path, name))
        path = (*path, *names[-1:])
        if several:
            self._counts[path] = self._counts.get(path, -1) + 1
            path = (*path, self._counts[path])
        end = found.end() if found else place + 1
        self._found.setdefault(path, (place, end + (2 if several else 1)))
        return path, _line_end(text, end)

    def _enter(self, path: Path) -> Path:
        """Return the path of a table; of an array of tables its last one."""
        return (*path, self._counts[path]) if path in self._counts else path

    def _pair(self, inside: Path, place: int) -> int:
        """Read `key = value`; return where the next line begins."""
        text = self.source.text
        found = _KEY.match(text, place)
        if found is None:
            return _line_end(text, place)
        path = (*inside, *_names(found[0]))
        value = _value_start(text, found.end())
        end = _value_end(text, value)
        self._found.setdefault(path, (found.start(1), max(found.end(), len(text[:end].rstrip()))))
        if text.startswith("{", value):
            self._inline(path, value + 1, end - 1)
        return end

    def _inline(self, path: Path, place: int, end: int) -> None:
        """Read the keys of `{ key = value, ... }`."""
        text = self.source.text
        while place < end and (found := _KEY.match(text, place, end)):
            stop = _value_end(text, _value_start(text, found.end()), ",}")
            self._found.setdefault((*path, *_names(found[0])), (found.start(1), len(text[:stop].rstrip())))
            place = stop + 1


def _names(key: str) -> list[str]:
    return [part[1:-1] if part[0] in "\"'" else part for part in _PART.findall(key)]


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end + 1


def _value_start(text: str, place: int) -> int:
    found = _EQUALS.match(text, place)
    return place if found is None else found.end()


def _value_end(text: str, place: int, stops: str = "\n") -> int:
    """Return where a value ends: at a stop that stands in no string, comment or bracket."""
    depth = 0
    for at, sign in _signs(text, place):
        if not depth and (sign in stops or sign == "#"):
            return at
        depth += (sign in "[{") - (sign in "]}")
    return len(text)


def _signs(text: str, place: int) -> Iterator[tuple[int, str]]:
    """Yield brackets, commas, line ends and beginnings of comments outside strings."""
    while place < len(text):
        found = _STRING.match(text, place)
        if found is not None:
            if found[0][0] == "#":
                yield place, "#"
            place = found.end()
            continue
        if text[place] in "[]{},\n":
            yield place, text[place]
        place += 1
