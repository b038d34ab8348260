"""Random queries over windows: aggregates, graphs under MINUS and EXISTS, paths, several windows, streams in a row.

The bodies are those of plain SPARQL (`random_sparql`), with what only a graph allows: repeated paths over streamed
triples, MINUS, EXISTS and OPTIONAL over all, groups in groups, rows given twice.
"""

from __future__ import annotations

from random import Random

from etalis.epsparql.meaning import StreamedTriple
from etalis.epsparql.reads import DOMAIN, RANGE, SUBCLASS, SUBPROPERTY, TYPE
from helpers.epsparql_examples import VOCABULARY
from helpers.random_sparql import KNOWN, STREAMED, VARIABLES, BodyWriter, Triple, draw_graph
from helpers.random_stream_queries import SECOND, RandomCase

STREAMS = ("<http://x/s>", "<http://x/t>")
MADE = "<http://x/made>"
AGGREGATES = (
    "COUNT(*)", "COUNT(DISTINCT *)", "COUNT(?y)", "COUNT(DISTINCT ?y)", "SUM(?z)", "SUM(DISTINCT ?z)", "AVG(?z)",
    "MIN(?v)", "MAX(?v)", "SAMPLE(?y)", "GROUP_CONCAT(?z)", "GROUP_CONCAT(DISTINCT ?y; SEPARATOR=', ')",
    "SUM(?z + 1) / COUNT(*)", "COUNT(*) + MAX(?z)", "COALESCE(SUM(?y), -1)", "IF(COUNT(*) > 2, 'many', 'few')",
)  # fmt: skip
KEYS = ("", "", "GROUP BY ?x", "GROUP BY ?x ?y", "GROUP BY (isIRI(?y) AS ?k)", "GROUP BY ?x (?z + 1 AS ?k)")
HAVING = ("", "", "HAVING (COUNT(*) > 1)", "HAVING (MAX(?z) > 1) (COUNT(?v) < 4)")
PATHS = (":p+", ":p*", ":q?", "(:p|:q)+", "(:p/^:q)*", "^:p+", "!(:p|^:q)", "(!:p)+", "(:p|:k)*", ":r*/:p", "(:p?)/:q")


def draw_windows(rng: Random) -> RandomCase:
    """Draw a unit with a query over windows, its streams and its background."""
    streamed, known = draw_graph(rng)
    streamed += draw_graph(rng)[0]
    if rng.random() < 0.3:
        known = []
    elif rng.random() < 0.4:
        known += draw_schema(rng)
    elements = tuple(sorted((_element(rng, triple) for triple in streamed), key=lambda e: e.end))
    text = _query(rng, bool(known))
    if rng.random() < 0.3:
        text = f"{_maker(rng, bool(known))} ;\n{text}"
    return RandomCase(text, elements, tuple(dict.fromkeys(known)))


def draw_schema(rng: Random) -> list[Triple]:
    """Draw what streamed triples entail."""
    found: list[Triple] = [(_iri("A"), SUBCLASS, _iri("B"))]
    below, above = rng.sample(STREAMED, 2)
    found.append((_iri(below), SUBPROPERTY, _iri(above)))
    found.append((_iri(rng.choice(STREAMED)), rng.choice((DOMAIN, RANGE)), _iri("A")))
    return found


def _iri(name: str) -> str:
    return f"<{VOCABULARY}{name}>"


def _element(rng: Random, triple: Triple) -> StreamedTriple:
    if rng.random() < 0.1:
        triple = (triple[0], TYPE, _iri("A"))
    start = rng.choice((rng.randint(-6, 15) * SECOND, rng.randint(0, 15 * SECOND)))
    end = start + rng.choice((0, 0, 0, 2, 4)) * SECOND
    return StreamedTriple(*triple, None, rng.choice(STREAMS), start, end)


def _windows(rng: Random, streams: tuple[str, ...], step: int) -> list[str]:
    return [f"{name} [RANGE {rng.choice((1, 3, 5, 10, 12))} STEP {step}]" for name in streams]


