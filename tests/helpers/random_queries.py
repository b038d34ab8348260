"""Random queries as trees that can be written and read, and texts of queries with something changed in them.

Law: a text ends in a tree, which reads back from its printed form, or in findings that all have a place and a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from etalis.data.values import Value, real
from etalis.epsparql import syntax as s
from etalis.epsparql.printer import print_unit
from etalis.epsparql.read import read_collect, read_unit
from etalis.epsparql.read.functions import AGGREGATES, FUNCTIONS, FunctionForm
from etalis.epsparql.read.words import TEMPORAL
from etalis.epsparql.windows import TIMES
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.temporal.policy import POLICIES
from helpers.chapter_seven import QUERIES

T = TypeVar("T")
XSD = "http://www.w3.org/2001/XMLSchema#"
IRIS = ("<http://x/a>", "<http://x/price>", "<http://x/b-c>", "<urn:n:1>", f"<{XSD}integer>", "<http://x/%20\u00e4>")
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
LITERALS: tuple[Value, ...] = (
    0, 7, -3, 0.5, real(10.0), -4.25, 1e-7, 1e22, "", "text", 'say "x"\n\\', '"<a>"', '"_:b"', '"null"', '"chat"@fr',
    f'"true"^^<{XSD}boolean>', f'"P30D"^^<{XSD}duration>', f'"2020-01-01T00:00:00Z"^^<{XSD}dateTime>', '"?"^^<http://x/t>',
    "\x00\x7f\u2028\ud7ff", "'''", "it's # no comment", f'"07x"^^<{XSD}integer>',
)  # fmt: skip
VARIABLES = ("x", "y", "z", "price1", "\u00e4_1")
OPERATORS = ("||", "&&", "=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/")
SECOND = 1_000_000
DURATIONS = (0, 1, 500_000, SECOND, 90 * SECOND, 3_600 * SECOND, 86_400 * SECOND, 2_592_000_500_000)


class QueryMaker:
    """Makes trees as the reader makes them."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._made = 0  # names given to variables and blank nodes so far

    def _one(self, choices: Sequence[T]) -> T:
        return choices[self._random.randrange(len(choices))]

    def _some(self, make: Callable[[], T], least: int, most: int) -> tuple[T, ...]:
        return tuple(make() for _ in range(self._random.randint(least, most)))

    def _chance(self, percent: int) -> bool:
        return self._random.randrange(100) < percent

    def _fresh(self) -> Var:
        self._made += 1
        return Var(f"v{self._made}")

    def unit(self) -> s.Unit:
        return s.Unit(self._some(self.query, 1, 2))

    def query(self) -> s.StreamQuery:
        """Make a query of one of the three forms."""
        registered = None
        if self._chance(20):
            word = self._one(("query", "stream", "rstream", "istream", "dstream"))
            registered = (word, self._one(("stockDrop", *IRIS[:4])))
        form = self._one(("select", "construct", "ask"))
        datasets = self._some(self._dataset, 0, 2)
        ranged = any(dataset.window is not None for dataset in datasets)
        policy = self._one(tuple(POLICIES)) if self._chance(10) else None
        if form == "select":
            return self._select(2, ranged, datasets, registered, policy)
        template: tuple[s.Triple, ...] = ()
        if form == "construct":
            label = self._label()
            template = self._some(lambda: self._triple(label, path=False), 0, 3)
        return s.StreamQuery(form, self._group(2), None, template, datasets, registered, policy=policy)

    def _select(
        self,
        depth: int,
        ranged: bool,
        datasets: tuple[s.Dataset, ...] = (),
        registered: tuple[str, str] | None = None,
        policy: str | None = None,
    ) -> s.StreamQuery:
        body = self._group(depth)
        values = self._values() if self._chance(10) else None
        groups, having = None, ()
        if ranged and self._chance(50):
            groups = (*(s.Item(Var(name)) for name in VARIABLES[:2]), s.Item(self._fresh(), self.expression(2)))
            keys = tuple(s.Item(item.variable) for item in groups)
            items: tuple[s.Item, ...] | None = (*keys, s.Item(self._fresh(), self._aggregate()))
            having = self._some(lambda: Compound(">", (self._aggregate(), Const(1))), 0, 2)
        else:
            items = None if self._chance(30) else self._items()
        return s.StreamQuery("select", body, items, (), datasets, registered, groups, having, values, policy)

    def _items(self) -> tuple[s.Item, ...]:
        names = self._random.sample(VARIABLES, self._random.randint(1, 3))
        computed = self._some(lambda: s.Item(self._fresh(), self.expression(2)), 0, 2)
        return (*(s.Item(Var(name)) for name in names), *computed)

    def _dataset(self) -> s.Dataset:
        kind = self._one(("default", "named", "stream", "window"))
        window = s.StreamWindow(self._one(DURATIONS[2:]), self._one((None, *DURATIONS[2:])))
        if kind == "window":
            return s.Dataset(kind, self._one(IRIS), window, self._one(IRIS))
        return s.Dataset(kind, self._one(IRIS), window if kind == "stream" and self._chance(50) else None)

    def _label(self) -> str:
        self._made += 1
        return f"_:n{self._made}"

    def _group(self, depth: int) -> s.GroupPattern:
        """Make a group; below depth 0 it holds triples only."""
        if depth > 0 and self._chance(10):
            return s.GroupPattern((s.SubSelect(self._select(depth - 1, ranged=False)),))
        label = self._label()
        elements = [self._element(depth, label) for _ in range(self._random.randint(0, 3))]
        return s.GroupPattern(tuple(elements))

    def _element(self, depth: int, label: str) -> s.Element:
        if depth <= 0 or self._chance(40):
            return self._triple(label)
        return self._one(
            (self._chain, self._union, self._worded, self._condition, self._bound, self._group)
        )(depth - 1)  # fmt: skip

    def _chain(self, depth: int) -> s.Element:
        groups = self._some(lambda: self._group(depth), 1, 3)
        within = self._one(DURATIONS) if len(groups) == 1 or self._chance(40) else None
        words = sorted(TEMPORAL)
        return s.Chain(groups, tuple(self._one(words) for _ in groups[1:]), within)

    def _union(self, depth: int) -> s.Element:
        return s.Alternatives(self._some(lambda: self._group(depth), 2, 3))

    def _worded(self, depth: int) -> s.Element:
        group = self._group(depth)
        kind = self._random.randrange(5)
        if kind < 2:
            return (s.Optional, s.Minus)[kind](group)
        if kind == 2:
            return s.Exists(group, self._chance(50))
        return self._scoped(group)

    def _scoped(self, group: s.GroupPattern) -> s.Scoped:
        name = Var(self._one(VARIABLES)) if self._chance(50) else Const(self._one(IRIS))
        return s.Scoped(self._one(("graph", "stream")), name, group)

    def _condition(self, depth: int) -> s.Element:
        return s.FilterBy(self.expression(3))

    def _bound(self, depth: int) -> s.Element:
        return self._values() if self._chance(40) else s.BindAs(self.expression(3), self._fresh())

    def _values(self) -> s.Values:
        variables = tuple(self._fresh() for _ in range(self._random.randint(0, 2)))
        rows = self._some(lambda: tuple(self._cell() for _ in variables), 0, 3)
        return s.Values(variables, rows)

    def _cell(self) -> Const | None:
        return None if self._chance(20) else Const(self._constant())

    def _constant(self) -> Value:
        return self._one(IRIS) if self._chance(50) else self._one(LITERALS)

    def _triple(self, label: str, *, path: bool = True) -> s.Triple:
        subject: Term = self._one((Var(self._one(VARIABLES)), Const(self._one(IRIS)), Var(label)))
        predicate = self._path(2) if path and self._chance(20) else self._predicate()
        if self._chance(20):
            predicate = Var(self._one(VARIABLES))
        value = self._one((Var(self._one(VARIABLES)), Const(self._constant()), Var(label)))
        return s.Triple(subject, predicate, value)

    def _predicate(self) -> Term:
        return Const(self._one((*IRIS, TYPE)))

    def _path(self, depth: int) -> Term:
        if depth <= 0:
            return self._predicate()
        sign = self._one("/|^*+?!")
        if sign in "/|":
            return Compound(sign, self._some(lambda: self._path(depth - 1), 2, 3))
        if sign == "!":
            return Compound(sign, self._some(self._negated, 1, 3))
        return Compound(sign, (self._path(depth - 1),))

    def _negated(self) -> Term:
        return Compound("^", (self._predicate(),)) if self._chance(30) else self._predicate()

    def expression(self, depth: int) -> Term:
        """Make an expression without aggregates."""
        if depth <= 0 or self._chance(25):
            return Var(self._one(VARIABLES)) if self._chance(60) else Const(self._constant())
        match self._random.randrange(5):
            case 0 | 1:
                return Compound(self._one(OPERATORS), (self.expression(depth - 1), self.expression(depth - 1)))
            case 2:
                return Compound(self._one(("!", "neg", "pos")), (self.expression(depth - 1),))
            case 3:
                return Compound("in", self._some(lambda: self.expression(depth - 1), 1, 3))
        return self._call(depth)

    def _call(self, depth: int) -> Term:
        name = self._one(self._functions())
        form: FunctionForm = FUNCTIONS[name]
        if name == "bound":
            return Compound(name, (Var(self._one(VARIABLES)),))
        most = form.least + 2 if form.most is None else form.most
        return Compound(name, self._some(lambda: self.expression(depth - 1), form.least, most))

    def _functions(self) -> list[str]:
        return sorted(FUNCTIONS)

    def _aggregate(self) -> Term:
        name = self._one(sorted(AGGREGATES))
        inner: tuple[Term, ...] = () if name == "count" and self._chance(40) else (self.expression(2),)
        if self._chance(30):
            inner = (Compound("distinct", inner),)
        if name == "group_concat" and self._chance(50):
            inner = (*inner, Const(", "))
        return Compound(name, inner)


