"""pyoxigraph, which reads and writes RDF for us: an extra that may be missing.

It takes triple terms and JSON-LD that are nested some ten thousand levels deep for granted, and breaks down over them;
so what it is given is looked at before. Both are refused anyway, or of no use.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from etalis.errors import InputError, Problem

MOST_NESTED = 2_000
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_BRACKET = re.compile(rb"[\[\]{}]")


def import_pyoxigraph() -> Any:
    """Return the library."""
    try:
        return import_module("pyoxigraph")
    except ModuleNotFoundError:
        hint = "install it: pip install 'etalis[rdf]'"
        raise InputError(Problem("E412", "RDF is read by pyoxigraph, which is not installed", hint=hint)) from None


class NestingGuard:
    """Follows a text piece by piece, and refuses more triples in one another than the library can bear."""

    __slots__ = ("depth",)

    def __init__(self) -> None:
        self.depth = 0

    def feed(self, piece: bytes) -> None:
        """Take the next piece of the text."""
        if b"<<" in piece:
            self.depth += _STRING.sub(b"", piece).count(b"<<")
            if self.depth > MOST_NESTED:
                raise too_deep("triples in triples")


def check_json(text: bytes) -> None:
    """Refuse JSON that is nested deeper than the library can bear."""
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", text)):
        depth += 1 if bracket in b"[{" else -1
        if depth > MOST_NESTED:
            raise too_deep("JSON-LD")


def too_deep(what: str) -> InputError:
    return InputError(Problem("E402", f"{what}, more than {MOST_NESTED} levels deep", hint="check the text"))
