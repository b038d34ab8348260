"""Expressions as JSON: the tree and names of the XML, `with` and `having` by name.

    {"operator": "SEQ", "arguments": [{"operator": "newCD", "language": "http://shop.example/events",
        "with": {"T": {"mode": "bind"}}, "having": {"title": {"bindVar": "T"}, "artist": {"value": "U2"}}}, ...]}

All values are text: numbers and truth values become their JSON text. The name of an argument is its key `name`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from etalis.errors import DocumentError, Problem
from etalis.language.check.spelling import suggest
from etalis.language.check.wording import listing
from etalis.snoop.expression import Argument, Expression, ExpressionVariable, Opaque, Parameter

Plain: TypeAlias = dict[str, Any]
MOST_BYTES = 1_000_000
MOST_DEEP = 200
MOST_PROBLEMS = 100
_STEPS = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)
_KEYS = ("operator", "language", "context", "time", "with", "having", "arguments", "literal", "name")


def read_json(data: bytes | str) -> Expression:
    """Read an expression from JSON; a DocumentError says what it should have been, and where."""
    return expression_of(load_json(data))


def write_json(expression: Expression, *, indent: int | None = None) -> str:
    """Write an expression as JSON."""
    return json.dumps(to_json(expression), ensure_ascii=False, indent=indent)


def load_json(data: bytes | str) -> Any:
    """Return the value of a JSON text that is not too large, too deep, or ambiguous."""
    raw = data.encode(errors="surrogatepass") if isinstance(data, str) else data
    if len(raw) > MOST_BYTES:
        raise DocumentError(Problem("E872", f"a document of {len(raw)} bytes, at most {MOST_BYTES} are read"))
    depth = 0
    for step in _STEPS.finditer(raw):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(step[0], 0)
        if depth > MOST_DEEP:
            raise DocumentError(Problem("E872", f"a document that is nested more than {MOST_DEEP} levels deep"))
    try:
        text = raw.decode("utf-8-sig")
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse, parse_int=str, parse_float=str)
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()  # half a pair of \ud83d\ude00 is no character
        return found
    except UnicodeError:
        raise DocumentError(Problem("E870", "the document is not text in UTF-8")) from None
    except json.JSONDecodeError as error:
        message = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise DocumentError(Problem("E870", f"the document is not JSON: {message}")) from None


def _once(pairs: list[tuple[str, Any]]) -> Plain:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DocumentError(Problem("E874", f"the key {twice} is given twice in one object"))
    return found


def _refuse(name: str) -> Any:
    raise DocumentError(Problem("E870", f"the document is not JSON: {name} is no number of JSON"))


def to_json(expression: Expression) -> Plain:
    """Return an expression as plain data."""
    found: Plain = {
        name: value
        for name, value in (
            ("operator", expression.operator), ("language", expression.language), ("context", expression.context),
            ("time", expression.time),
        )
        if value is not None
    }  # fmt: skip
    if expression.variables:
        found["with"] = {
            v.name: {"mode": v.mode} if v.value is None else {"mode": v.mode, "value": v.value}
            for v in expression.variables
        }
    if expression.parameters:
        found["having"] = {p.name: _plain_parameter(p) for p in expression.parameters}
    if expression.arguments:
        found["arguments"] = [
            to_json(a.expression) if a.name is None else {"name": a.name, **to_json(a.expression)}
            for a in expression.arguments
        ]
    if expression.literal is not None:
        found["literal"] = _plain_literal(expression.literal)
    return found


def _plain_parameter(given: Parameter) -> Plain:
    pairs = (("bindVar", given.variable), ("value", given.value), ("type", given.type))
    return {name: value for name, value in pairs if value is not None}


def _plain_literal(literal: Opaque) -> Any:
    if literal.type is None and not literal.is_xml:
        return literal.text
    found = {"xml" if literal.is_xml else "text": literal.text}
    return found if literal.type is None else {**found, "type": literal.type}


def expression_of(given: Any, where: str = "the document") -> Expression:
    """Return the expression of plain data, as `json.loads` makes it; a DocumentError says all that is out of shape."""
    reader = JsonShapes()
    found = _expression(reader, given, where)
    reader.finish()
    return found


def _expression(reader: JsonShapes, given: Any, where: str) -> Expression:
    plain = reader.mapping(given, where, _KEYS)
    variables, parameters = [], []
    for name, told in reader.mapping(plain.get("with", {}), f"{where}: with").items():
        at = f"{where}: with: {name}"
        row = reader.mapping(told, at, ("mode", "value"))
        mode = reader.word(row.get("mode", "use" if "value" in row else "bind"), f"{at}: mode", ("use", "bind"))
        variables.append(
            ExpressionVariable(name, "use" if mode == "use" else "bind", reader.optional(row, "value", at))
        )
    for name, told in reader.mapping(plain.get("having", {}), f"{where}: having").items():
        at = f"{where}: having: {name}"
        row = reader.mapping(told, at, ("bindVar", "value", "type"))
        variable, value, type = (reader.optional(row, key, at) for key in ("bindVar", "value", "type"))  # noqa: A001
        parameters.append(Parameter(name, variable, value, type))
    arguments = []
    for number, told in enumerate(reader.items(plain.get("arguments", []), f"{where}: arguments"), 1):
        at = f"{where}: argument {number}"
        own = reader.optional(told, "name", at) if isinstance(told, dict) else None
        arguments.append(Argument(own, _expression(reader, told, at)))
    return Expression(
        reader.optional(plain, "operator", where),
        reader.optional(plain, "language", where),
        tuple(arguments),
        tuple(variables),
        tuple(parameters),
        _literal(reader, plain["literal"], f"{where}: literal") if "literal" in plain else None,
        reader.optional(plain, "context", where),
        reader.optional(plain, "time", where),
    )


def _literal(reader: JsonShapes, given: Any, where: str) -> Opaque:
    if not isinstance(given, dict):
        return Opaque(reader.text(given, where))
    row = reader.mapping(given, where, ("text", "xml", "type"))
    if ("text" in row) == ("xml" in row):
        reader.note(f"{where} has `text` or `xml`, one of them")
    text = reader.text(row.get("xml", row.get("text", "")), where)
    return Opaque(text, reader.optional(row, "type", where), "xml" in row)


class JsonShapes:
    """Reads plain data, and collects what is out of shape."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def finish(self) -> None:
        """Raise what was out of shape."""
        if self.problems:
            raise DocumentError(*self.problems)

    def note(self, message: str, hint: str | None = None) -> None:
        """Note that something is out of shape; of very much the first hundred are enough."""
        self.problems.append(Problem("E874", message, hint=hint))
        if len(self.problems) == MOST_PROBLEMS:
            self.finish()

    def mapping(self, given: Any, where: str, keys: tuple[str, ...] | None = None) -> Plain:
        """Return an object, whose keys may be restricted."""
        if not isinstance(given, dict):
            self.note(f"{where} is an object, not {_shown(given)}")
            return {}
        for key in given:
            if keys is not None and key not in keys:
                self.note(f"{where} has no key {key}", suggest(key, keys, f"keys: {listing(keys)}"))
        return given

    def items(self, given: Any, where: str) -> list[Any]:
        """Return a list."""
        if not isinstance(given, list):
            self.note(f"{where} is a list, not {_shown(given)}")
            return []
        return given

    def text(self, given: Any, where: str) -> str:
        """Return a text; a number or truth value is its JSON text."""
        if isinstance(given, bool | int | float):
            return json.dumps(given)
        if not isinstance(given, str):
            self.note(f"{where} is a text, not {_shown(given)}")
            return ""
        return given

    def optional(self, row: Mapping[str, Any], key: str, where: str) -> str | None:
        """Return the text at a key, None if it is missing or null."""
        return None if row.get(key) is None else self.text(row[key], f"{where}: {key}")

    def word(self, given: Any, where: str, words: tuple[str, ...]) -> str:
        """Return one of some words."""
        if given not in words:
            self.note(f"{where} is {listing(words, 'or')}, not {_shown(given)}")
            return words[0]
        return str(given)


def _shown(given: Any) -> str:
    text = json.dumps(given, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}..."