class PlainQueryMaker(QueryMaker):
    """Makes queries that SPARQL has too: without times, streams and windows."""

    def unit(self) -> s.Unit:
        return s.Unit((replace(self.query(), registered=None, policy=None),))

    def _dataset(self) -> s.Dataset:
        return s.Dataset(self._one(("default", "named")), self._one(IRIS))

    def _chain(self, depth: int) -> s.Element:
        return self._union(depth)

    def _scoped(self, group: s.GroupPattern) -> s.Scoped:
        return replace(super()._scoped(group), kind="graph")

    def _functions(self) -> list[str]:
        return sorted(FUNCTIONS.keys() - TIMES)

    def _triple(self, label: str, *, path: bool = True) -> s.Triple:
        return super()._triple(self._label(), path=path)  # SPARQL has a blank node in one run of triples only


PIECES = """
SELECT CONSTRUCT ASK REGISTER QUERY PREFIX BASE FROM NAMED WINDOW STREAM WHERE SEQ EQUALS OPTIONALSEQ EQUALSOPTIONAL
SEQOPTIONAL OPTIONALEQUALS WITHIN UNION OPTIONAL MINUS GRAPH FILTER EXISTS NOT BIND VALUES UNDEF GROUP BY HAVING ORDER
LIMIT POLICY AS IN DISTINCT DESCRIBE INSERT SERVICE DO is aggregate( COUNT( SUM( getDURATION() NOW() regex( BOUND( xsd:
?x ?y $z :p ex:q a name <http://x/a> <a _:b [] [ ] ( ) { } . , ; ;; * + - / | ^ ! ? = != < <= > >= == =< && || ^^ @en
1 -1 2.5 1e5 1e999 .5 5. 10m PT10M P1M P1Y "s" 's' \"\"\"l\"\"\" \"\"\" " ' \\ # true false null \u00e9 \u2264 & [RANGE
""".split()  # noqa: SIM905 - a list of this length says less


