"""Random queries with streams and backgrounds: EP-SPARQL for engine and meaning, plain SPARQL for pyoxigraph.

Vocabularies are small, so that things join: few subjects, predicates and stamps; equal stamps, intervals, filters that
raise, outer forms, negation, unions, recursion and RDFS all occur. `draw_case` draws only units that are not refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from etalis.data.values import Value
from etalis.epsparql import syntax as s
from etalis.epsparql.meaning import StreamedTriple, meaning
from etalis.epsparql.read import read_unit
from etalis.epsparql.reads import RANGE, SUBCLASS, SUBPROPERTY, TYPE
from etalis.errors import ProgramError
from helpers.epsparql_examples import PREFIXES, VOCABULARY
from helpers.focused_queries import draw_focused
from helpers.random_sparql import BodyWriter, draw_graph

SECOND = 1_000_000
NODES = ("a", "a", "b", "b", "c")
STREAMED = ("p", "p", "q", "q", "r")
KNOWN = ("k", "m")
MADE = ("c1", "c2")
CLASSES = ("A", "B", "C")
VARIABLES = ("?x", "?y", "?z", "?v", "?w")
SUBJECTS = ("?x", "?x", "?x", "?y", "?z")
LITERALS: dict[str, Value] = {
    "1": 1,
    "2": 2,
    "3": 3,
    '"x"': "x",
    '"1"': "1",
    '"x"@en': '"x"@en',
    "true": '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>',
    "2.5e0": 2.5,
}
GRAPHS, STREAMS = (None, "<http://x/g>", "<http://x/h>"), ("<http://x/s>", "<http://x/t>")
OPERATORS = ("SEQ", "SEQ", "SEQ", "EQUALS", "OPTIONALSEQ", "SEQOPTIONAL", "EQUALSOPTIONAL", "OPTIONALEQUALS")


@dataclass(frozen=True, slots=True)
class RandomCase:
    """A unit, its stream and its background."""

    query: str
    elements: tuple[StreamedTriple, ...]
    background: tuple[tuple[Value, Value, Value], ...] = ()

    def unit(self) -> s.Unit:
        """Read the text."""
        return read_unit(self.query, prefixes=PREFIXES, vocabulary=VOCABULARY)


def draw_case(rng: Random) -> RandomCase:
    """Draw queries that are not refused, a stream and a background; mostly such that something is found."""
    may_be_empty = rng.random() < 0.2
    while True:
        case = _draw_any(rng)
        try:
            found = meaning(case.unit(), case.elements, case.background)
        except ProgramError:
            continue
        if may_be_empty or found.rows or found.constructed:
            return case


def draw_windowed_case(rng: Random) -> RandomCase:
    """Draw a query over the steps of windows, its stream and its background."""
    streamed, known = draw_graph(rng)
    found = []
    for triple in streamed:
        start = rng.randint(0, 15) * SECOND
        end = start + rng.choice((0, 0, 0, 2)) * SECOND
        found.append(StreamedTriple(*triple, None, rng.choice(STREAMS), start, end))
    step, ranges = rng.choice((2, 5)), [rng.choice((3, 5, 10)) for _ in STREAMS]
    body, inner = BodyWriter(rng), BodyWriter(rng)
    windows = [f"FROM STREAM {name} [RANGE {d} STEP {step}]" for name, d in zip(STREAMS, ranges, strict=True)]
    text = body.body()
    if rng.random() < 0.4:
        windows = [
            f"FROM NAMED WINDOW :w{i} ON {name} [RANGE {ranges[i]} STEP {step}]" for i, name in enumerate(STREAMS)
        ]
        text = f"WINDOW :w0 {{ {text} }} WINDOW :w1 {{ {inner.body()} }} ?x :k ?y ."
    head, tail = rng.choice((("?x ?y", ""), ("?x (COUNT(*) AS ?n)", "GROUP BY ?x"), ("(SUM(?x) AS ?n)", "")))
    word = rng.choice(("RSTREAM", "ISTREAM", "DSTREAM"))
    query = f"REGISTER {word} :out AS SELECT {head} {' '.join(windows)} {{ {text} }} {tail}"
    return RandomCase(query, tuple(sorted(found, key=lambda e: e.end)), tuple(known))


def _draw_any(rng: Random) -> RandomCase:
    if rng.random() < 0.5:
        return RandomCase(*draw_focused(rng))
    background = draw_background(rng)
    forms = [rng.choice(("select", "select", "select *", "ask", "construct", "construct"))]
    forms += [rng.choice(("select", "construct")) for _ in range(rng.choice((0, 0, 1, 2)))]
    has_names = rng.random() < 0.15
    writers = [QueryWriter(rng, bool(background), "construct" in forms, has_names) for _ in forms]
    query = ";\n".join(writer.query(form) for writer, form in zip(writers, forms, strict=True))
    elements = draw_elements(rng, rng.randint(4, 14))
    if has_names:
        elements = tuple(e._replace(graph=rng.choice(GRAPHS), stream=rng.choice(STREAMS)) for e in elements)
    return RandomCase(query, elements, background)


def draw_elements(rng: Random, count: int) -> tuple[StreamedTriple, ...]:
    """Draw triples at few stamps, some on intervals, some twice."""
    found: list[StreamedTriple] = []
    last = rng.choice((2, 4, 8))
    for _ in range(count):
        start = rng.randint(0, last) * SECOND
        end = start + (rng.randint(1, 3) * SECOND if rng.random() < 0.2 else 0)
        s_, p, o = _streamed_triple(rng)
        found.append(StreamedTriple(s_, p, o, None, None, start, end))
    if rng.random() < 0.1:
        found.append(rng.choice(found))
    return tuple(sorted(found, key=lambda e: e.end))


def _streamed_triple(rng: Random) -> tuple[Value, Value, Value]:
    if rng.random() < 0.15:
        return _iri(rng.choice(NODES)), TYPE, _iri(rng.choice(CLASSES))
    return _iri(rng.choice(NODES)), _iri(rng.choice(STREAMED)), _object(rng)


def _object(rng: Random) -> Value:
    draw = rng.random()
    if draw < 0.5:
        return _iri(rng.choice(NODES))
    return rng.choice((1, 2, 3)) if draw < 0.85 else rng.choice(tuple(LITERALS.values()))


def draw_background(rng: Random) -> tuple[tuple[Value, Value, Value], ...]:
    """Draw knowledge: none, some triples, or a schema with them."""
    if rng.random() < 0.4:
        return ()
    found = [(_iri(rng.choice(NODES)), _iri(rng.choice(KNOWN)), _object(rng)) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.5:
        below, above = rng.sample(CLASSES, 2)
        found.append((_iri(below), SUBCLASS, _iri(above)))
        below, above = rng.sample(("p", "q", "r", *KNOWN), 2)
        found.append((_iri(below), SUBPROPERTY, _iri(above)))
        found.append((_iri(rng.choice(STREAMED)), RANGE, _iri(rng.choice(CLASSES))))
        if rng.random() < 0.3:
            found.append((_iri(rng.choice(NODES)), TYPE, _iri(rng.choice(CLASSES))))
    return tuple(dict.fromkeys(found))


def _iri(name: str) -> str:
    return f"<{VOCABULARY}{name}>"


@dataclass(slots=True)
class QueryWriter:
    """Writes a random query of EP-SPARQL."""

    rng: Random
    has_background: bool
    is_made: bool = False  # whether a query constructs something
    has_names: bool = False  # whether elements are in graphs and streams
    fresh: int = 0
    used: list[str] = field(default_factory=lambda: ["?x", "?y"])  # variables of the triples so far

    def query(self, form: str) -> str:
        """Write a query."""
        body = self.body()
        if self.has_names and self.rng.random() < 0.3:
            body = f"FROM STREAM {STREAMS[0]} WHERE {body}"
        if form == "construct":
            stream = f"REGISTER STREAM {STREAMS[1]} AS " if self.has_names and self.rng.random() < 0.5 else ""
            return f"{stream}CONSTRUCT {{ {self._template()} }} {body if body[0] == 'F' else 'WHERE ' + body}"
        if form != "select":
            return f"{form.upper()} {body}"
        names = " ".join(dict.fromkeys(self._variable() for _ in range(3)))
        item = " (getDURATION() AS ?long)" if self.rng.random() < 0.15 else ""
        return f"SELECT {names}{item} {body}"

    def _template(self) -> str:
        x, y = self._variable(), self._variable()
        predicate = ":" + self.rng.choice(MADE) if self.rng.random() < 0.9 else "a"
        return f"{x} {predicate} {y if predicate != 'a' else ':A'}"

    def _variable(self) -> str:
        return self.rng.choice(self.used) if self.rng.random() < 0.9 else self.rng.choice(VARIABLES)

    def body(self) -> str:
        """Write the body of a query: a chain, or a group."""
        depth = self.rng.choice((0, 0, 0, 1, 1, 2))
        if self.rng.random() < 0.3:
            return self.group(depth)
        return f"{{ {self.chain(depth)} {self._filters(0.4)} }}"

    def chain(self, depth: int) -> str:
        """Write groups under temporal operators."""
        parts = [self.operand(depth)]
        for _ in range(self.rng.choice((1, 1, 1, 2))):
            parts += [self.rng.choice(OPERATORS), self.operand(depth)]
        needs_window = "SEQOPTIONAL" in parts or self.rng.random() < 0.3
        return " ".join(parts) + (f" WITHIN {self.rng.choice((0, 2, 3, 5, 8))}" if needs_window else "")

    def operand(self, depth: int) -> str:
        """Write a group of a chain: often a single triple, sometimes a chain of its own."""
        if depth > 0 and self.rng.random() < 0.25:
            return f"{{ {self.chain(depth - 1)} {self._filters(0.2)} }}"
        return self.group(depth - 1)

    def group(self, depth: int) -> str:
        """Write a group of elements."""
        parts = [self.triple() for _ in range(self.rng.choice((1, 1, 1, 2)))]
        while depth > 0 and self.rng.random() < 0.35:
            parts.append(self._element(depth))
        window = self.rng.random() < 0.1
        inside = f"{{ {' . '.join(parts)} {self._filters(0.2)} }}"
        return f"{{ {inside} WITHIN {self.rng.choice((0, 3, 6))} }}" if window else inside

    def _element(self, depth: int) -> str:
        if self.has_names and self.rng.random() < 0.5:
            name = self.rng.choice(("GRAPH <http://x/g>", "GRAPH ?w", f"STREAM {STREAMS[0]}", "STREAM ?v"))
            return f"{name} {{ {self.triple()} {self._filters(0.2)} }}"
        kind = self.rng.randint(0, 7)
        if kind == 0:
            return f"{{ {self.group(depth - 1)} UNION {self.group(depth - 1)} }}"
        if kind == 1 and self.has_background:
            return f"OPTIONAL {{ {self.triple(known=True)} {self._filters(0.2)} }}"
        if kind == 2:
            return f"{{ {{ {self.triple()} OPTIONAL {{ {self.triple()} {self._filters(0.2)} }} }} WITHIN 0 }}"
        if kind == 3 and self.has_background:
            return f"MINUS {{ {self.triple(known=True)} }}"
        if kind == 4:
            self.fresh += 1
            return f"BIND({self._value()} AS ?b{self.fresh})"
        if kind == 5:
            names = " ".join(self.rng.sample(VARIABLES, 2))
            rows = [f"({self._constant()} {self.rng.choice((self._constant(), 'UNDEF'))})" for _ in range(2)]
            return f"VALUES ({names}) {{ {' '.join(rows)} }}"
        if kind == 6:
            names = " ".join(self.rng.sample(VARIABLES, 2))
            return f"{{ SELECT {names} {self.group(depth - 1)} }}"
        return f"{{ {self.chain(depth - 1)} }}"

    def triple(self, known: bool = False) -> str:
        """Write a triple pattern; `known` of the background."""
        subject = self.rng.choice(SUBJECTS) if self.rng.random() < 0.92 else ":" + self.rng.choice(NODES)
        obj = self.rng.choice(VARIABLES[1:]) if self.rng.random() < 0.9 else self._constant()
        self.used += [part for part in (subject, obj) if part.startswith("?")]
        if known:
            return f"{subject} :{self.rng.choice(KNOWN)} {obj}"
        draw = self.rng.random()
        if draw < 0.12:
            return f"{subject} a :{self.rng.choice(CLASSES)}"
        if draw < 0.16:
            return f"{subject} ?w {obj}"
        if draw < 0.22:
            paths = (":p/:q", "^:p", ":p|:r", "(:p|:q)/:r", "^(:p/:q)")
            return f"{subject} {self.rng.choice(paths)} {obj}"
        if draw < 0.22 + 0.12 * self.is_made:
            return f"{subject} :{self.rng.choice(MADE)} {obj}"
        if draw > 0.9 and self.has_background:
            return f"{subject} :{self.rng.choice(KNOWN)} {obj}"
        return f"{subject} :{self.rng.choice(STREAMED)} {obj}"

    def _filters(self, chance: float) -> str:
        draw = self.rng.random()
        if draw < chance * 0.3:
            inner = self.rng.choice((self.triple(), f"{self.triple()} {self.filter()}", self.chain(0)))
            return f"FILTER NOT EXISTS {{ {inner} }}"
        return self.filter() if draw < chance else ""

    def filter(self) -> str:
        """Write a filter, of which some raise."""
        return f"FILTER({self.condition(2)})"

    def condition(self, depth: int) -> str:
        """Write a condition."""
        x, y = self._variable(), self._variable()
        draw = self.rng.randint(0, 11)
        if draw >= 10 and depth > 0:
            word = self.rng.choice(("&&", "||"))
            return f"({self.condition(depth - 1)} {word} {self.condition(depth - 1)})"
        choices = (
            f"{x} {self.rng.choice(('<', '>', '=', '!='))} {y}",
            f"{x} > {self.rng.randint(0, 3)}",
            f"BOUND({x})",
            f"!BOUND({x})",
            f"isIRI({x})",
            f"{x} + 1 = {y}",
            f"{x} IN ({self._constant()}, {self._constant()})",
            f"getDURATION() {self.rng.choice(('<', '<=', '>'))} {self.rng.randint(0, 4)}",
            f"getENDTIME() > {self.rng.randint(0, 6)}",
            f"sameTerm({x}, {y})",
        )
        return choices[draw % len(choices)]

    def _value(self) -> str:
        x, y = self._variable(), self._variable()
        choices = (
            f"{x} + {y}",
            f"STR({x})",
            f"{x} * 2",
            f"COALESCE({x}, {y})",
            "getSTARTTIME()",
            "xsd:double(getDURATION())",
        )
        return self.rng.choice(choices)

    def _constant(self) -> str:
        return self.rng.choice((":a", ":b", ":c", *LITERALS))
