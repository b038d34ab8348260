"""Rows of a shard through an engine, event at a time; of one stage of several, in steps with what others derived.

Law: the rules of a stage derive what they derive in one engine with all rules (`runtime.stage_engine`), because rows
and derived events are taken in the order of their steps, and each derived event in its round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from itertools import chain, groupby, islice, repeat
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

import pyarrow.compute as pc

from etalis.errors import EventError, InputError, Problem
from etalis.runtime.engine import RuntimeEngine
from etalis.runtime.stage_engine import Derived, Relay, Step
from etalis.runtime.state import HeadKind, Raw
from etalis.runtime.step_keys import time_of
from etalis.spark.batch.feed import Feed
from etalis.spark.batch.input_names import InputNames
from etalis.spark.batch.job import Job
from etalis.spark.batch.stage_schema import MADE_OF, ROUND, STEP, StageWriter, read_values
from etalis.tables.results.output import encode
from etalis.tables.results.row_ids import RowIds
from etalis.tables.sorting import END, START, TAG, Stretch, sort_table
from etalis.temporal.event import Event, EventKind, new_event
from etalis.temporal.interval import LATEST, MICROSECONDS

BATCH = 10_000
T = TypeVar("T")
Placed: TypeAlias = tuple[bytes, int, Raw]  # key of the step, round, event
Write: TypeAlias = Callable[[Sequence[Event]], Iterable[Any]]  # events as rows of the results


class RowRunner:
    """A runner whose stage is the only one: rows go straight into the engine."""

    def __init__(
        self, job: Job, engine: RuntimeEngine, write: Write | None = None, ids: InputNames | None = None
    ) -> None:
        self.job = job
        self.engine = engine
        self.write = write or self._encode
        self.ids = ids if ids is not None else RowIds() if job.output.contributors else None
        self._feed: Feed | None = None

    def take(self, stretches: Iterable[Stretch]) -> Iterator[Any]:
        """Take rows that follow all taken before, and yield what they cause, as rows."""
        self._feed = Feed(stretches, self.job.rows, self.engine.core.program.signatures, self.ids)
        return self._written(partial(self.engine.run, self._feed))

    def advance(self, time: int) -> Iterator[Any]:
        """Let time reach a moment."""
        to = Fraction(min(time, LATEST), MICROSECONDS)
        return self._written(partial(self.engine.advance, to=to))

    def close(self) -> Iterator[Any]:
        """End the stream."""
        return self._written(self.engine.close)

    def _written(self, find: Callable[[], Iterable[Event]]) -> Iterator[Any]:
        return chain.from_iterable(map(self.write, self._found(find)))

    def _found(self, find: Callable[[], Iterable[Event]]) -> Iterator[list[Event]]:
        with naming_rows(self._feed):
            yield from batched(find())

    def _encode(self, events: Sequence[Event]) -> Iterable[Any]:
        return [encode(events, self.job.output, self.ids)]


def batched(found: Iterable[T]) -> Iterator[list[T]]:
    """Yield events many at a time."""
    events = iter(found)
    while part := list(islice(events, BATCH)):
        yield part


def written(found: Iterable[T], write: Callable[[list[T]], Iterable[Any]]) -> Iterator[Any]:
    """Yield events as rows, many at a time."""
    return chain.from_iterable(map(write, batched(found)))


@contextmanager
def naming_rows(feed: Feed | None) -> Iterator[None]:
    """Say in errors of events which row it was, where rows are read one by one."""
    try:
        yield
    except EventError as error:
        if feed is None:
            raise
        first = error.problems[0]
        message = f"{feed.place()}: {first.message}"
        raise InputError(Problem(first.code, message, hint=first.hint)) from error


class StageRowRunner:
    """A runner of one stage of several: rows, and what earlier stages derived, go in step by step."""

    def __init__(self, job: Job, engine: RuntimeEngine, received: Any) -> None:
        self.job = job
        self.signatures = engine.core.program.signatures
        self.names = InputNames(engine) if job.output.contributors else None
        self.relay = Relay(engine, None if self.names is None else self.names.receive)
        self.writer = StageWriter(job, received, self.names)
        self.kinds = {forward.tag: EventKind(*forward.kind) for forward in job.incoming}

    def take(self, stretches: Iterable[Stretch]) -> Iterator[Any]:
        """Take rows that follow all taken before; yield results, and what goes on to later stages."""
        steps = chain.from_iterable(map(self._steps, stretches))
        return written(chain.from_iterable(map(self.relay.take, steps)), self._write)

    def advance(self, time: int) -> Iterator[Any]:
        """Let time reach a moment."""
        return written(self.relay.advance(time), self._write)

    def close(self) -> Iterator[Any]:
        """End the stream."""
        return written(self.relay.close(), self._write)

    def _write(self, found: list[Derived]) -> Iterator[Any]:
        """Yield results, then what goes on, kind by kind."""
        reported = [new_event(Event, raw) for _, _, raw in found if _is_reported(raw)]
        yield from self.writer.results(encode(reported, self.job.output, self.names))
        alike: dict[tuple[str, int], list[Derived]] = {}
        for each in found:
            kind: EventKind = each[2][2]
            if (kind.name, kind.arity) in self.writer.forwards:
                alike.setdefault((kind.name, kind.arity), []).append(each)
        yield from map(self.writer.derived, alike, alike.values())

    def _steps(self, stretch: Stretch) -> Iterator[Step]:
        """Yield the steps of a stretch in order."""
        received, derived = stretch, []
        if self.job.incoming and STEP in stretch.table.column_names:
            is_derived = pc.is_valid(stretch.table[STEP])
            received = sort_table(stretch.table.filter(pc.invert(is_derived)), "us")
            derived = self._groups(stretch.table.filter(is_derived))
        return _merge(self._inputs(received), derived)

    def _inputs(self, stretch: Stretch) -> Iterator[Step]:
        feed = Feed([stretch], self.job.rows, self.signatures)
        with naming_rows(feed):
            for chunk in feed.chunks():
                ids = repeat("") if self.names is None else feed.name(chunk)
                for number, (row, row_id) in enumerate(zip(feed.events(chunk), ids, strict=False)):
                    yield Step(partial(chunk.key, number, feed), row, name=row_id)

    def _groups(self, table: Any) -> list[tuple[bytes, list[tuple[int, Raw]]]]:
        """Return what others derived, by step in order."""
        found: list[Placed] = []
        for forward in self.job.incoming:
            mine, kind = table.filter(pc.equal(table[TAG], forward.tag)), self.kinds[forward.tag]
            columns = [mine[f"s{slot}"].to_pylist() for slot in forward.slots]
            values = read_values(columns, forward.types, mine.num_rows)
            ends, starts = mine[END].to_pylist(), mine[START].to_pylist()
            raws: list[Raw] = [(e, s, kind, *v) for e, s, v in zip(ends, starts, values, strict=True)]
            if self.names is not None:
                made_of = map(self.names.take_in, mine[MADE_OF].to_pylist())
                raws = [(*raw, rope) for raw, rope in zip(raws, made_of, strict=True)]
            found.extend(zip(mine[STEP].to_pylist(), mine[ROUND].to_pylist(), raws, strict=True))
        found.sort(key=itemgetter(0))
        return [(key, [each[1:] for each in several]) for key, several in groupby(found, itemgetter(0))]


def _merge(inputs: Iterator[Step], groups: list[tuple[bytes, list[tuple[int, Raw]]]]) -> Iterator[Step]:
    """Put what others derived between inputs, or into their steps."""
    at = 0
    times = [time_of(key) for key, _ in groups]
    for step in inputs:
        assert step.event is not None
        end = step.event[3]
        while at < len(groups) and times[at] <= end and (times[at] < end or groups[at][0] < step.key):
            yield _foreign(*groups[at])
            at += 1
        if at < len(groups) and times[at] == end and groups[at][0] == step.key:
            step.derived = groups[at][1]
            at += 1
        yield step
    for group in groups[at:]:
        yield _foreign(*group)


def _foreign(key: bytes, derived: list[tuple[int, Raw]]) -> Step:
    """Return a step whose cause is not read here."""
    step = Step.of(key)
    step.derived = derived
    return step


def _is_reported(raw: Raw) -> bool:
    kind: HeadKind = raw[2]
    reported = kind.reported
    return reported if isinstance(reported, bool) else reported(*raw[3 : 3 + kind.arity])