def mutate(random: Random, text: str) -> str:
    """Change a text in some places: leave out, double, move or put in."""
    for _ in range(random.choice((1, 1, 2, 4))):
        at, length = random.randrange(len(text) + 1), random.randint(1, 12)
        piece = text[at : at + length]
        match random.randrange(5):
            case 0:
                text = text[:at] + text[at + length :]
            case 1:
                text = text[:at] + piece + text[at:]
            case 2:
                text = f"{text[:at]} {random.choice(PIECES)} {text[at:]}"
            case 3:
                to = random.randrange(len(text) + 1)
                text = text[:to] + piece + text[to:]
            case 4:
                text = text[:at] + random.choice(PIECES) + text[at + length :]
    return text


def changed_query(random: Random) -> str:
    """Return the text of a query, one of 003 or a random one, with something changed."""
    text = random.choice(QUERIES) if random.randrange(4) == 0 else print_unit(QueryMaker(random).unit())
    return mutate(random, text)


def attempt(random: Random, text: str) -> str:
    """Read a text in one of the ways; return `tree` or `error`, or raise what should not happen."""
    vocabulary, dialect = random.choice((None, "http://x/")), random.choice((None, None, "etalis"))
    unit, problems = read_collect(text, vocabulary=vocabulary, dialect=dialect)
    assert all(problem.span is not None and problem.hint and str(problem) for problem in problems), text
    if any(problem.is_error for problem in problems):
        return "error"
    assert read_unit(print_unit(unit), dialect=dialect) == unit, text
    return "tree"
