"""Queries: REGISTER, the forms SELECT, CONSTRUCT and ASK, what they read from, and what stands behind the body."""

from __future__ import annotations

from dataclasses import dataclass, field

from etalis.epsparql import syntax as s
from etalis.epsparql.read.durations import read_duration
from etalis.epsparql.read.expressions import read_expression
from etalis.epsparql.read.groups import GroupReader, read_values
from etalis.epsparql.read.query_text import QueryText, ReadingError, describe
from etalis.epsparql.read.terms import (
    begins_call,
    begins_iri,
    is_bare_name,
    is_goal,
    read_bare_name,
    read_iri,
    read_var,
)
from etalis.epsparql.read.triples import begins_triple, is_literal, read_block
from etalis.epsparql.read.words import FORMS, MODIFIERS, REFUSED_FORMS, REFUSED_MODIFIERS, REGISTERED
from etalis.language.check.spelling import suggest
from etalis.language.syntax import Compound, Term
from etalis.temporal.policy import POLICIES

_AS = "write (expression AS ?name)"


@dataclass(slots=True)
class _Modifiers:
    """What stands behind the body of a query."""

    groups: tuple[s.Item, ...] | None = None
    having: tuple[Term, ...] = ()
    values: s.Values | None = None
    policy: str | None = None
    seen: set[str] = field(default_factory=set)


