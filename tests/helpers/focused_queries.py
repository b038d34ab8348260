"""Random queries of one subject each, over streams so dense that details decide: gaps, outer joins, strata, graphs.

Most patterns are `?x :p ?y` with a variable of their own for the object, and most triples are of `:a`; so they join,
and what is compared is when they do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from etalis.epsparql.meaning import StreamedTriple
from helpers.epsparql_examples import VOCABULARY

SECOND = 1_000_000
VARIABLES = ("?y", "?z", "?v", "?w", "?u")
OUTER = ("OPTIONALSEQ", "SEQOPTIONAL", "EQUALSOPTIONAL", "OPTIONALEQUALS")
STREAM = "<http://x/s>"


def draw_dense(rng: Random, intervals: float) -> tuple[StreamedTriple, ...]:
    """Draw a stream mostly about one subject, at few stamps."""
    last, found = rng.choice((3, 5, 8)), []
    for _ in range(rng.randint(5, 12)):
        start = rng.randint(0, last) * SECOND
        end = start + (rng.randint(1, 4) * SECOND if rng.random() < intervals else 0)
        subject, predicate = rng.choice("aaaab"), rng.choice("pqr")
        iris = [f"<{VOCABULARY}{name}>" for name in (subject, predicate)]
        found.append(StreamedTriple(*iris, rng.randint(1, 3), None, None, start, end))
    return tuple(sorted(found, key=lambda e: e.end))


@dataclass(slots=True)
class FocusedWriter:
    """Writes units; `names` counts the variables of a query."""

    rng: Random
    names: int = 0

    def absence(self) -> str:
        """NOT EXISTS beside sequences and other groups, nested and in windows."""
        self.names = 0
        chain = self._sequence(2)
        triple = self._triple()
        inner = self.rng.choice((triple, triple, f"{triple} {self._filter()}", self._sequence(1)))
        if self.rng.random() < 0.2:
            inner = f"{{{self._triple()}}} OPTIONALSEQ {{{self._triple()}}}"
        absent = f"FILTER NOT EXISTS {{ {inner} }}"
        if self.rng.random() < 0.2:
            inner_select = f"{{SELECT ?x {{ {self._triple()} {self._filter()} }}}}"
            absent = f"FILTER NOT EXISTS {{ {inner_select} }}"
        body = f"{{ {chain} {absent} {self._filter() if self.rng.random() < 0.2 else ''} }}"
        return f"SELECT * {{ {body} {self._within(0.4)} }}"

    def outer(self) -> str:
        """Outer operators with filters in the group that may be missing, and around."""
        self.names = 0
        parts = [self._operand()]
        for _ in range(self.rng.choice((1, 1, 2))):
            parts += [self.rng.choice((*OUTER, *OUTER, "SEQ", "EQUALS")), self._operand()]
        window = self._within(1 if "SEQOPTIONAL" in parts else 0.4)
        around = self._filter() if self.rng.random() < 0.3 else ""
        return f"SELECT * {{ {' '.join(parts)} {window} {around} }}"

    def constructs(self) -> str:
        """CONSTRUCTs that read one another, some through a side that may be missing, and a query over them."""
        return ";\n".join([*(self._construct() for _ in range(self.rng.choice((1, 2, 2, 3)))), self._reading_query()])

    def named(self) -> str:
        """Groups of graphs and streams, beside plain patterns."""
        self.names = 0
        groups = [self._named_group() for _ in range(self.rng.choice((1, 2, 2)))]
        body = self.rng.choice((" SEQ ", " ", " OPTIONALSEQ ")).join(f"{{ {group} }}" for group in groups)
        source = f"FROM STREAM {STREAM} " if self.rng.random() < 0.3 else ""
        made = f"REGISTER STREAM {STREAM} AS CONSTRUCT {{?x :q ?y}} {{ {{?x :p ?y}} SEQ {{?x :r ?z}} }};\n"
        return f"{made if self.rng.random() < 0.4 else ''}SELECT * {source}{{ {body} }}"

    def _construct(self) -> str:
        self.names = 0
        kind = self.rng.randint(0, 4)
        made, read = f":{self.rng.choice(MADE)}", f":{self.rng.choice(MADE)}"
        if kind == 0:
            return f"CONSTRUCT {{?x {made} ?y}} {{ {self._sequence(1)} }}"
        if kind == 1:
            return f"CONSTRUCT {{?x {made} ?z}} {{ ?x {read} ?y . ?x :{self.rng.choice('pqr')} ?z }}"
        if kind == 2:
            body = f"{{?x :p ?y}} {self.rng.choice(('EQUALSOPTIONAL', 'SEQOPTIONAL'))} {{?x {read} ?z}}"
            return f"CONSTRUCT {{?x {made} ?y}} {{ {body} WITHIN 3 {self._missing()} }}"
        if kind == 3:
            word = self.rng.choice(("OPTIONALSEQ", "OPTIONALEQUALS"))
            return f"CONSTRUCT {{?x {made} ?y}} {{ {{?x {read} ?z}} {word} {{?x :q ?y}} {self._missing()} }}"
        return f"CONSTRUCT {{?x {made} ?y}} {{ {{?x :r ?y OPTIONAL {{?x {read} ?z}}}} WITHIN 0 {self._missing()} }}"

    def _reading_query(self) -> str:
        a, b = self.rng.choice(MADE), self.rng.choice((*MADE, "p"))
        word = self.rng.choice(("SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL", "."))
        if word == ".":
            return f"SELECT * {{ ?x :{a} ?y . ?x :{b} ?z }}"
        return f"SELECT * {{ {{?x :{a} ?y}} {word} {{?x :{b} ?z}} }}"

    def _missing(self) -> str:
        return "FILTER(!BOUND(?z))" if self.rng.random() < 0.6 else ""

    def _named_group(self) -> str:
        triple = self._triple()
        word = self.rng.choice((f"STREAM {STREAM}", "STREAM ?n", "GRAPH <http://x/g>", "GRAPH ?g", "", "", "both"))
        if word == "both":
            return f"STREAM ?n {{ GRAPH ?g {{ {triple} }} }}"
        return f"{word} {{ {triple} }} {self._triple() if self.rng.random() < 0.3 else ''}" if word else triple

    def _sequence(self, depth: int) -> str:
        """A chain, mostly of SEQ alone."""
        parts = [self._part(depth)]
        for _ in range(self.rng.choice((1, 1, 2))):
            parts += [self.rng.choice(("SEQ", "SEQ", "SEQ", "SEQ", "EQUALS")), self._part(depth)]
        return " ".join(parts)

    def _part(self, depth: int) -> str:
        draw = self.rng.random()
        if depth > 1 and draw < 0.4:
            return f"{{ {self._sequence(1)} {self._within(0.2)} {self._filter() if draw < 0.08 else ''} }}"
        if draw < 0.5:
            return f"{{ {self._triple()} . {self._triple()} }}"
        return f"{{ {self._triple()} }}"

    def _operand(self) -> str:
        draw = self.rng.random()
        if draw < 0.2:
            return f"{{ {{{self._triple()}}} SEQ {{{self._triple()}}} {self._filter() if draw < 0.1 else ''} }}"
        return f"{{ {self._triple()} {self._filter() if draw < 0.7 else ''} }}"

    def _triple(self) -> str:
        name = VARIABLES[self.names % len(VARIABLES)]
        self.names += 1
        return f"?x :{self.rng.choice('pqr')} {name}"

    def _filter(self) -> str:
        names = VARIABLES[: max(2, self.names)]
        a, b = self.rng.choice(names), self.rng.choice(names)
        condition = self.rng.choice(
            (
                f"{a} < {b}",
                f"{a} != {b}",
                f"!BOUND({a})",
                f"!({a} > 2)",
                f"getDURATION() < {self.rng.randint(1, 3)}",
                f"getENDTIME() > {self.rng.randint(1, 5)}",
                f"{a} > 1 || !BOUND({b})",
            )
        )
        return f"FILTER({condition})"

    def _within(self, chance: float) -> str:
        return f"WITHIN {self.rng.choice((0, 1, 2, 3, 5))}" if self.rng.random() < chance else ""


MADE = ("c1", "c2")
FOCUSES: tuple[tuple[Callable[[FocusedWriter], str], float], ...] = (
    (FocusedWriter.absence, 0.4),
    (FocusedWriter.outer, 0.25),
    (FocusedWriter.constructs, 0.1),
    (FocusedWriter.named, 0.1),
)


def draw_focused(rng: Random) -> tuple[str, tuple[StreamedTriple, ...]]:
    """Draw a unit of one subject, and its stream."""
    write, intervals = rng.choice(FOCUSES)
    elements = draw_dense(rng, intervals)
    if write is FocusedWriter.named:
        graphs, streams = (None, "<http://x/g>", "<http://x/h>"), (None, STREAM, STREAM, "<http://x/t>")
        elements = tuple(e._replace(graph=rng.choice(graphs), stream=rng.choice(streams)) for e in elements)
    return write(FocusedWriter(rng)), elements
