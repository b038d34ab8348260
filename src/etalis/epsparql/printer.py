"""The syntax tree of EP-SPARQL -> text in the standard form: every pattern in braces, expressions named by AS.

Law: read_unit(print_unit(unit), dialect=unit.dialect) == unit, for every unit that can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from etalis.epsparql import syntax as s
from etalis.epsparql.read.query_text import MAX_DEPTH
from etalis.epsparql.term_printer import TermPrinter
from etalis.errors import Problem, ProgramError
from etalis.language.syntax import Compound, Const, Term
from etalis.logic.rdf.exact_terms import kind_of
from etalis.temporal.interval import MICROSECONDS

_WIDTH = 100


def print_unit(unit: s.Unit, *, prefixes: Mapping[str, str] | None = None) -> str:
    """Write the queries of a unit, IRIs by the prefixes given.

    >>> from etalis.epsparql.read import read_unit
    >>> text = "SELECT ?c { ?c :p ?x } SEQ { ?c :p ?y } WITHIN 10m"
    >>> print(print_unit(read_unit(text, vocabulary="http://x/"), prefixes={"": "http://x/"}), end="")
    PREFIX : <http://x/>
    SELECT ?c
    WHERE {
      { ?c :p ?x }
      SEQ { ?c :p ?y }
      WITHIN PT10M
    }
    """
    printer = _QueryPrinter(TermPrinter(prefixes))
    queries = ["\n".join(printer.query(query)) for query in unit.queries]
    declared = {name.rstrip(":") for name in prefixes or {}}
    used = sorted((name, iri) for name, iri in printer.terms.used.items() if name in declared)
    return "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in used) + " ;\n\n".join(queries) + "\n"


def print_duration(length: int) -> str:
    """Write microseconds as a duration of XML Schema.

    >>> print_duration(0), print_duration(90_500_000), print_duration(2_592_000_000_000)
    ('PT0S', 'PT1M30.5S', 'P30D')
    """
    rest, parts = length, []
    for unit, seconds in (("D", 86_400), ("H", 3_600), ("M", 60)):
        count, rest = divmod(rest, seconds * MICROSECONDS)
        parts.append(f"{count}{unit}" if count else "")
    whole, fraction = divmod(rest, MICROSECONDS)
    last = f"{whole}.{fraction:06}".rstrip("0").rstrip(".") + "S" if rest or not length else ""
    days, time = parts[0], "".join(parts[1:]) + last
    return f"P{days}T{time}" if time else f"P{days}"


class _QueryPrinter:
    """Writes queries line by line; `depth` is that of the groups around."""

    __slots__ = ("depth", "terms")

    def __init__(self, terms: TermPrinter) -> None:
        self.terms = terms
        self.depth = 0

    def query(self, query: s.StreamQuery) -> Iterator[str]:
        """Yield the lines of a query."""
        if query.registered is not None:
            word, name = query.registered
            shown = self.terms.iri(name) if name.startswith("<") else name
            yield f"REGISTER {word.upper()} {shown} AS"
        yield self._form(query)
        yield from map(self._dataset, query.datasets)
        lines = self._group(query.body, spread=True)
        yield f"WHERE {lines[0]}"
        yield from lines[1:]
        if query.groups is not None:
            yield f"GROUP BY {' '.join(map(self._item, query.groups))}"
        if query.having:
            yield f"HAVING {' '.join(f'({self.terms.expression(test)})' for test in query.having)}"
        if query.values is not None:
            yield self._values(query.values)
        if query.policy is not None:
            yield f"POLICY {query.policy}"

    def _form(self, query: s.StreamQuery) -> str:
        if query.form == "select":
            return "SELECT " + ("*" if query.items is None else " ".join(map(self._item, query.items)))
        if query.form == "ask":
            return "ASK"
        inner = " . ".join(map(self._triple, query.template))
        return f"CONSTRUCT {{ {inner} }}" if inner else "CONSTRUCT { }"

    def _item(self, item: s.Item) -> str:
        name = self.terms.term(item.variable)
        return name if item.expression is None else f"({self.terms.expression(item.expression)} AS {name})"

    def _dataset(self, dataset: s.Dataset) -> str:
        window = "" if dataset.window is None else f" {_window(dataset.window)}"
        name = self.terms.iri(dataset.iri)
        match dataset.kind:
            case "default":
                return f"FROM {name}"
            case "named":
                return f"FROM NAMED {name}"
            case "stream":
                return f"FROM STREAM {name}{window}"
        return f"FROM NAMED WINDOW {name} ON {self.terms.iri(dataset.stream or '')}{window}"

    def _triple(self, triple: s.Triple) -> str:
        subject, value = self.terms.term(triple.subject), self.terms.term(triple.object)
        return f"{subject} {self.terms.predicate(triple.predicate)} {value}"

    def _values(self, values: s.Values) -> str:
        names = " ".join(map(self.terms.term, values.variables))
        rows = " ".join(f"({' '.join(map(self._cell, row))})" for row in values.rows)
        return f"VALUES ({names}) {{ {rows} }}" if rows else f"VALUES ({names}) {{ }}"

    def _cell(self, cell: Const | None) -> str:
        return "UNDEF" if cell is None else self.terms.term(cell)

    def _group(self, group: s.GroupPattern, *, spread: bool = False) -> list[str]:
        """Return the lines of a group, one if it is short."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ProgramError(Problem("E112", f"nesting deeper than {MAX_DEPTH} levels", group.span))
        inner = list(self._elements(group.elements))
        self.depth -= 1
        if not inner:
            return ["{ }"]
        if len(inner) == 1 and not spread and len(inner[0]) <= _WIDTH:
            return [f"{{ {inner[0].removesuffix(' .')} }}"]
        return ["{", *(f"  {line}" for line in inner), "}"]

    def _elements(self, elements: Iterable[s.Element]) -> Iterator[str]:
        for element in elements:
            yield from self._element(element)

    def _element(self, element: s.Element) -> Iterator[str]:
        match element:
            case s.Triple():
                yield f"{self._triple(element)} ."
            case s.GroupPattern():
                yield from self._group(element)
            case s.Chain(groups=groups, operators=operators, within=within):
                yield from self._joined(groups, operators)
                if within is not None:
                    yield f"WITHIN {print_duration(within)}"
            case s.Alternatives(groups=groups):
                yield from self._joined(groups, ("UNION",) * (len(groups) - 1))
            case s.Optional(group=group):
                yield from self._behind("OPTIONAL", group)
            case s.Minus(group=group):
                yield from self._behind("MINUS", group)
            case s.Scoped(kind=kind, name=name, group=group):
                yield from self._behind(f"{kind.upper()} {self._name(name)}", group)
            case s.Exists(group=group, negated=negated):
                yield from self._behind("FILTER NOT EXISTS" if negated else "FILTER EXISTS", group)
            case s.FilterBy(expression=expression):
                yield f"FILTER ({self.terms.expression(expression)})"
            case s.BindAs(expression=expression, variable=variable):
                yield f"BIND ({self.terms.expression(expression)} AS {self.terms.term(variable)})"
            case s.Values():
                yield self._values(element)
            case s.SubSelect(query=query):
                yield from self.query(query)
            case s.Folded():
                yield self._folded(element)
            case s.AskGoal(goal=goal):
                yield f"FILTER ({self.terms.term(goal)})"

    def _name(self, name: Term) -> str:
        """Write the name of a graph or stream; in the original's dialect it may be a plain atom."""
        if isinstance(name, Const):
            return self.terms.iri(name.value) if kind_of(name.value) == "iri" else str(name.value)
        return self.terms.term(name)

    def _behind(self, words: str, group: s.GroupPattern) -> Iterator[str]:
        first, *rest = self._group(group)
        yield f"{words} {first}"
        yield from rest

    def _joined(self, groups: tuple[s.GroupPattern, ...], words: Iterable[str]) -> Iterator[str]:
        yield from self._group(groups[0])
        for word, group in zip(words, groups[1:], strict=True):
            yield from self._behind(word, group)

    def _folded(self, folded: s.Folded) -> str:
        triple = folded.triple
        kind = Const(folded.kind) if folded.value is None else Compound(folded.kind, (folded.value,))
        inner = Compound("rdf", (triple.subject, triple.predicate, triple.object))
        return self.terms.term(Compound("aggregate", (kind, inner, folded.result)))


def _window(window: s.StreamWindow) -> str:
    step = "" if window.step is None else f" STEP {print_duration(window.step)}"
    return f"[RANGE {print_duration(window.range)}{step}]"
