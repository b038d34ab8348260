"""Queries on engines: a unit and its stream in the ways that must not matter; answers as the meaning has them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any

from etalis.data.values import Value
from etalis.engine import Engine
from etalis.epsparql.meaning import Answer, StreamedTriple
from etalis.errors import ProgramWarning
from etalis.runtime.lateness.watermark import DeadLetter, Stamp
from etalis.sparql import SparqlProgram, compile_sparql
from etalis.temporal.event import Event
from etalis.temporal.interval import to_seconds
from helpers.epsparql_examples import PREFIXES, VOCABULARY

Triples = Sequence[tuple[Value, Value, Value]]


def compile_case(query: str, background: Triples = (), **options: Any) -> SparqlProgram:
    """Compile queries in the vocabulary of the examples; nothing is told of what looks wrong."""
    if "background" in options:
        options["background_predicates"] = options.pop("background")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProgramWarning)
        return compile_sparql(
            query, prefixes=PREFIXES, vocabulary=VOCABULARY, background=list(background) or None, **options
        )


def moment(element: StreamedTriple) -> Any:
    """Return the time of an element as engines take it."""
    ends = to_seconds(element.start), to_seconds(element.end)
    return ends[0] if ends[0] == ends[1] else ends


def push(engine: Engine, element: StreamedTriple, at: Any = None) -> tuple[Event, ...]:
    """Push one triple."""
    when = moment(element) if at is None else at
    return engine.push_triple(
        element.s, element.p, _term(element.o), at=when, graph=element.graph, stream=element.stream
    )


def _term(value: Value) -> Any:
    from etalis.logic.rdf.exact_terms import decode

    return decode(value)


def answers(found: Iterable[Event], program: SparqlProgram) -> tuple[set[Answer], set[Answer]]:
    """Return rows and constructed triples as the meaning has them; the latter are of no query."""
    numbers = {head.name: number for number, head in enumerate(program.queries, 1)}
    rows, made = set(), set()
    for event in found:
        values = tuple(None if value == "null" else value for value in event.args)
        if event.name == "rdf":
            made.add(Answer(0, values[:3], event.start_time, event.end_time))
        else:
            rows.add(Answer(numbers[event.name], values, event.start_time, event.end_time))
    return rows, made


def in_order(elements: Iterable[StreamedTriple]) -> list[StreamedTriple]:
    return sorted(elements, key=lambda element: element.end)


def _pushed(query: str, elements: Sequence[StreamedTriple], background: Triples, rng: Random, options: Any) -> Any:
    del rng
    program = compile_case(query, background, **options)
    engine = program.engine(strict=False)
    found = [event for element in in_order(elements) for event in push(engine, element)]
    return program, [*found, *engine.close()], engine


def _permuted(query: str, elements: Sequence[StreamedTriple], background: Triples, rng: Random, options: Any) -> Any:
    several = list(elements)
    rng.shuffle(several)
    return _pushed(query, several, background, rng, options)


def _restored(query: str, elements: Sequence[StreamedTriple], background: Triples, rng: Random, options: Any) -> Any:
    program = compile_case(query, background, **options)
    engine, several = program.engine(), in_order(elements)
    point = rng.randint(0, len(several))
    found = [event for element in several[:point] for event in push(engine, element)]
    engine = program.restore(engine.snapshot())
    found += [event for element in several[point:] for event in push(engine, element)]
    return program, [*found, *engine.close()], engine


def _late(query: str, elements: Sequence[StreamedTriple], background: Triples, rng: Random, options: Any) -> Any:
    """In a disorder of its own, what is found reported at once and corrected."""
    program = compile_case(query, background, **options, out_of_order="on", reporting="on_arrival", ooo_window=1e9)
    engine = program.engine()
    several = list(enumerate(in_order(elements)))
    rng.shuffle(several)
    found: list[Event] = []
    for rank, element in several:
        found += push(engine, element, Stamp(moment(element), rank=rank))
    return program, standing([*found, *engine.close()]), engine


def standing(found: Iterable[Event]) -> list[Event]:
    """Return what was reported and not taken back."""
    kept: dict[Event, None] = {}
    for event in found:
        if event.sign > 0:
            assert event not in kept, f"{event} is reported twice"
            kept[event] = None
        else:
            del kept[event.reported]  # type: ignore[attr-defined]
    return list(kept)


TREATMENTS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"pushed": _pushed, "permuted": _permuted, "restored": _restored, "late": _late}
)


def run_case(
    treatment: str, query: str, elements: Sequence[StreamedTriple], background: Triples = (), seed: int = 0,
    **options: Any,
) -> tuple[set[Answer], set[Answer]]:  # fmt: skip
    """Run queries over a stream in one of the ways; no condition may raise."""
    program, found, engine = TREATMENTS[treatment](query, elements, background, Random(seed), options)
    assert not engine.errors, engine.errors[0]
    return answers(found, program)


def table_of(elements: Iterable[StreamedTriple]) -> dict[str, list[Any]]:
    """Return a stream as the columns of a table."""
    columns: dict[str, list[Any]] = {name: [] for name in ("s", "p", "o", "g", "stream", "at", "until")}
    for e in in_order(elements):
        terms = (str(_term(part)) for part in (e.s, e.p, e.o))
        cells = (*terms, e.graph, e.stream, to_seconds(e.start), to_seconds(e.end))
        for column, cell in zip(columns.values(), cells, strict=True):
            column.append(cell)
    return columns


def dead_letters(query: str, elements: Sequence[StreamedTriple], background: Triples, **options: Any) -> Iterator[Any]:
    """Yield the triples that a run over a stream does not take."""
    letters: list[DeadLetter] = []
    engine = compile_case(query, background, **options).engine(on_dead_letter=letters.append)
    for element in in_order(elements):
        push(engine, element)
    yield from (letter.args for letter in letters)
