"""Elements that are documents of their own: Turtle or JSON-LD as text, in a line of JSON or pushed by a host.

The triples of a document have one time. Blank nodes are apart per document, and named by what tells it apart, so that
the same element read once more has the same nodes. Contexts of JSON-LD are written out in the document: none is ever
fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from etalis.data.values import Value
from etalis.errors import EtalisError, InputError, Problem
from etalis.formats.rdf_quads import EVENT, reads_graphs
from etalis.formats.roles import find_times
from etalis.formats.row import Place, Reading, Row, interval_of, time_of
from etalis.logic.rdf.blank_nodes import BlankNodes
from etalis.logic.rdf.exact_terms import UNBOUND, encode
from etalis.logic.rdf.given_terms import to_name
from etalis.logic.rdf.oxigraph import NestingGuard, check_json, import_pyoxigraph
from etalis.temporal.event import Event

ExactTriple: TypeAlias = tuple[Value, Value, Value]

DOCUMENTS: Mapping[str, tuple[str, str]] = {
    "turtle": ("Turtle", "TURTLE"),
    "ntriples": ("N-Triples", "N_TRIPLES"),
    "jsonld": ("JSON-LD", "JSON_LD"),
}
TURTLE, GRAPH, CONTEXT, UNTIL = "turtle", "@graph", "@context", "until"
_FIELDS = (TURTLE, GRAPH, CONTEXT, UNTIL, "graph", "id", "stream")
_POSITION = re.compile(r"Parser error (?:at|between) (?:line (\d+))?.*?: ")


def is_document(record: Any) -> bool:
    """Tell whether a line of JSON is an element of RDF."""
    return isinstance(record, dict) and (TURTLE in record or GRAPH in record)


def read_document(record: dict[str, Any], reading: Reading, place: Place) -> list[Row]:
    """Return the events of an element in a line of JSON: `{"at": 1, "turtle": "..."}`, or with `"@graph": [...]`."""
    if TURTLE in record and GRAPH in record:
        raise place.refuse("E406", "an element is Turtle or JSON-LD, not both", f"leave out {TURTLE} or {GRAPH}")
    keys = find_times(record, reading.time)
    if keys is None:
        raise place.refuse("E404", "the element has no time", 'add "at": seconds, and "until" if it ends later')
    moments = [time_of(record[key], key, reading, place, _nowhere) for key in keys]
    if UNTIL in record and len(keys) == 1:
        moments.append(time_of(record[UNTIL], UNTIL, reading, place, _nowhere))
    unknown = [key for key in record if key not in _FIELDS and key not in keys]
    if unknown:
        raise place.refuse("E406", f"an element has no field {unknown[0]}", f"known: at, {', '.join(_FIELDS)}")
    start, end = interval_of(moments[0], moments[-1], place)
    try:
        graph, stream = (read_name(reading, record.get(part), part) for part in ("graph", "stream"))
        name = record.get("id") or (None if graph == UNBOUND else graph)
        text, kind = _text(record)
        triples = read_triples(text, kind, BlankNodes(name or "", text, start, end))
    except EtalisError as error:
        raise place.blame(error) from None
    stream = reading.stream if stream == UNBOUND else stream
    shared = str(name) if name is not None and reading.retracts else None
    return [Row(event_of(triple, graph, stream, start, end, reading), place, shared) for triple in triples]


def read_name(reading: Reading, given: object, part: str) -> str:
    """Return the name of a graph or a stream, as the program names it."""
    names = reading.plain_names
    return to_name(given, part) if names is None else names.read_iri(given)


def _text(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return the text of an element's document, and its format."""
    if TURTLE in record:
        text = record[TURTLE]
        if not isinstance(text, str):
            raise InputError(Problem("E402", f"{TURTLE}: expected a text", hint="write Turtle into a JSON string"))
        return text, "turtle"
    document = {key: record[key] for key in (CONTEXT, GRAPH) if key in record}
    return json.dumps(document, ensure_ascii=False, sort_keys=True), "jsonld"


def event_of(triple: ExactTriple, graph: str, stream: str, start: int, end: int, reading: Reading) -> Event:
    """Return the event of a triple, with graph and stream where the program reads these."""
    args = (*triple, graph, stream) if reads_graphs(reading) else triple
    if reading.plain_names is not None:
        args = tuple(map(reading.plain_names.name, args))
    return Event.make(EVENT, args, start, end)


def read_triples(text: str, format: str, nodes: BlankNodes) -> list[ExactTriple]:  # noqa: A002
    """Return the triples of a document in the order of its text.

    >>> read_triples("<http://x/a> <http://x/p> 7, [] .", "turtle", BlankNodes("x"))[0]
    ('<http://x/a>', '<http://x/p>', 7)
    """
    if format not in DOCUMENTS:
        raise InputError(Problem("E407", f"unknown format {format!r}", hint=f"one of {', '.join(DOCUMENTS)}"))
    if not isinstance(text, str):
        raise InputError(Problem("E402", f"expected a text, found {type(text).__name__}", hint="decode it: x.decode()"))
    oxigraph = import_pyoxigraph()
    title, name = DOCUMENTS[format]
    found: list[ExactTriple] = []
    try:
        document = text.encode()
        check_json(document) if format == "jsonld" else NestingGuard().feed(document)
        for quad in oxigraph.parse(document, getattr(oxigraph.RdfFormat, name)):
            if not isinstance(quad.graph_name, oxigraph.DefaultGraph):
                hint = "name the graph of an element with `graph`"
                raise InputError(Problem("E406", f"a graph inside an element: {quad.graph_name}", hint=hint))
            s, p, o = (_term(each, nodes) for each in (quad.subject, quad.predicate, quad.object))
            found.append((s, p, o))
    except SyntaxError as error:
        raise _refuse(error, title) from None
    except UnicodeEncodeError:
        raise InputError(Problem("E402", f"not {title}: half a character", hint="send UTF-8 text")) from None
    return found


def _term(term: Any, nodes: BlankNodes) -> Value:
    value = encode(term)
    return nodes.name(value) if isinstance(value, str) and value.startswith("_:") else value


def _refuse(error: SyntaxError, title: str) -> InputError:
    if "remote contexts" in error.msg:
        message, hint = "a context of JSON-LD that would have to be fetched", "write the context into the element"
        return InputError(Problem("E402", message, hint=hint))
    line = f", line {error.lineno}" if error.lineno else ""
    hint = "write IRIs in full, or declare @base" if "No scheme" in error.msg else "check the element"
    return InputError(Problem("E402", f"not {title}{line}: {_POSITION.sub('', error.msg)}", hint=hint))


def _nowhere(_place: Place, _column: str) -> None:
    return None