class QueryReader:
    """Reads queries, one inside another too."""

    __slots__ = ("_groups", "_inner", "r")

    def __init__(self, r: QueryText) -> None:
        self.r = r
        self._inner = 0  # how many queries this one stands in
        self._groups = GroupReader(r, self._subselect)

    def query(self) -> s.StreamQuery:
        """Read a query up to its end."""
        r = self.r
        first = r.at
        registered = self._registered()
        form = r.accept_word(*FORMS)
        if form == "SELECT":
            return self._select(first, registered)
        if form == "CONSTRUCT":
            return self._construct(first, registered)
        if form == "ASK":
            datasets = self._datasets()
            return self._whole(first, "ask", None, (), datasets, registered)
        raise self._no_form()

    def _no_form(self) -> ReadingError:
        r = self.r
        word = r.word
        if word in REFUSED_FORMS:
            return r.refusal("E130", f"{word} is not supported", r.token, REFUSED_FORMS[word])
        hint = suggest(word, (*FORMS, "REGISTER", "PREFIX", "BASE"), "a query begins with SELECT, CONSTRUCT or ASK")
        return r.refusal("E108", f"expected a query, found {describe(r.token)}", r.token, hint)

    def _registered(self) -> tuple[str, str] | None:
        r = self.r
        if not r.accept_word("REGISTER"):
            return None
        word = r.accept_word(*REGISTERED)
        if not word:
            hint = "write REGISTER QUERY name AS, or STREAM, RSTREAM, ISTREAM, DSTREAM"
            raise r.refusal("E108", f"REGISTER: found {describe(r.token)}", r.token, hint)
        token = r.token
        if begins_iri(r):
            name = str(read_iri(r).value)
        elif token.kind in ("word", "iso") and token.text.upper() != "AS":
            name = r.take().text
        else:
            raise r.refusal(
                "E108", f"a name is missing before {describe(token)}", token, f"write REGISTER {word} name AS"
            )
        r.expect_word("AS", f"REGISTER {word}", f"write REGISTER {word} name AS SELECT ...")
        return word.lower(), name

    def _whole(
        self,
        first: int,
        form: str,
        items: tuple[s.Item, ...] | None,
        template: tuple[s.Triple, ...],
        datasets: tuple[s.Dataset, ...],
        registered: tuple[str, str] | None,
    ) -> s.StreamQuery:
        """Read body and modifiers."""
        body = self._groups.body()
        more = self._modifiers()
        return s.StreamQuery(
            form, body, items, template, datasets, registered,
            more.groups, more.having, more.values, more.policy, self.r.span_from(first),
        )  # fmt: skip

    def _subselect(self, r: QueryText) -> s.SubSelect:
        """Read a query that stands in a group."""
        first = r.at
        r.deepen()
        r.take()
        self._inner += 1
        query = self._select(first, None)
        self._inner -= 1
        r.depth -= 1
        return s.SubSelect(query, query.span)

    # SELECT

    def _select(self, first: int, registered: tuple[str, str] | None) -> s.StreamQuery:
        r = self.r
        r.accept_word("DISTINCT", "REDUCED")  # results are sets
        items = None if r.accept("*") else self._items()
        return self._whole(first, "select", items, (), self._datasets(), registered)

    def _items(self) -> tuple[s.Item, ...]:
        r = self.r
        found: list[s.Item] = []
        while r.token.kind == "var" or r.sees("("):
            found.append(self._item())
            if r.sees(","):
                r.report("E108", "no commas stand between what is selected", r.take(), "write SELECT ?a ?b")
        if r.token.kind in ("word", "number", "pname", "iri") and r.word not in ("WHERE", "FROM"):
            self._report_item(found)
            return tuple(found)
        if not found:
            raise r.refusal(
                "E108", f"nothing is selected before {describe(r.token)}", r.token, "write SELECT ?x, or SELECT *"
            )
        return tuple(found)

    def _report_item(self, found: list[s.Item]) -> None:
        """Report what cannot be selected, and go on behind all that is."""
        r = self.r
        called = r.following.text == "("
        what = "an expression without brackets is selected:" if called else "expected a variable, found"
        hint = _AS if called or r.word == "AS" or found else "variables begin with a question mark: SELECT ?x"
        r.report("E108", f"{what} {describe(r.token)}", r.token, hint)
        r.skip(frozenset(("{", "WHERE", "FROM")))

    def _item(self) -> s.Item:
        """Read `?x`, `(expression AS ?x)`, or 003's `?x AS expression`."""
        r = self.r
        first = r.at
        if r.token.kind == "var":
            variable = read_var(r, "SELECT")
            expression = self._aggregating() if r.accept_word("AS") else None
            return s.Item(variable, expression, r.span_from(first))
        r.take()
        expression = self._aggregating()
        r.expect_word("AS", "SELECT", _AS)
        variable = read_var(r, "SELECT")
        r.close(")", first)
        return s.Item(variable, expression, r.span_from(first))

    def _aggregating(self) -> Term:
        """Read an expression in which aggregates may stand."""
        self.r.aggregates = True
        try:
            return read_expression(self.r)
        finally:
            self.r.aggregates = False

    # CONSTRUCT

    def _construct(self, first: int, registered: tuple[str, str] | None) -> s.StreamQuery:
        r = self.r
        if r.word in ("WHERE", "FROM"):
            return self._short_construct(first, registered)
        opening = r.at
        if r.accept("{"):
            template = read_block(r)
            r.close("}", opening)
        elif begins_triple(r) and not is_goal(r):
            template = read_block(r)
        else:
            hint = "write CONSTRUCT { ?s ?p ?o } WHERE { ... }"
            raise r.refusal("E108", f"the template is missing before {describe(r.token)}", r.token, hint)
        self._check_template(template)
        return self._whole(first, "construct", None, tuple(template), self._datasets(), registered)

    def _short_construct(self, first: int, registered: tuple[str, str] | None) -> s.StreamQuery:
        """Read `CONSTRUCT WHERE { triples }`, whose body is the template."""
        r = self.r
        datasets = self._datasets()
        query = self._whole(first, "construct", None, (), datasets, registered)
        template = [element for element in query.body.elements if isinstance(element, s.Triple)]
        if len(template) < len(query.body.elements):
            hint = "say what is made: CONSTRUCT { ?s ?p ?o } WHERE { ... }"
            r.report("E108", "CONSTRUCT WHERE takes triples only", query.body.span or r.span_from(first), hint)
        self._check_template(template)
        return s.StreamQuery(
            "construct", query.body, None, tuple(template), datasets, registered,
            query.groups, query.having, query.values, query.policy, query.span,
        )  # fmt: skip

    def _check_template(self, template: list[s.Triple]) -> None:
        r = self.r
        for triple in template:
            assert triple.span is not None
            if isinstance(triple.predicate, Compound):
                place = triple.predicate.span or triple.span
                r.report("E135", "a path cannot stand in a template", place, "name the triples of the path one by one")
            if is_literal(triple.subject) and r.dialect is None:
                place = triple.subject.span or triple.span
                r.report("E135", "a literal cannot be the subject of a triple", place, "turn it round: {?x :p 1}")

    # what is read from

    def _datasets(self) -> tuple[s.Dataset, ...]:
        r = self.r
        found = []
        while r.word == "FROM":
            token = r.token
            found.append(self._dataset())
            if self._inner:
                r.report("E130", "FROM in a query inside another is not supported", token, "write it in the outer one")
        return tuple(found)

    def _dataset(self) -> s.Dataset:
        r = self.r
        first = r.at
        r.take()
        if r.accept_word("STREAM"):
            iri = self._name()
            window = self._window() if r.sees("[") else None
            return s.Dataset("stream", iri, window, None, r.span_from(first))
        if not r.accept_word("NAMED"):
            return s.Dataset("default", self._name(), None, None, r.span_from(first))
        if not r.accept_word("WINDOW"):
            return s.Dataset("named", self._name(), None, None, r.span_from(first))
        iri = self._name()
        r.expect_word("ON", "FROM NAMED WINDOW", "write FROM NAMED WINDOW :w ON :stream [RANGE PT10M STEP PT1M]")
        stream = self._name()
        return s.Dataset("window", iri, self._window(), stream, r.span_from(first))

    def _name(self) -> str:
        r = self.r
        return str((read_bare_name(r) if is_bare_name(r) else read_iri(r)).value)

    def _window(self) -> s.StreamWindow:
        r = self.r
        opening = r.at
        hint = "write [RANGE PT10M STEP PT1M]"
        r.expect("[", "a window", hint)
        counted = r.following if r.word == "RANGE" else r.token
        if counted.kind == "word" and counted.text.upper() == "TRIPLES":
            count = "a window lasts some time: write [RANGE PT10M STEP PT1M]; rules have `last n`"
            raise r.refusal("E130", "a window of a number of triples is not supported", counted, count)
        r.expect_word("RANGE", "a window", hint)
        length = read_duration(r)
        step = length if r.accept_word("TUMBLING") else read_duration(r) if r.accept_word("STEP", "SLIDE") else None
        r.close("]", opening)
        if step == 0 or length == 0:
            r.report("E115", "a window cannot be of no length", r.span_from(opening), hint)
        return s.StreamWindow(length, step, r.span_from(opening))

    # what stands behind

    def _modifiers(self) -> _Modifiers:
        r = self.r
        found = _Modifiers()
        while r.word in MODIFIERS:
            token, word = r.token, r.word
            if word in found.seen:
                r.report("E108", f"a second {word}", token, "write one")
            found.seen.add(word)
            r.take()
            self._modifier(found, word)
        return found

    def _modifier(self, found: _Modifiers, word: str) -> None:
        r = self.r
        first = r.at - 1
        if word in REFUSED_MODIFIERS:
            name = "ORDER BY" if r.accept_word("BY") else word
            r.report("E130", f"{name} is not supported", r.span_from(first), REFUSED_MODIFIERS[word])
            self._skip_modifier()
        elif word == "GROUP":
            r.expect_word("BY", "GROUP", "write GROUP BY ?x")
            found.groups = self._group_items()
        elif word == "HAVING":
            found.having = self._conditions()
        elif word == "VALUES":
            found.values = read_values(r)
        else:
            found.policy = self._policy()

    def _skip_modifier(self) -> None:
        """Go on behind a modifier that is refused."""
        r = self.r
        stops = MODIFIERS | {";"}
        while r.word not in stops and not r.sees(";") and not r.sees("}"):
            if r.token.kind == "eof" or r.begins_query():
                return
            r.take()

    def _group_items(self) -> tuple[s.Item, ...]:
        r = self.r
        found: list[s.Item] = []
        while True:
            first = r.at
            if r.token.kind == "var":
                found.append(s.Item(read_var(r, "GROUP BY"), None, r.span_from(first)))
            elif r.accept("("):
                expression = read_expression(r)
                r.expect_word("AS", "GROUP BY", _AS)
                variable = read_var(r, "GROUP BY")
                r.close(")", first)
                found.append(s.Item(variable, expression, r.span_from(first)))
            else:
                break
        if not found:
            hint = "write GROUP BY ?x, or GROUP BY (expression AS ?x)"
            raise r.refusal("E108", f"GROUP BY: expected a variable, found {describe(r.token)}", r.token, hint)
        return tuple(found)

    def _conditions(self) -> tuple[Term, ...]:
        r = self.r
        found: list[Term] = []
        while r.sees("(") or (r.word not in MODIFIERS and begins_call(r)):
            opening = r.at
            if r.accept("("):
                found.append(self._aggregating())
                r.close(")", opening)
            else:
                found.append(self._aggregating())
        if not found:
            hint = "write HAVING (COUNT(?x) > 1)"
            raise r.refusal("E108", f"HAVING: expected `(`, found {describe(r.token)}", r.token, hint)
        return tuple(found)

    def _policy(self) -> str:
        r = self.r
        token = r.take()
        name = token.text.lower()
        if token.kind != "word" or name not in POLICIES:
            hint = suggest(name, POLICIES, f"the policies are {', '.join(POLICIES)}")
            r.report("E132", f"there is no policy {describe(token)}", token, hint)
        elif self._inner:
            r.report(
                "E130", "POLICY in a query inside another is not supported", token, "write it behind the outer one"
            )
        return name


def recover(r: QueryText, finding: ReadingError) -> None:
    """Report what ended the reading of a query, and go on where another begins."""
    r.go_on(finding, 0, frozenset())
    while r.token.kind != "eof":
        if r.begins_query() or (r.word in REFUSED_FORMS and r.tokens[r.at - 1].text == ";"):
            return
        r.take()
