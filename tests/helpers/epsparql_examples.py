"""The worked examples of EP-SPARQL: files in tests/epsparql/examples -> `Example` (its README says how they read)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyoxigraph import RdfFormat, parse

from etalis.data.values import Value
from etalis.epsparql.meaning import Answer, StreamedTriple
from etalis.logic.rdf.exact_terms import encode

FOLDER = Path(__file__).parents[1] / "epsparql" / "examples"
VOCABULARY = "http://example.org/"
PREFIXES = {"": VOCABULARY}
KEYS = {
    "number", "shows", "background", "stream", "query", "expect", "constructed", "error", "says", "warning", "dead",
    "options", "steps",
}  # fmt: skip

_TURTLE = f"""@prefix : <{VOCABULARY}> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
_TIME = r"-?\d+(?:\.\d+)?D?"
_ELEMENT = re.compile(rf"({_TIME})(?:\.\.({_TIME}))?(?: in (\S+))?(?: on (\S+))?: (.*)")
_ROW = re.compile(rf"(?:(\d+) )?(.*) \[({_TIME}),({_TIME})\](?: (at|after) ({_TIME}))?")
_VALUE = re.compile(r'(?:"[^"]*"[^,\s]*|<[^>]*>|[^,\s])+')


@dataclass(frozen=True, slots=True)
class ExampleStep:
    """Elements that come late or are taken back, and how the results change."""

    is_added: bool
    elements: tuple[StreamedTriple, ...]
    gone: frozenset[Answer]
    come: frozenset[Answer]


@dataclass(frozen=True, slots=True)
class Example:
    """One example; `moments` says of some rows whether they are known only when time has passed."""

    number: str
    shows: str
    query: str
    elements: tuple[StreamedTriple, ...]
    background: tuple[tuple[Value, Value, Value], ...] = ()
    rows: frozenset[Answer] | None = None
    constructed: frozenset[Answer] | None = None
    moments: dict[Answer, bool] = field(default_factory=dict)
    error: str | None = None
    says: str = ""
    warning: str | None = None
    dead: tuple[tuple[Value, ...], ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    steps: tuple[ExampleStep, ...] = ()

    @property
    def turtle(self) -> str:
        """The background as Turtle, of which `background` is what it says in the exact naming."""
        return "".join(f"{_ntriples(t)}\n" for t in self.background)


def find_examples() -> list[Example]:
    """Return all examples, by their numbers."""
    found = [
        read_example(table) for path in sorted(FOLDER.glob("*.toml")) for table in _tables(path.read_text("utf-8"))
    ]
    return sorted(found, key=lambda e: (int(re.findall(r"\d+", e.number)[0]), e.number))


def _tables(text: str) -> Iterator[dict[str, Any]]:
    yield from tomllib.loads(text)["example"]


def read_example(table: dict[str, Any]) -> Example:
    """Return an example from its table; an unknown key is refused."""
    assert set(table) <= KEYS, f"example {table['number']} has unknown keys {set(table) - KEYS}"
    texts = {key: table[key] for key in ("number", "shows", "query", "error", "says", "warning") if key in table}
    rows, moments = _rows(table.get("expect", ""))
    constructed, _ = _rows(table.get("constructed", ""))
    options = {key: [_iri(name) for name in names] for key, names in table.get("options", {}).items()}
    return Example(
        **texts,
        elements=read_elements(table["stream"]),
        background=tuple(_triples(table.get("background", ""))),
        rows=rows if "expect" in table else None,
        constructed=constructed if "constructed" in table else None,
        moments=moments,
        dead=tuple(triple for text in table.get("dead", ()) for triple in _triples(text + " .")),
        options=options,
        steps=tuple(map(_step, table.get("steps", ()))),
    )


def read_elements(text: str) -> tuple[StreamedTriple, ...]:
    """Read the lines of a stream."""
    found = []
    for line in text.strip().splitlines():
        start, end, graph, stream, triple = _matched(_ELEMENT, line)
        names = (None if name is None else _iri(name) for name in (graph, stream))
        for s, p, o in _triples(triple + " ."):
            found.append(StreamedTriple(s, p, o, *names, read_time(start), read_time(end or start)))
    return tuple(found)


def read_time(text: str) -> int:
    """Return microseconds of seconds, or of days.

    >>> read_time("2.5"), read_time("2D")
    (2500000, 172800000000)
    """
    seconds = float(text.rstrip("D")) * (86_400 if text.endswith("D") else 1)
    return round(seconds * 1_000_000)


def _step(table: dict[str, str]) -> ExampleStep:
    lines = table["changes"].strip().splitlines()
    gone, come = ("\n".join(line[2:] for line in lines if line[0] == sign) for sign in "-+")
    elements = read_elements(table.get("add") or table["remove"])
    return ExampleStep("add" in table, elements, _rows(gone)[0], _rows(come)[0])


def _rows(text: str) -> tuple[frozenset[Answer], dict[Answer, bool]]:
    """Read rows; a query that is not named is 0, and constructed triples are of no query."""
    found: dict[Answer, str | None] = {}
    for line in text.strip().splitlines():
        query, values, start, end, when, moment = _matched(_ROW, line)
        shown = values[1:-1] if values.startswith("(") else values
        terms = tuple(_value(v) for v in _VALUE.findall(shown))
        answer = Answer(int(query or 0), terms, read_time(start), read_time(end))
        assert moment is None or read_time(moment) == answer.end, f"{line}: a row is known when it ends"
        found[answer] = when
    return frozenset(found), {answer: when == "after" for answer, when in found.items() if when is not None}


def _matched(pattern: re.Pattern[str], line: str) -> tuple[str | Any, ...]:
    found = pattern.fullmatch(line.strip())
    assert found is not None, f"no such line in an example: {line}"
    return found.groups()


def _value(text: str) -> Value | None:
    if text == "-" or text.startswith("_:"):
        return None if text == "-" else text
    (triple,) = _triples(f":s :p {text} .")
    return triple[2]


def _iri(text: str) -> str:
    return str(_value(text))


def _triples(text: str) -> list[tuple[Value, Value, Value]]:
    quads = parse((_TURTLE + text).encode(), format=RdfFormat.TURTLE)
    return [(encode(q.subject), encode(q.predicate), encode(q.object)) for q in quads]


def _ntriples(triple: Iterable[Value]) -> str:
    from etalis.logic.rdf.exact_terms import decode

    return " ".join(str(decode(part)) for part in triple) + " ."


def name_alike(answers: Iterable[Answer]) -> set[Answer]:
    """Return answers with blank nodes named by what is said of them, so that equal graphs are equal sets."""
    found = list(answers)
    names: dict[Value, str] = {v: "_:" for a in found for v in a.values if _is_blank(v)}
    for _ in range(3):
        said = {node: sorted(repr(_named(a, names, node)) for a in found if node in a.values) for node in names}
        names = {node: f"_:{abs(hash(tuple(lines))):x}" for node, lines in said.items()}
    return {_named(a, names, None) for a in found}


def _named(answer: Answer, names: dict[Value, str], own: Value) -> Answer:
    values = ("_:this" if _is_blank(v) and v == own else names.get(v, v) for v in answer.values)
    return answer._replace(values=tuple(values))


def _is_blank(value: Value | None) -> bool:
    return isinstance(value, str) and value.startswith("_:")
