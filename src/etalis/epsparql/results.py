"""Results of queries as others read them: a SELECT in the SPARQL 1.1 Results JSON, a CONSTRUCT as TriG.

Every solution has its interval: in JSON as two more variables, `start` and `end`; in TriG each interval is an element
of a stream, a graph whose time is told in the default graph, so that it is read as a stream again. Law: what was taken
back is not there; times are exact, numbers of seconds or, where dates came in, dateTimes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from etalis.data.values import Value
from etalis.errors import EventError, Problem
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.rdf.exact_terms import PROV, STRING, decode, kind_of, split_literal
from etalis.temporal.event import Event
from etalis.temporal.interval import MICROSECONDS, to_iso

TIME, UNTIL = f"<{PROV}generatedAtTime>", f"<{PROV}invalidatedAtTime>"
ELEMENT = "urn:etalis:element:"
_TRIPLES = (("rdf", 3), ("rdf", 5))


def to_bindings(match: Event, variables: Sequence[str]) -> dict[str, Any]:
    """Return the terms of pyoxigraph that a match of a SELECT binds, by variable; unbound ones are left out.

    >>> to_bindings(Event.make("select_1", ("<http://x/a>", "null", 7), 0, 0), ["c", "s", "n"])
    {'c': <NamedNode value=http://x/a>, 'n': <Literal value=7 datatype=<NamedNode value=http://www.w3.org/2001/XMLSchema#integer>>}
    """
    return {name: decode(value) for name, value in _bound(match, variables)}


def to_json(matches: Iterable[Event], variables: Sequence[str], *, indent: int | None = None) -> str:
    """Write the matches of a SELECT; the names of its variables are in the order of its items.

    >>> print(to_json([Event.make("select_1", ("<http://x/a>", "hi"), 1_000_000, 2_500_000)], ["c", "s"]))
    ... # doctest: +NORMALIZE_WHITESPACE
    {"head": {"vars": ["c", "s", "start", "end"]}, "results": {"bindings": [{"c": {"type": "uri", "value": "http://x/a"},
    "s": {"type": "literal", "value": "hi"},
    "start": {"type": "literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#decimal"},
    "end": {"type": "literal", "value": "2.5", "datatype": "http://www.w3.org/2001/XMLSchema#decimal"}}]}}
    """
    start, end = (name if name not in variables else f"_{name}" for name in ("start", "end"))
    rows = []
    for match in _standing(matches):
        row = {name: _to_object(value) for name, value in _bound(match, variables)}
        for name, time in ((start, match.start_time), (end, match.end_time)):
            text, datatype = _moment(time, dates=match.kind.shown.dates)
            row[name] = {"type": "literal", "value": text, "datatype": datatype}
        rows.append(row)
    found = {"head": {"vars": [*variables, start, end]}, "results": {"bindings": rows}}
    return json.dumps(found, indent=indent, ensure_ascii=False)


def to_trig(triples: Iterable[Event], *, element: str = ELEMENT) -> str:
    """Write the triples of a CONSTRUCT, one graph per interval, in order of time; a graph is `element` with its number.

    >>> print(to_trig([Event.make("rdf", ("<http://x/a>", "<http://x/p>", "b"), 1_000_000, 2_000_000)]))
    <urn:etalis:element:1> <http://www.w3.org/ns/prov#generatedAtTime> "1"^^<http://www.w3.org/2001/XMLSchema#decimal> ;
      <http://www.w3.org/ns/prov#invalidatedAtTime> "2"^^<http://www.w3.org/2001/XMLSchema#decimal> .
    <urn:etalis:element:1> {
      <http://x/a> <http://x/p> "b" .
    }
    <BLANKLINE>
    """
    elements: dict[tuple[int, int], dict[str, None]] = {}
    dates = False
    for event in _standing(triples):
        lines = elements.setdefault((event.end_time, event.start_time), {})
        lines[_triple(event)] = None
        dates |= event.kind.shown.dates
    found = []
    for number, ((end, start), lines) in enumerate(sorted(elements.items(), key=lambda each: each[0]), 1):
        name = str(decode(f"<{element}{number}>"))
        told = f"{name} {TIME} {_literal(start, dates)}"
        told += f" ;\n  {UNTIL} {_literal(end, dates)} .\n" if end > start else " .\n"
        found.append(told + f"{name} {{\n" + "".join(f"  {line} .\n" for line in lines) + "}\n")
    return "".join(found)


def _standing(events: Iterable[Event]) -> list[Event]:
    """Return the events that were not taken back, in their order."""
    found: dict[Event, None] = {}
    for event in events:
        if event.sign > 0:
            found[event] = None
        else:
            found.pop(event.reported, None)
    return list(found)


def _bound(match: Event, variables: Sequence[str]) -> list[tuple[str, Value]]:
    if len(match.args) != len(variables):
        hint = "give the names of the variables, in the order of the query's items"
        message = f"{match.name} has {len(match.args)} values, but {len(variables)} variables are named"
        raise EventError(Problem("E302", message, hint=hint))
    return [(name, value) for name, value in zip(variables, match.args, strict=True) if kind_of(value) != "unbound"]


def _to_object(value: Value) -> dict[str, str]:
    """Return a term as the SPARQL 1.1 Results JSON writes it."""
    match kind_of(value):
        case "iri":
            return {"type": "uri", "value": value[1:-1]}
        case "blank":
            return {"type": "bnode", "value": value[2:]}
    lexical, datatype, language = split_literal(value)
    found = {"type": "literal", "value": lexical}
    if language is not None:
        tag, _, direction = language.partition("--")
        return {**found, "xml:lang": tag, **({"its:dir": direction} if direction else {})}
    return found if datatype == STRING else {**found, "datatype": datatype}


def _triple(event: Event) -> str:
    """Return a triple in the N-Triples syntax; what is none is refused."""
    if (event.name, event.kind.arity) not in _TRIPLES:
        hint = "give the events rdf(S, P, O) of a CONSTRUCT"
        raise EventError(Problem("E306", f"{event} is no triple", hint=hint))
    s, p, o = event.args[:3]
    if kind_of(s) not in ("iri", "blank") or kind_of(p) != "iri":
        hint = "a subject is an IRI or a blank node, a predicate an IRI"
        raise EventError(Problem("E342", f"{event} is no triple", hint=hint))
    return " ".join(str(decode(part)) for part in (s, p, o))


def _literal(time: int, dates: bool) -> str:
    text, datatype = _moment(time, dates=dates)
    return f'"{text}"^^<{datatype}>'


def _moment(time: int, *, dates: bool) -> tuple[str, str]:
    """Return a time as text, and its datatype."""
    if dates:
        return to_iso(time), XSD + "dateTime"
    seconds, rest = divmod(abs(time), MICROSECONDS)
    fraction = f".{rest:06d}".rstrip("0") if rest else ""
    return f"{'-' if time < 0 else ''}{seconds}{fraction}", XSD + "decimal"