def _query(rng: Random, has_background: bool) -> str:
    step = rng.choice((2, 3, 5))
    streams = (*STREAMS, MADE) if rng.random() < 0.5 else STREAMS
    windows = _windows(rng, streams, step)
    if rng.random() < 0.3:
        datasets = " ".join(f"FROM NAMED WINDOW :w{i} ON {window}" for i, window in enumerate(windows))
        parts = [f"WINDOW :w{i} {{ {_body(rng, has_background)} }}" for i in range(len(windows)) if rng.random() < 0.8]
        body = " ".join(parts or ["WINDOW :w0 { ?x :p ?y }"])
        if has_background and rng.random() < 0.4:
            body += f" ?x :{rng.choice(KNOWN)} ?y ."
    else:
        datasets = " ".join(f"FROM STREAM {window}" for window in windows)
        body = _body(rng, has_background)
    return f"REGISTER {rng.choice(('RSTREAM', 'ISTREAM', 'DSTREAM'))} :out AS {_form(rng, datasets, body)}"


def _form(rng: Random, datasets: str, body: str) -> str:
    draw = rng.random()
    if draw < 0.1:
        return f"ASK {datasets} {{ {body} }}"
    if draw < 0.25:
        node = rng.choice(("?x", "_:n"))
        return f"CONSTRUCT {{ {node} :made ?y . ?z :made {node} }} {datasets} {{ {body} }}"
    if draw < 0.5:
        return f"SELECT {' '.join(rng.sample(VARIABLES, 2))} {datasets} {{ {body} }}"
    keys = rng.choice(KEYS)
    shown = [name for name in ("?x", "?y", "?k") if name in keys.replace("(isIRI(?y)", "")]
    items = [f"({text} AS ?a{i})" for i, text in enumerate(rng.sample(AGGREGATES, rng.randint(1, 3)))]
    return f"SELECT {' '.join([*shown, *items])} {datasets} {{ {body} }} {keys} {rng.choice(HAVING)}"


def _maker(rng: Random, has_background: bool) -> str:
    """Write a CONSTRUCT that makes a stream which is read in windows: at once, or at steps."""
    head = f"REGISTER STREAM {MADE} AS CONSTRUCT {{ ?x :{rng.choice(STREAMED)} ?y }}"
    if rng.random() < 0.5:
        return f"{head} FROM STREAM {STREAMS[0]} {{ ?x :p ?y . FILTER(isIRI(?y)) }}"
    (window,) = _windows(rng, STREAMS[:1], rng.choice((2, 5)))
    return f"{head} FROM STREAM {window} {{ {_body(rng, has_background)} }}"


def _body(rng: Random, has_background: bool) -> str:
    writer = BodyWriter(rng)
    body = writer.body(rng.choice((0, 1, 2))) if has_background else writer.triple(STREAMED)
    for _ in range(rng.choice((0, 1, 1, 2))):
        inner = writer.triple(STREAMED)
        body += " " + rng.choice((
            inner,
            f"OPTIONAL {{ {inner} {writer.triple(STREAMED)} }}",
            f"MINUS {{ {inner} }}",
            f"FILTER {rng.choice(('', 'NOT '))}EXISTS {{ {inner} FILTER(?x != ?y) }}",
            f"{rng.choice((*VARIABLES, ':a'))} {rng.choice(PATHS)} {rng.choice((*VARIABLES, ':b'))} .",
            f"{{ SELECT ?x (COUNT(?y) AS ?c) {{ {inner.replace('?z', '?y')} }} GROUP BY ?x }}"
            if "?c" not in body else inner,
            f"{{ {inner} }} UNION {{ {inner} }}",
            "VALUES ?y { 1 1 :a :a :a :b }",
            "VALUES (?x ?y) { (:a UNDEF) (:b 1) (:a UNDEF) }",
            "?x a :B .",
            "?x ?v ?y .",
        ))  # fmt: skip
    return body
