"""Elements of RDF streams that a host pushes: their triples become events of one time, with one id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from etalis.formats.rdf_documents import read_triples
from etalis.formats.rdf_quads import EVENT
from etalis.logic.rdf.blank_nodes import BlankNodes
from etalis.logic.rdf.given_terms import to_name, to_part
from etalis.runtime.lateness.watermark import Stamp
from etalis.temporal.event import Event

if TYPE_CHECKING:
    from etalis.runtime.engine import RuntimeEngine


def push_triple(
    engine: RuntimeEngine, triple: tuple[Any, Any, Any], at: Any, until: Any, graph: Any, stream: Any
) -> tuple[Event, ...]:  # fmt: skip
    """Take one triple."""
    names = engine.core.program.plain_names
    if names is not None:
        return _push(engine, (tuple(map(names.read, triple)),), _stamp(engine, at), until, graph, stream)
    parts = zip(triple, ("subject", "predicate", "object"), strict=True)
    found = tuple(to_part(given, part) for given, part in parts)
    return _push(engine, (found,), _stamp(engine, at), until, graph, stream)


def push_graph(
    engine: RuntimeEngine, text: str, form: str, at: Any, until: Any, graph: Any, stream: Any
) -> tuple[Event, ...]:  # fmt: skip
    """Take the triples of a text."""
    stamp = _stamp(engine, at)
    nodes = BlankNodes(graph if stamp.id is None else stamp.id, text, stamp.at, until)
    triples, names = read_triples(text, form, nodes), engine.core.program.plain_names
    return _push(engine, triples if names is None else names.name_triples(triples), stamp, until, graph, stream)


def _stamp(engine: RuntimeEngine, at: Any) -> Stamp:
    """Return when an element happens: all of it at one time, that of the clock where none is given."""
    clock = engine.core.inputs.clock
    return at if isinstance(at, Stamp) else Stamp(clock() if at is None and clock is not None else at)


def _push(
    engine: RuntimeEngine, triples: Iterable[tuple[Any, ...]], stamp: Stamp, until: Any, graph: Any, stream: Any
) -> tuple[Event, ...]:  # fmt: skip
    """Take triples in their order; the id of all of them is that of the stamp, or the name of the graph."""
    core, names = engine.core, engine.core.program.plain_names
    if names is None:
        g, n = to_name(graph, "graph"), to_name(stream, "stream")
    else:
        g, n = names.read_iri(graph), names.read_iri(stream)
    moment = stamp.at if until is None else (stamp.at, until)
    name = g if stamp.id is None and graph is not None and core.program.settings.revision else stamp.id
    if name is not None or stamp.rank is not None or stamp.source is not None:
        moment = replace(stamp, at=moment, id=name)
    has_names = len(core.program.signatures.get(EVENT, ())) == 5 or (EVENT, 5) in core.rules.processors
    more = (g, n) if has_names else ()
    found: list[Event] = []
    for triple in triples:
        found += engine.push(EVENT, *triple, *more, at=moment)
    return tuple(found)
