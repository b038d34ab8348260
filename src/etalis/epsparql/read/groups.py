"""Groups in braces, chains under temporal operators, and the elements of groups.

The body of a query may stand outside of braces, as 003 prints it: `WHERE {..} SEQ {..} FILTER (..)` reads as
`WHERE { {..} SEQ {..} FILTER (..) }`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from etalis.epsparql import syntax as s
from etalis.epsparql.read.durations import read_duration
from etalis.epsparql.read.expressions import read_expression
from etalis.epsparql.read.original import as_comparisons, read_aggregate_group, read_conjunction
from etalis.epsparql.read.query_text import QueryText, ReadingError, describe
from etalis.epsparql.read.terms import (
    begins_call,
    begins_constant,
    is_goal,
    is_unknown_word,
    read_constant,
    read_var,
    read_var_or_iri,
)
from etalis.epsparql.read.triples import begins_triple, read_block
from etalis.epsparql.read.words import ELEMENTS, IN_GROUPS, MODIFIERS, TEMPORAL
from etalis.language.check.spelling import suggest
from etalis.language.syntax import Const, Var

ReadSelect: TypeAlias = Callable[[QueryText], s.SubSelect]
_STOPS = ELEMENTS | MODIFIERS | {".", "WITHIN"}
_BRACES = "put the UNION into braces of its own: { {..} UNION {..} } SEQ {..}"
_ELEMENTS = "a group has triples, groups in braces, FILTER, OPTIONAL, BIND, ..."
_VALUES = "write VALUES ?x { 1 2 }, or VALUES (?x ?y) { (1 2) (3 UNDEF) }"
_WITHIN = "WITHIN stands behind a group in braces: { ... } WITHIN 10m"


class GroupReader:
    """Reads groups; what reads a query inside a group is given."""

    __slots__ = ("_select", "r")

    def __init__(self, r: QueryText, select: ReadSelect) -> None:
        self.r = r
        self._select = select

    def body(self) -> s.GroupPattern:
        """Read what stands behind SELECT or WHERE, with or without braces around it."""
        r = self.r
        r.accept_word("WHERE")
        first = r.at
        if not r.sees("{"):
            hint = "write the pattern in braces: WHERE { ?s ?p ?o }"
            raise r.refusal("E108", f"the pattern of the query is missing before {describe(r.token)}", r.token, hint)
        groups = self._grouped()
        elements = self._elements(groups, loose=True)
        only = elements[0]
        if isinstance(only, s.GroupPattern) and not (len(elements) > 1 and _is_query(only)):
            elements[:1] = only.elements
        return s.GroupPattern(tuple(elements), r.span_from(first))

    def group(self, where: str) -> s.GroupPattern:
        """Read a group in braces."""
        r = self.r
        opening = r.at
        if not r.sees("{"):
            hint = "put it in braces: { ?s ?p ?o }"
            raise r.refusal("E108", f"{where}: expected a group in braces, found {describe(r.token)}", r.token, hint)
        r.deepen()
        r.take()
        if r.word == "SELECT":
            elements: list[s.Element] = [self._select(r)]
        elif r.dialect is not None and r.word == "AGGREGATE" and r.following.text == "(":
            elements = self._aggregated()
        else:
            elements = self._elements([], loose=False)
        r.close("}", opening)
        r.depth -= 1
        return s.GroupPattern(tuple(elements), r.span_from(opening))

    def _aggregated(self) -> list[s.Element]:
        """Read an aggregate, and what is asked of it behind; nothing else stands in its group."""
        r = self.r
        first: list[s.Element] = [s.GroupPattern((read_aggregate_group(r),))]
        r.accept(".")
        found = self._elements(first, loose=False)
        if len(found) == 1 and isinstance(only := found[0], s.GroupPattern):
            return list(only.elements)
        for element in found[1:]:
            if not isinstance(element, s.FilterBy | s.BindAs | s.AskGoal):
                hint = "put each in braces of its own: { ... } SEQ { aggregate(...) }"
                raise r.refusal("E108", "this stands beside an aggregate", element.span or r.token, hint)
        return found

    def _elements(self, elements: list[s.Element], *, loose: bool) -> list[s.Element]:
        """Read elements up to the end of the group; of a loose body filters and a window only."""
        r = self.r
        windowed = len(elements) - 1  # the place of the chain or group that a WITHIN would be of
        while not self._at_end(loose):
            first, depth = r.at, r.depth
            try:
                if r.word == "WITHIN":
                    self._window(elements, windowed)
                    continue
                found = self._element()
                if r.dialect is not None and r.tokens[first].text.upper() in ("FILTER", "DO"):
                    found = as_comparisons(found, elements)
                elements += found
                if isinstance(found[-1] if found else None, s.Chain | s.GroupPattern):
                    windowed = len(elements) - 1
                elif r.tokens[first].text.upper() not in ("FILTER", "DO"):
                    windowed = -1
            except ReadingError as finding:
                if r.at == first:
                    r.take()
                r.go_on(finding, depth, _STOPS)
            r.accept(".")
        return elements

    def _at_end(self, loose: bool) -> bool:
        r = self.r
        if loose:
            return r.word not in ("FILTER", "WITHIN") and not (r.word == "DO" and r.dialect is not None)
        return r.token.kind == "eof" or r.sees("}") or r.begins_query()

    def _window(self, elements: list[s.Element], place: int) -> None:
        """Read a WITHIN, and give it to the chain it is of."""
        r = self.r
        token = r.take()
        length = read_duration(r)
        if place < 0:
            raise r.refusal("E108", "WITHIN belongs to no group here", token, _WITHIN)
        chain = elements[place]
        if isinstance(chain, s.GroupPattern):
            elements[place] = s.Chain((chain,), (), length, chain.span)
            return
        assert isinstance(chain, s.Chain)
        elements[place] = replace(chain, within=length if chain.within is None else min(chain.within, length))

    def _element(self) -> list[s.Element]:
        r = self.r
        first, word = r.at, r.word
        if r.sees("{"):
            return self._grouped()
        if word in ELEMENTS:
            return self._keyword(word)
        if word == "DO" and r.dialect is not None:
            r.take()
            if r.sees("{"):
                raise r.refusal("E108", "DO: expected `(`, found `{`", r.token, "write DO ( ... ) in round brackets")
            return read_conjunction(r)
        if word in TEMPORAL or word == "UNION":
            hint = "it joins two groups in braces: { ... } SEQ { ... }"
            raise r.refusal("E108", f"{word} has no group in braces before it", r.token, hint)
        if word in MODIFIERS:
            raise r.refusal("E108", f"{word} stands in a group", r.token, "write it behind the braces of the query")
        if is_goal(r):
            hint = "a triple is ?s :p ?o; a goal or a call stands in FILTER ( ... )"
            raise r.refusal("E108", f"{describe(r.token)} with arguments is no part of a group", r.token, hint)
        if is_unknown_word(r):
            near = suggest(word, IN_GROUPS, "the words here are SEQ, EQUALS, UNION, FILTER, OPTIONAL, BIND, ...")
            raise r.refusal("E108", f"{describe(r.token)} is no word of EP-SPARQL", r.token, near)
        if not begins_triple(r):
            raise r.refusal("E108", f"expected a triple or a group, found {describe(r.token)}", r.token, _ELEMENTS)
        block = read_block(r)
        if r.at == first:
            r.take()
        return list(block)

    def _keyword(self, word: str) -> list[s.Element]:
        r = self.r
        first = r.at
        r.take()
        match word:
            case "FILTER":
                return self._filter(first)
            case "OPTIONAL":
                group = self.group(word)
                return [s.Optional(group, r.span_from(first))]
            case "MINUS":
                group = self.group(word)
                return [s.Minus(group, r.span_from(first))]
            case "BIND":
                return [self._bind(first)]
            case "VALUES":
                return [read_values(r)]
            case "SERVICE":
                hint = "load what it knows as background: FROM <file>"
                raise r.refusal("E130", "SERVICE is not supported: a query asks nobody else", r.tokens[first], hint)
            case _:
                name = read_var_or_iri(r, word)
                if word == "STREAM" and r.sees("["):
                    hint = "write FROM NAMED WINDOW :w ON :stream [RANGE PT10M STEP PT1M], and WINDOW :w { .. } here"
                    raise r.refusal("E130", "a window inside the body is not supported", r.token, hint)
                group = self.group(word)
                return [s.Scoped(word.lower(), name, group, r.span_from(first))]

    def _grouped(self) -> list[s.Element]:
        """Read a group, and what is joined to it by UNION or temporal operators."""
        r = self.r
        first = r.at
        groups = [self.group("a pattern")]
        operators: list[str] = []
        odd = None
        while r.word in TEMPORAL or r.word == "UNION":
            word = r.word
            if odd is None and operators and (word == "UNION") != (operators[0] == "UNION"):
                odd = r.token
            operators.append(word)
            r.take()
            groups.append(self.group(word))
        token = r.token
        within = read_duration(r) if r.accept_word("WITHIN") else None
        if within is not None and "UNION" in operators:
            odd = odd or token
        span = r.span_from(first)
        if odd is not None:
            name = describe(odd)[1:-1].upper()
            r.report("E133", f"{name} beside {'a temporal operator' if name == 'UNION' else 'UNION'}", odd, _BRACES)
            return [s.GroupPattern((), span)]
        if "UNION" in operators:
            return [s.Alternatives(tuple(groups), span)]
        if operators or within is not None:
            return [s.Chain(tuple(groups), tuple(operators), within, span)]
        return list(groups)

    def _filter(self, first: int) -> list[s.Element]:
        r = self.r
        negated = r.word == "NOT"
        if r.word == "EXISTS" or negated:
            if negated:
                r.take()
                r.expect_word("EXISTS", "FILTER NOT", "write FILTER NOT EXISTS { ... }, or ! before a condition")
            else:
                r.take()
            group = self.group("NOT EXISTS" if negated else "EXISTS")
            return [s.Exists(group, negated, r.span_from(first))]
        if not r.sees("(") and not begins_call(r):
            hint = "put the condition in round brackets: FILTER (?x > 1)"
            raise r.refusal("E108", f"FILTER: expected `(`, found {describe(r.token)}", r.token, hint)
        if r.dialect is not None:
            return read_conjunction(r)
        if r.sees("("):
            r.take()
            expression = read_expression(r)
            r.close(")", first + 1)
        else:
            expression = read_expression(r)
        return [s.FilterBy(expression, r.span_from(first))]

    def _bind(self, first: int) -> s.BindAs:
        r = self.r
        r.expect("(", "BIND", "write BIND (expression AS ?variable)")
        expression = read_expression(r)
        r.expect_word("AS", "BIND", "write BIND (expression AS ?variable)")
        variable = read_var(r, "BIND")
        r.close(")", first + 1)
        return s.BindAs(expression, variable, r.span_from(first))


def read_values(r: QueryText) -> s.Values:
    """Read what stands behind VALUES."""
    first = r.at - 1
    variables: list[Var] = []
    several = r.accept("(")
    if several:
        while not r.sees(")"):
            variables.append(read_var(r, "VALUES"))
        r.take()
    else:
        variables.append(read_var(r, "VALUES"))
    opening = r.at
    r.expect("{", "VALUES", _VALUES)
    rows: list[tuple[Const | None, ...]] = []
    while not r.sees("}"):
        start = r.at
        row = _read_row(r) if several else (_read_cell(r),)
        if len(row) != len(variables):
            message = f"this row has {len(row)} values for {len(variables)} variables"
            r.report("E135", message, r.span_from(start), "UNDEF stands for no value")
        rows.append(row)
    r.close("}", opening)
    return s.Values(tuple(variables), tuple(rows), r.span_from(first))


def _read_row(r: QueryText) -> tuple[Const | None, ...]:
    opening = r.at
    r.expect("(", "a row of VALUES", _VALUES)
    cells = []
    while not r.sees(")"):
        cells.append(_read_cell(r))
    r.close(")", opening)
    return tuple(cells)


def _read_cell(r: QueryText) -> Const | None:
    if r.accept_word("UNDEF"):
        return None
    if not begins_constant(r):
        message = f"VALUES: expected an IRI, a literal or UNDEF, found {describe(r.token)}"
        raise r.refusal("E108", message, r.token, _VALUES)
    return read_constant(r)


def _is_query(group: s.GroupPattern) -> bool:
    return bool(group.elements) and isinstance(group.elements[0], s.SubSelect)
