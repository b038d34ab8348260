"""Expressions as text for people, read.

    shop = "http://shop.example/events".
    SEQ(shop:newCD(title: T, artist: A), shop:newMusicDVD(title: T, artist: "U2"))
      with A = "U2" result T context chronicle time points

Names that are no words stand in single quotes. Foreign parts: `opaque(prolog, "member(X, [1])", [X])`, and
`external {...}` with the JSON of the expression.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from etalis.errors import DocumentError, Problem, Span
from etalis.language.check.spelling import suggest
from etalis.snoop.expression import (
    NUMBER,
    OPERATORS,
    SNOOP,
    Argument,
    Expression,
    ExpressionVariable,
    Opaque,
    Parameter,
)
from etalis.snoop.markup.json_form import expression_of, load_json
from etalis.snoop.markup.text_tokens import TextTokens
from etalis.snoop.markup.xml_document import canonical

T = TypeVar("T")
_MOST_DEEP = 100
TAIL = ("with", "result", "context", "time")


def read_text(text: str, name: str = "<text>") -> Expression:
    """Read an expression from text; a DocumentError says what was expected where."""
    return _Reader(TextTokens(text, name)).document()


class _Reader:
    def __init__(self, tokens: TextTokens) -> None:
        self._tokens = tokens
        self._languages: dict[str, str] = {}
        self._depth = 0

    def document(self) -> Expression:
        tokens = self._tokens
        while tokens.token.kind == "name" and tokens.peek().kind == "sign" and tokens.peek().value == "=":
            prefix = tokens.next().value
            tokens.expect("=")
            self._languages[prefix] = self._text("the URI of a language, in quotes")
            tokens.expect(".")
        root = self._tail(self._expression())
        tokens.take(".")
        if tokens.token.kind != "end":
            raise tokens.error("the end, or with, result, context, time")
        return root

    # the tail

    def _tail(self, root: Expression) -> Expression:
        tokens = self._tokens
        uses: list[ExpressionVariable] = []
        chosen: list[ExpressionVariable] = []
        given: set[str] = set()
        while tokens.token.kind == "name" and tokens.token.value in TAIL:
            word = tokens.next()
            if word.value in given:
                raise DocumentError(Problem("E875", f"{word.value} is said twice", word.span))
            given.add(word.value)
            match word.value:
                case "with":
                    uses = self._list(self._use)
                case "result":
                    chosen = self._list(self._variable)
                case "context":
                    root = replace(root, context=self._name("a context"))
                case _:
                    root = replace(root, time=self._name("intervals or points"))
        values = {v.name: v for v in uses}
        root = _with_values(root, values)
        own = (*uses, *(v for v in root.variables if v.name not in values))
        return replace(root, variables=(*own, *(v for v in chosen if v not in own)))

    def _use(self) -> ExpressionVariable:
        variable = self._variable()
        self._tokens.expect("=")
        return replace(variable, mode="use", value=self._value())

    def _variable(self) -> ExpressionVariable:
        span = self._tokens.token.span
        return ExpressionVariable(self._name("a variable"), span=span)

    # expressions

    def _expression(self) -> Expression:
        self._depth += 1
        if self._depth > _MOST_DEEP:
            raise DocumentError(Problem("E872", f"a text that is nested more than {_MOST_DEEP} levels deep"))
        found = self._one()
        self._depth -= 1
        return found

    def _one(self) -> Expression:
        tokens = self._tokens
        start = tokens.token.span
        name = self._name("an expression")
        if name == "external" and tokens.is_sign("{"):
            return self._external()
        if tokens.take(":"):
            return self._atomic(name, start)
        if name == "opaque":
            return self._opaque(start)
        if name not in OPERATORS:
            hint = suggest(name, OPERATORS, "an event is written with its language: shop:newCD(...)")
            raise DocumentError(Problem("E875", f"SNOOP-R has no operator {name}", start, hint))
        return self._composite(name, start)

    def _composite(self, operator: str, start: Span) -> Expression:
        tokens = self._tokens
        arguments: list[Argument] = []
        parameters: list[Parameter] = []
        tokens.expect("(")
        while not tokens.is_sign(")"):
            span = tokens.token.span
            if tokens.token.kind == "number":
                parameters.append(Parameter(NUMBER, value=tokens.next().value, span=span))
            else:
                own = tokens.peek().kind == "sign" and tokens.peek().value == "="
                name = self._name("a name") if own else None
                if own:
                    tokens.expect("=")
                arguments.append(Argument(name, self._expression()))
            if not tokens.take(","):
                break
        tokens.expect(")")
        return Expression(operator, SNOOP, tuple(arguments), (), tuple(parameters), span=start)

    def _atomic(self, prefix: str, start: Span) -> Expression:
        language = self._language(prefix, start)
        operator = self._name("the name of an event")
        self._tokens.expect("(")
        parameters = () if self._tokens.is_sign(")") else tuple(self._list(self._parameter))
        self._tokens.expect(")")
        declared = tuple(dict.fromkeys(ExpressionVariable(p.variable) for p in parameters if p.variable is not None))
        return Expression(operator, language, (), declared, parameters, span=start)

    def _parameter(self) -> Parameter:
        tokens = self._tokens
        span = tokens.token.span
        name = self._name("a parameter")
        tokens.expect(":")
        if tokens.token.kind == "name":
            variable, value = tokens.next().value, None
        else:
            variable, value = None, self._value()
        return Parameter(name, variable, value, self._type(), span)

    def _type(self) -> str | None:
        tokens = self._tokens
        if not tokens.take("^^"):
            return None
        if tokens.token.kind == "text":
            return tokens.next().value
        name = self._name("a type, as in xsd:integer")
        return f"{name}:{self._name('a type')}" if tokens.take(":") else name

    def _opaque(self, start: Span) -> Expression:
        tokens = self._tokens
        tokens.expect("(")
        place = tokens.token.span
        language = self._language(self._name("a language"), place)
        tokens.expect(",")
        is_xml = tokens.token.kind == "name" and tokens.token.value == "xml"
        if is_xml:
            tokens.next()
        place = tokens.token.span
        text = self._text("what the part says in its language, in quotes")
        if is_xml:
            try:
                text = canonical(text)
            except DocumentError as error:
                raise DocumentError(*(replace(p, span=place) for p in error.problems)) from None
        literal = Opaque(text, self._type(), is_xml)
        variables: list[ExpressionVariable] = []
        if tokens.take(","):
            tokens.expect("[")
            variables = [] if tokens.is_sign("]") else self._list(self._variable)
            tokens.expect("]")
        tokens.expect(")")
        return Expression(None, language, (), tuple(variables), (), literal, span=start)

    def _external(self) -> Expression:
        tokens = self._tokens
        place, text = tokens.token.span.start, tokens.source.text
        try:
            _, end = json.JSONDecoder().raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError):
            message = "what follows `external` is not a JSON object"
            raise DocumentError(Problem("E875", message, tokens.token.span)) from None
        found = expression_of(load_json(text[place:end]), "external")
        tokens.skip_to(end)
        return found

    # small things

    def _list(self, read: Callable[[], T]) -> list[T]:
        found = [read()]
        while self._tokens.take(","):
            found.append(read())
        return found

    def _language(self, prefix: str, span: Span) -> str:
        if prefix not in self._languages:
            hint = suggest(prefix, self._languages, f'say what it is, first of all: {prefix} = "http://...".')
            raise DocumentError(Problem("E875", f"unknown language {prefix}", span, hint))
        return self._languages[prefix]

    def _name(self, expected: str) -> str:
        if self._tokens.token.kind != "name":
            raise self._tokens.error(expected)
        return self._tokens.next().value

    def _text(self, expected: str) -> str:
        if self._tokens.token.kind != "text":
            raise self._tokens.error(expected)
        return self._tokens.next().value

    def _value(self) -> str:
        if self._tokens.token.kind not in ("text", "number"):
            raise self._tokens.error('a value, as in "U2"')
        return self._tokens.next().value


def _with_values(node: Expression, values: dict[str, ExpressionVariable]) -> Expression:
    """Return an expression whose leaves declare as inputs what has a value."""
    arguments = tuple(replace(a, expression=_with_values(a.expression, values)) for a in node.arguments)
    if node.kind == "external":
        arguments = node.arguments
    declared = tuple(values.get(v.name, v) if v.mode == "bind" else v for v in node.variables)
    return replace(node, arguments=arguments, variables=declared)
