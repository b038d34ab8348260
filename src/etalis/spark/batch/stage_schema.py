"""What travels between the stages of a program: received rows, derived events with step and round, and results.

One schema for all three. Derived events have their attributes in slots like received ones, as columns where the rules
show the type for certain, else as program text; results are carried through later stages as they are. Law: an event
that was written and read again is the same, its place in the run included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from etalis.data.values import Value, format_value, real
from etalis.formats.terms import read_value
from etalis.plan.keys import Kind, show
from etalis.runtime.stage_engine import Derived
from etalis.spark.batch.input_names import InputNames
from etalis.tables.results.output import Field, Output, attribute
from etalis.tables.sorting import END, ID, ORDER, START, TAG, Sorter
from etalis.temporal.event import Event, new_event
from etalis.temporal.time_columns import to_micros

if TYPE_CHECKING:
    from etalis.spark.batch.job import Job

STEP, ROUND, FROM, UNTIL = "_step", "_round", "_from", "_until"
MADE_OF = "_made_of"  # the names of the rows that a derived event is made of
RESULT = "\2"  # the tag of a result
_COLUMNS = {STEP: "binary", ROUND: "int", FROM: "bigint", UNTIL: "bigint"}
TRANSPORT: Mapping[str, str] = {"int": "bigint", "float": "double", "string": "string", "bool": "boolean"}
_ARROW: Mapping[str, pa.DataType] = {
    STEP: pa.binary(), ROUND: pa.int32(), FROM: pa.int64(), UNTIL: pa.int64(), MADE_OF: pa.binary(),
    "int": pa.int64(), "float": pa.float64(), "string": pa.string(), "bool": pa.bool_(),
}  # fmt: skip


def forward_tag(kind: Kind) -> str:
    """Return the tag of derived events of a kind; no received row has it."""
    return f"\1{show(kind)}"


def derived_columns(output: Output) -> dict[str, str]:
    """Return the columns that derived events have beside their attributes, with their types."""
    return _COLUMNS | ({MADE_OF: "binary"} if output.contributors else {})


def result_columns(output: Output) -> dict[str, str]:
    """Return the columns of results as they travel, with their types."""
    return {f"r{i}": column_type for i, (_, column_type) in enumerate(output.columns)}


class StageWriter:
    """Writes what leaves a stage: results, and derived events that later stages read; `received` is its input."""

    def __init__(self, job: Job, received: pa.Schema | None, names: InputNames | None = None) -> None:
        self.names = names  # of inputs, where contributors are told
        self.is_last = job.is_last
        self.forwards = {forward.kind: forward for forward in job.outgoing}
        self.schema = received
        if received is not None and STEP not in received.names:
            added = [pa.field(name, _ARROW[name]) for name in derived_columns(job.output)]
            results = [pa.field(name, job.output.arrow(t)) for name, t in result_columns(job.output).items()]
            self.schema = pa.schema([*received, *added, *results])

    def results(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield results, if there are any, as rows that leave the stage."""
        if batch.num_rows:
            columns = {f"r{i}": column for i, column in enumerate(batch.columns)}
            yield batch if self.is_last else self._fill(RESULT, columns, batch.num_rows)

    def derived(self, kind: Kind, several: Sequence[Derived]) -> pa.RecordBatch:
        """Return derived events of one kind as rows for later stages."""
        forward = self.forwards[kind]
        raws = [new_event(Event, raw) for _, _, raw in several]
        columns = {
            STEP: pa.array([step.key for step, _, _ in several], _ARROW[STEP]),
            ROUND: pa.array([number for _, number, _ in several], _ARROW[ROUND]),
            FROM: pa.array([raw.start_time for raw in raws], _ARROW[FROM]),
            UNTIL: pa.array([raw.end_time for raw in raws], _ARROW[UNTIL]),
        }
        if self.names is not None:
            columns[MADE_OF] = self.names.coded(raws)
        for i, (slot, slot_type) in enumerate(zip(forward.slots, forward.types, strict=True)):
            columns[f"s{slot}"] = _cells(raws, i, slot_type)
        return self._fill(forward.tag, columns, len(several))

    def _fill(self, tag: str, columns: dict[str, pa.Array], count: int) -> pa.RecordBatch:
        """Return rows of a tag in the schema between stages, null where there is no column."""
        assert self.schema is not None
        columns[TAG] = pa.repeat(pa.scalar(tag, pa.string()), count)
        arrays = [columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _cells(events: Sequence[Event], place: int, slot_type: str) -> pa.Array:
    if slot_type in TRANSPORT:
        return attribute(events, place, Field(f"attribute {place + 1}", slot_type), _ARROW[slot_type])
    return pa.array([format_value(event.args[place]) for event in events], pa.string())


def split_passing(batch: pa.RecordBatch, job: Job) -> tuple[list[pa.RecordBatch], pa.RecordBatch]:
    """Return the rows that pass through as they leave a stage, and those that its rules take; some are both."""
    if STEP not in batch.schema.names:
        return [], batch
    passes = pc.is_in(batch[TAG], pa.array([RESULT, *job.passing], pa.string()))
    if not pc.any(passes).as_py():
        return [], batch
    mine = [forward.tag for forward in job.incoming]
    here = pc.or_(pc.invert(passes), pc.is_in(batch[TAG], pa.array(mine, pa.string())))
    through = batch.filter(passes)
    if job.is_last:  # only results come through
        names = [name for name, _ in job.output.columns]
        through = pa.RecordBatch.from_arrays([through[f"r{i}"] for i in range(len(names))], names=names)
    return [through], batch.filter(here)


def split_derived(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return the received rows, without the columns of others, and what earlier stages derived."""
    if STEP not in table.column_names:
        return table, table.slice(0, 0)
    names = [name for name in table.column_names if name in (TAG, START, END, ORDER, ID) or name[0] == "s"]
    is_derived = pc.is_valid(table[STEP])
    return table.filter(pc.invert(is_derived)).select(names), table.filter(is_derived)


class StageSorter(Sorter):
    """Takes the received and the derived rows of a stage, then gives them back in order."""

    def __init__(self, job: Job) -> None:
        super().__init__("us" if job.incoming else job.unit, job.memory)
        self._job = job

    def add(self, batch: pa.RecordBatch) -> None:
        """Take some rows; where derived rows may come, whose times are in microseconds, all get such times."""
        for part in _in_microseconds(batch, self._job.unit) if self._job.incoming else (batch,):
            super().add(part)


def _in_microseconds(batch: pa.RecordBatch, unit: str) -> Iterator[pa.RecordBatch]:
    """Yield the received and the derived rows of a batch with times of one form, and without columns of results."""
    kept = (TAG, STEP, ROUND, MADE_OF, ORDER, ID)
    names = [name for name in batch.schema.names if name in kept or name[0] == "s"]
    is_derived = pc.is_valid(batch[STEP]) if STEP in batch.schema.names else pa.repeat(False, batch.num_rows)
    last = END if END in batch.schema.names else START
    received, derived = batch.filter(pc.invert(is_derived)), batch.filter(is_derived)
    if received.num_rows:
        yield _timed(received, names, to_micros(received[START], unit), to_micros(received[last], unit))
    if derived.num_rows:
        yield _timed(derived, names, derived[FROM], derived[UNTIL])


def _timed(batch: pa.RecordBatch, names: list[str], start: Any, end: Any) -> pa.RecordBatch:
    columns = [*(batch[name] for name in names), pa.array(start), pa.array(end)]
    return pa.RecordBatch.from_arrays(columns, names=[*names, START, END])


def read_values(columns: Iterable[Sequence[Any]], types: Sequence[str], count: int) -> list[tuple[Value, ...]]:
    """Return the attributes of derived events from their columns."""
    read = [list(map(_READ.get(t, _from_text), column)) for column, t in zip(columns, types, strict=True)]
    return list(zip(*read, strict=True)) if read else list(repeat((), count))


def _plain(cell: Any) -> Value:
    return "null" if cell is None else cell


def _float(cell: Any) -> Value:
    return "null" if cell is None else real(cell)


def _bool(cell: Any) -> Value:
    return "null" if cell is None else "true" if cell else "false"


def _from_text(cell: Any) -> Value:
    return read_value(cell)


_READ: Mapping[str, Any] = {"int": _plain, "float": _float, "string": _plain, "bool": _bool}
