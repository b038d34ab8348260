"""One shard of one stage: rows and what earlier stages derived in, through a relay, results and what goes on out.

Law: the rules of a stage make what they make in one engine with all rules (`runtime.relay`), because rows and derived
events are taken in the order of their steps, and each derived event in its round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from etalis.runtime.compiled import CompiledProgram
from etalis.runtime.core import EngineOptions
from etalis.runtime.engine import RuntimeEngine
from etalis.runtime.stage_engine import Derived, Relay, Step
from etalis.runtime.state import HeadKind, Raw
from etalis.runtime.step_keys import time_of
from etalis.spark.batch import stage_schema as wire
from etalis.spark.batch.feed import Feed
from etalis.spark.batch.rejections import naming_remedy, screened
from etalis.spark.batch.shard import BATCH, Job, load, naming_rows, rare_collections
from etalis.spark.batch.stage_schema import FROM, ROUND, STEP, UNTIL, Forward
from etalis.spark.execution_mode import stage_columns
from etalis.tables.results.output import encode
from etalis.tables.sorting import END, ORDER, START, TAG, Sorter, Stretch, sort_table
from etalis.temporal.event import Event, EventKind, new_event
from etalis.temporal.time_columns import to_micros

Placed = tuple[bytes, int, Raw]  # key of the step, round, event


@dataclass(frozen=True, slots=True)
class Relayed:
    """What one stage does: its rules, what comes to it from earlier ones, what goes on to later ones.

    `passing` are tags of rows from earlier stages that later ones read, whether this one reads them too or not.
    """

    job: Job
    rules: tuple[int, ...]
    incoming: tuple[Forward, ...]
    outgoing: tuple[Forward, ...]
    passing: frozenset[str]
    is_last: bool


def run_stage(relayed: Relayed, batches: Iterable[Any]) -> Iterator[Any]:
    """Run one shard of one stage; errors of conditions go to the log."""
    with naming_remedy(relayed.job):
        yield from _run_stage(relayed, screened(relayed.job, batches))


def _run_stage(relayed: Relayed, batches: Iterable[Any]) -> Iterator[Any]:
    job = relayed.job
    sorter = Sorter("us", job.memory)
    schema: Any = None
    for batch in batches:
        schema = wire.schema_of(batch.schema, job.output)
        through, rows = wire.split(batch, relayed.passing, {forward.tag for forward in relayed.incoming})
        if through is not None:
            yield wire.carried(through, job.output) if relayed.is_last else through
        for part in in_microseconds(rows, job.unit):
            sorter.add(part)
    if schema is None:
        return
    program = load(job)
    own = program.taking(relayed.rules)
    run = stage_columns(relayed, own, job.on_error)
    if run is not None:
        from etalis.spark.batch.stage_columns import StageShard

        with rare_collections():
            yield from StageShard(relayed, run, schema).results(sorter.stretches())
        return
    relay = Relay(RuntimeEngine(own, EngineOptions(on_error=job.on_error)))
    writer = Writer(relayed, schema)
    with rare_collections():
        for step in Steps(relayed, program).of(sorter.stretches()):
            writer.add(relay.take(step))
            if len(writer) >= BATCH:
                yield from writer.batches()
        writer.add(relay.close())
        yield from writer.batches()


def in_microseconds(batch: Any, unit: str) -> Iterator[Any]:
    """Yield the received and the derived rows of a batch with times of one form, and without columns of results."""
    names = [name for name in batch.schema.names if name in (TAG, STEP, ROUND) or name[0] == "s" or name == ORDER]
    if STEP not in batch.schema.names:
        yield _timed(batch, names, to_micros(batch[START], unit), to_micros(batch[_last(batch)], unit))
        return
    is_derived = pc.is_valid(batch[STEP])
    received, derived = batch.filter(pc.invert(is_derived)), batch.filter(is_derived)
    if received.num_rows:
        yield _timed(received, names, to_micros(received[START], unit), to_micros(received[_last(batch)], unit))
    if derived.num_rows:
        yield _timed(derived, names, derived[FROM], derived[UNTIL])


def _last(batch: Any) -> str:
    return END if END in batch.schema.names else START


def _timed(batch: Any, names: list[str], start: Any, end: Any) -> Any:
    columns = [*(batch[name] for name in names), pa.array(start), pa.array(end)]
    return pa.RecordBatch.from_arrays(columns, names=[*names, START, END])


class Steps:
    """The steps of a run, in order, from sorted rows."""

    def __init__(self, relayed: Relayed, program: CompiledProgram) -> None:
        self.rows = relayed.job.rows
        self.signatures = program.signatures
        self.incoming = {forward.tag: forward for forward in relayed.incoming}
        self.kinds = {forward.tag: EventKind(*forward.kind) for forward in relayed.incoming}

    def of(self, stretches: Iterable[Stretch]) -> Iterator[Step]:
        """Yield the steps of stretches that follow each other in time."""
        for stretch in stretches:
            received, derived = stretch, []
            if STEP in stretch.table.column_names:
                is_derived = pc.is_valid(stretch.table[STEP])
                received = sort_table(stretch.table.filter(pc.invert(is_derived)), "us")
                derived = self._groups(stretch.table.filter(is_derived))
            yield from _merge(self._inputs(received), derived)

    def _inputs(self, stretch: Stretch) -> Iterator[Step]:
        feed = Feed([stretch], self.rows, self.signatures)
        with naming_rows(feed):
            for chunk in feed.chunks():
                for number, row in enumerate(feed.events(chunk)):
                    yield Step(partial(chunk.key, number, feed), row)

    def _groups(self, table: Any) -> list[tuple[bytes, list[tuple[int, Raw]]]]:
        """Return what others derived, by step in order."""
        found: list[Placed] = []
        for tag, forward in self.incoming.items():
            mine = table.filter(pc.equal(table[TAG], tag))
            columns = [mine[f"s{slot}"].to_pylist() for slot in forward.slots]
            values = wire.read_values(columns, forward.types, mine.num_rows)
            ends, starts = mine[END].to_pylist(), mine[START].to_pylist()
            raws = [(e, s, self.kinds[tag], *v) for e, s, v in zip(ends, starts, values, strict=True)]
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


class Writer:
    """Gathers what a relay derived, and writes it as results and as rows for later stages."""

    def __init__(self, relayed: Relayed, schema: Any) -> None:
        self.output = relayed.job.output
        self.schema = schema
        self.is_last = relayed.is_last
        self.forwards = {forward.kind: forward for forward in relayed.outgoing}
        self.found: list[Derived] = []

    def add(self, derived: list[Derived]) -> None:
        """Take what a step derived."""
        self.found += derived

    def __len__(self) -> int:
        return len(self.found)

    def batches(self) -> Iterator[Any]:
        """Yield what there is."""
        found, self.found = self.found, []
        results = encode([new_event(Event, raw) for _, _, raw in found if _is_reported(raw)], self.output)
        if results.num_rows:
            yield results if self.is_last else wire.write_results(results, self.schema)
        alike: dict[tuple[str, int], list[Derived]] = {}
        for each in found:
            kind: EventKind = each[2][2]
            if (kind.name, kind.arity) in self.forwards:
                alike.setdefault((kind.name, kind.arity), []).append(each)
        for named, several in alike.items():
            yield wire.write_derived(several, self.forwards[named], self.schema)


def _is_reported(raw: Raw) -> bool:
    kind: HeadKind = raw[2]
    reported = kind.reported
    return reported if isinstance(reported, bool) else reported(*raw[3 : 3 + kind.arity])
