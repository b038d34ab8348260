"""XML documents of SNOOP-R: read without entities, network and DTD, checked against the schema that the package ships.

Elements may be without namespace, as those of 004 are: they are given that of the schema, except within a literal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from threading import get_ident
from typing import Any

from lxml import etree

from etalis.errors import DocumentError, Problem, Source, Span
from etalis.snoop.limits import NOT_IN_XML
from etalis.snoop.markup.json_form import MOST_BYTES, MOST_DEEP

NAMESPACE = "urn:etalis:snoop-r:1"
SCHEMA = "snoop-r.xsd"
_PREFIX = f"{{{NAMESPACE}}}"
_SETTINGS = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}


def schema_text() -> bytes:
    """Return the schema of all documents."""
    return files("etalis.snoop.markup").joinpath(SCHEMA).read_bytes()


@lru_cache(maxsize=64)
def _schema(_thread: int) -> Any:
    """Return the schema, one for each thread: it keeps the errors of the document at hand."""
    return etree.XMLSchema(etree.fromstring(schema_text()))


class XmlDocument:
    """A document of the schema: its root, and where in its text an element stands."""

    def __init__(self, data: bytes | str, name: str = "<document>") -> None:
        raw = data.encode(errors="surrogatepass") if isinstance(data, str) else data
        if len(raw) > MOST_BYTES:
            raise DocumentError(Problem("E872", f"a document of {len(raw)} bytes, at most {MOST_BYTES} are read"))
        self._source = Source(name, raw.decode("utf-8", "replace"))
        self._lines = [0, *(found.end() for found in re.finditer("\n", self._source.text))]
        self.root = self._parse(raw)
        self._validate()

    def _parse(self, raw: bytes) -> Any:
        parser = etree.XMLParser(remove_comments=True, remove_pis=True, **_SETTINGS)
        try:
            root = etree.fromstring(raw, parser)
        except etree.XMLSyntaxError as error:
            line = error.lineno or 1
            if "xcessive depth" in error.msg:
                raise self._too_deep(line) from None
            problem = Problem("E870", f"the document is not XML: {error.msg}", self._line(line))
            raise DocumentError(problem) from None
        if root.getroottree().docinfo.internalDTD is not None:
            hint = "leave out <!DOCTYPE ...>: the schema is known"
            raise DocumentError(Problem("E871", "document type declarations are refused", self._line(1), hint))
        for depth, element in _with_depth(root):
            if depth > MOST_DEEP:
                raise self._too_deep(element.sourceline)
        return root

    def _too_deep(self, line: int) -> DocumentError:
        message = f"a document that is nested more than {MOST_DEEP} levels deep"
        return DocumentError(Problem("E872", message, self._line(line)))

    def _validate(self) -> None:
        for element in _outside_literals(self.root):
            if isinstance(element.tag, str) and not element.tag.startswith("{"):
                element.tag = _PREFIX + element.tag
        schema = _schema(get_ident())
        if not schema.validate(self.root):
            error = schema.error_log[0]
            message = error.message.replace(_PREFIX, "").replace(f"{{{NAMESPACE}}}", "")
            raise DocumentError(Problem("E873", message.rstrip("."), self._line(error.line)))

    def place(self, element: Any) -> Span:
        """Return the line on which an element begins."""
        return self._line(element.sourceline)

    def _line(self, number: int | None) -> Span:
        start = self._lines[min(max(number or 1, 1), len(self._lines)) - 1]
        text = self._source.line_at(start)
        inset = len(text) - len(text.lstrip())
        return Span(self._source, start + inset, start + len(text))


def name_of(element: Any) -> str:
    """Return the name of an element of the schema."""
    return str(element.tag).removeprefix(_PREFIX)


def child(element: Any, name: str) -> Any | None:
    """Return the child of a name, None if there is none."""
    return element.find(_PREFIX + name)


def children(element: Any, name: str) -> list[Any]:
    """Return the children of a name, whatever its first letter's case."""
    return [each for each in element if name_of(each).lower() == name.lower()]


def legal(text: str) -> str:
    r"""Return a text without the characters that no XML has: instead of each, one that says so.

    >>> legal("a\x00b") == "a\ufffdb"
    True
    """
    return NOT_IN_XML.sub("\ufffd", text)


def make(name: str, attributes: dict[str, str | None], *below: Any, text: str | None = None) -> Any:
    """Return an element of the schema; attributes that are None are left out."""
    element = etree.Element(_PREFIX + name, nsmap={None: NAMESPACE})
    for key, value in attributes.items():
        if value is not None:
            element.set(key, legal(value))
    element.text = None if text is None else legal(text)
    element.extend(below)
    return element


def write(element: Any, *, indent: bool = True) -> str:
    """Write an element as a document."""
    if indent:
        _indent(element, "\n")
    return str(etree.tostring(element, encoding="unicode"))


def _indent(element: Any, before: str) -> None:
    """Put children on lines of their own; literals stay as they are."""
    if len(element) == 0 or name_of(element) == "literal":
        return
    element.text = f"{before}  "
    for each in element:
        _indent(each, f"{before}  ")
        each.tail = f"{before}  "
    element[-1].tail = before


def canonical(text: str) -> str:
    """Return one XML element in its canonical form; a DocumentError if the text is none."""
    return canonical_element(parse_literal(text))


def parse_literal(text: str) -> Any:
    """Return the element of a literal, read as carefully as documents are."""
    parser = etree.XMLParser(remove_comments=True, remove_pis=True, **_SETTINGS)
    try:
        element = etree.fromstring(text.encode(errors="surrogatepass"), parser)
    except etree.XMLSyntaxError as error:
        raise DocumentError(Problem("E870", f"a literal is not XML: {error.msg}")) from None
    if element.getroottree().docinfo.internalDTD is not None:
        raise DocumentError(Problem("E871", "document type declarations are refused"))
    return element


def canonical_element(element: Any) -> str:
    """Return an element in exclusive canonical form."""
    return str(etree.tostring(element, method="c14n", exclusive=True, with_tail=False), "utf-8")


def _with_depth(root: Any) -> Iterator[tuple[int, Any]]:
    todo = [(1, root)]
    while todo:
        depth, element = todo.pop()
        yield depth, element
        todo += [(depth + 1, each) for each in element]


def _outside_literals(root: Any) -> Iterator[Any]:
    todo = [root]
    while todo:
        element = todo.pop()
        yield element
        if element.tag not in ("literal", f"{_PREFIX}literal"):
            todo += list(element)
