"""Checks of RDF/XML before it is read: is it XML, which prefixes has it, do its entities stay small.

pyoxigraph takes a file that breaks off for a whole one, tells no lines, and expands entities without bound; the XML
parser of the standard library, handed the same pieces first, makes up for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from xml.parsers import expat

MAX_ENTITY = 1_000
_REFERENCE = re.compile(r"&([^#;&]+);")
_NAMESPACE = "xmlns:"


class XmlError(ValueError):
    """What is wrong with the XML read so far."""


class XmlGuard:
    """Follows an XML text piece by piece."""

    def __init__(self) -> None:
        self._prefixes: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        self._parser = expat.ParserCreate()
        self._parser.EntityDeclHandler = self._declare
        self._parser.StartElementHandler = self._begin

    @property
    def prefixes(self) -> Mapping[str, str]:
        """The prefixes of the outermost element."""
        return MappingProxyType(self._prefixes)

    def feed(self, piece: bytes | str) -> None:
        """Take the next piece of the text; an empty one is its end."""
        try:
            self._parser.Parse(piece, not piece)
        except expat.ExpatError as error:
            raise XmlError(expat.ErrorString(error.code)) from None

    def _declare(self, name: str, is_parameter: int, value: str | None, *_: object) -> None:
        """Refuse an entity that is large when all entities in it are expanded."""
        if value is None or is_parameter:
            raise XmlError(f"the entity {name} is not spelled out in the file")
        size = len(value) + sum(self._sizes.get(other, 0) for other in _REFERENCE.findall(value))
        if size > MAX_ENTITY:
            raise XmlError(f"the entity {name} is longer than {MAX_ENTITY} characters")
        self._sizes[name] = size

    def _begin(self, _name: str, attributes: Mapping[str, str]) -> None:
        self._parser.StartElementHandler = None
        for name, value in attributes.items():
            if name == "xmlns" or name.startswith(_NAMESPACE):
                self._prefixes[name.removeprefix("xmlns").removeprefix(":")] = value
