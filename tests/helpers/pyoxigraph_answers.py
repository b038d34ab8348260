"""What pyoxigraph answers: queries of plain SPARQL over some triples, also at every step of a window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from pyoxigraph import Quad, Store

from etalis.data.values import Value
from etalis.epsparql.meaning import StreamedTriple
from etalis.logic.rdf.exact_terms import decode, encode
from helpers.epsparql_examples import VOCABULARY
from helpers.random_sparql import STREAMED, BodyWriter, draw_graph

SECOND = 1_000_000
STREAM = "<http://x/s>"
LAST = 40  # seconds after which all windows are empty
HEADS = {
    "?x ?y ?z": "",
    "?x (COUNT(*) AS ?n)": "GROUP BY ?x",
    "(COUNT(*) AS ?n) (COUNT(?v) AS ?m) (COUNT(DISTINCT ?y) AS ?k)": "",
    "?y (SUM(?z) AS ?n) (AVG(?v) AS ?m)": "GROUP BY ?y",
    "?x ?y (COUNT(DISTINCT *) AS ?n)": "GROUP BY ?x ?y HAVING (COUNT(*) > 1)",
}

Triple = tuple[Value, Value, Value]
Row = tuple[Value | tuple[str, float] | None, ...]


def worth(value: Value | None) -> Value | tuple[str, float] | None:
    """Return a number as its worth, rounded; other terms as they are."""
    return ("number", round(float(value), 9)) if isinstance(value, int | float) else value


def answers_in(store: Store, query: str, prefixes: str = f"PREFIX : <{VOCABULARY}> ") -> set[Row]:
    """Return what a store answers, distinct rows by their worth; ASK has a row where it holds."""
    found = store.query(prefixes + query)
    if not hasattr(found, "variables"):
        return {()} if bool(found) else set()
    return {tuple(None if term is None else worth(encode(term)) for term in row) for row in found}  # type: ignore[union-attr]


def ask(query: str, triples: Iterable[Sequence[Value]]) -> set[Row]:
    """Return what pyoxigraph answers over some triples."""
    store = Store()
    store.extend(Quad(*map(decode, triple)) for triple in triples)
    return answers_in(store, query)


@dataclass(frozen=True, slots=True)
class StepwiseCase:
    """A query of plain SPARQL over a window, its stream and its background."""

    query: str
    plain: str
    width: int
    step: int
    elements: tuple[StreamedTriple, ...]
    background: tuple[Triple, ...]

    def answers(self) -> set[tuple[int, *Row]]:
        """Return the answers over the graph of the window at every step, each with its second."""
        found: set[tuple[int, *Row]] = set()
        for now in range(0, LAST, self.step):
            inside = [e[:3] for e in self.elements if now - self.width < e.start // SECOND and e.end // SECOND <= now]
            if inside:
                found |= {(now, *row) for row in ask(self.plain, [*inside, *self.background])}
        return found


def draw_stepwise(rng: Random) -> StepwiseCase:
    """Draw a query over a window, with what plain SPARQL has beside: MINUS and EXISTS over what is streamed."""
    streamed, known = draw_graph(rng)
    moments = [rng.randint(0, 20) * SECOND for _ in streamed]
    elements = (StreamedTriple(*t, None, STREAM, n, n) for t, n in zip(streamed, moments, strict=True))
    width, step, writer = rng.choice((4, 6, 10)), rng.choice((2, 5, 7)), BodyWriter(rng)
    head, body = rng.choice(tuple(HEADS)), writer.body()
    if rng.random() < 0.5:
        word = rng.choice(("MINUS", "FILTER EXISTS", "FILTER NOT EXISTS"))
        body += f" {word} {{ {writer.triple(STREAMED)} }}"
    if "|:" in body or "*" in body:  # of several ways by one path pyoxigraph counts one
        head = "?x ?y ?z"
    window = f"FROM STREAM {STREAM} [RANGE {width} STEP {step}]"
    query, plain = (f"SELECT {head} {source} {{ {body} }} {HEADS[head]}" for source in (window, ""))
    return StepwiseCase(query, plain, width, step, tuple(elements), tuple(known))
