"""The URIs of expressions, of their leaves and results, under the public URL of the service."""

from __future__ import annotations

import re

_EXPRESSIONS = "/snoop/expressions"
_LEAF = re.compile(r"([1-9][0-9]{0,17})/leaves/(0|[1-9][0-9]*(?:\.[1-9][0-9]*)*)")
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")


class Uris:
    """Writes and reads URIs; those without the public URL, from the path on, are read too."""

    def __init__(self, public_url: str) -> None:
        self._base = f"{public_url.rstrip('/')}{_EXPRESSIONS}/"

    def expression(self, number: int) -> str:
        """Return the evaluation URI of an expression.

        >>> Uris("https://engine.example").expression(7)
        'https://engine.example/snoop/expressions/7'
        """
        return f"{self._base}{number}"

    def leaf(self, number: int, path: str) -> str:
        """Return the evaluation URI of a leaf."""
        return f"{self._base}{number}/leaves/{path}"

    def result(self, number: int, result: int) -> str:
        """Return the URI of a result."""
        return f"{self._base}{number}/results/{result}"

    def read_leaf(self, uri: str) -> tuple[int, str] | None:
        """Return the number of an expression and the path of its leaf.

        >>> Uris("https://engine.example").read_leaf("/snoop/expressions/7/leaves/1.2")
        (7, '1.2')
        """
        found = _LEAF.fullmatch(self._rest(uri))
        return None if found is None else (int(found[1]), found[2])

    def read_expression(self, uri: str) -> int | None:
        """Return the number of an expression."""
        found = _NUMBER.fullmatch(self._rest(uri))
        return None if found is None else int(uri.rpartition("/")[2])

    def _rest(self, uri: str) -> str:
        for base in (self._base, f"{_EXPRESSIONS}/"):
            if uri.startswith(base):
                return uri.removeprefix(base)
        return ""
