"""What travels between the stages of a program: received rows, derived events with step and round, and results.

One schema for all three. Derived events have their attributes in slots like received ones, as columns where the rules
show the type for certain, else as program text; results are carried through later stages as they are. Law: an event
that was written and read again is the same, its place in the run included.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from etalis.data.values import Value, format_value, real
from etalis.formats.terms import read_value
from etalis.plan.keys import Kind, show
from etalis.runtime.stage_engine import Derived
from etalis.spark.batch.feed import Rows
from etalis.tables.results.output import Field, Output, attribute
from etalis.tables.sorting import TAG
from etalis.temporal.event import Event, new_event

STEP, ROUND, FROM, UNTIL = "_step", "_round", "_from", "_until"
RESULT = "\2"  # the tag of a result
COLUMNS = {STEP: "binary", ROUND: "int", FROM: "bigint", UNTIL: "bigint"}
TRANSPORT: Mapping[str, str] = {"int": "bigint", "float": "double", "string": "string", "bool": "boolean"}
_ARROW: Mapping[str, pa.DataType] = {
    STEP: pa.binary(), ROUND: pa.int32(), FROM: pa.int64(), UNTIL: pa.int64(),
    "int": pa.int64(), "float": pa.float64(), "string": pa.string(), "bool": pa.bool_(),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Forward:
    """A kind that goes on to later stages: the tag of its rows, and per attribute its slot and its type."""

    kind: Kind
    tag: str
    slots: tuple[int, ...]
    types: tuple[str, ...]

    @property
    def rows(self) -> Rows:
        """How its rows become events."""
        return Rows(self.tag, self.kind[0], self.slots, self.types)


def forward_tag(kind: Kind) -> str:
    """Return the tag of derived events of a kind; no received row has it."""
    return f"\1{show(kind)}"


def result_columns(output: Output) -> dict[str, str]:
    """Return the columns of results as they travel, with their types."""
    return {f"r{i}": column_type for i, (_, column_type) in enumerate(output.columns)}


def write_derived(several: Sequence[Derived], forward: Forward, schema: pa.Schema) -> pa.RecordBatch:
    """Return derived events of one kind as rows of a schema."""
    raws = [new_event(Event, raw) for _, _, raw in several]
    columns = {
        TAG: pa.repeat(pa.scalar(forward.tag, pa.string()), len(several)),
        STEP: pa.array([step.key for step, _, _ in several], _ARROW[STEP]),
        ROUND: pa.array([number for _, number, _ in several], _ARROW[ROUND]),
        FROM: pa.array([raw.start_time for raw in raws], _ARROW[FROM]),
        UNTIL: pa.array([raw.end_time for raw in raws], _ARROW[UNTIL]),
    }
    for i, (slot, slot_type) in enumerate(zip(forward.slots, forward.types, strict=True)):
        columns[f"s{slot}"] = _cells(raws, i, slot_type)
    return fill(columns, len(several), schema)


def _cells(events: Sequence[Event], place: int, slot_type: str) -> pa.Array:
    if slot_type in TRANSPORT:
        return attribute(events, place, Field(f"attribute {place + 1}", slot_type), _ARROW[slot_type])
    return pa.array([format_value(event.args[place]) for event in events], pa.string())


def write_results(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return results as rows of a schema."""
    columns = {f"r{i}": column for i, column in enumerate(batch.columns)}
    columns[TAG] = pa.repeat(pa.scalar(RESULT, pa.string()), batch.num_rows)
    return fill(columns, batch.num_rows, schema)


def schema_of(received: pa.Schema, output: Output) -> pa.Schema:
    """Return the schema in which a stage hands on, from that of the rows that came."""
    if STEP in received.names:
        return received
    added = [pa.field(name, _ARROW[name]) for name in COLUMNS]
    results = [pa.field(name, output.arrow(column_type)) for name, column_type in result_columns(output).items()]
    return pa.schema([*received, *added, *results])


def fill(columns: Mapping[str, pa.Array], count: int, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch of a schema, null where there is no column."""
    arrays = [columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def split(
    batch: pa.RecordBatch, passing: Collection[str], incoming: Collection[str]
) -> tuple[pa.RecordBatch | None, pa.RecordBatch]:
    """Return the rows that pass through as they are, if any, and those that the engine takes; some are both."""
    if STEP not in batch.schema.names:
        return None, batch
    passes = pc.is_in(batch[TAG], pa.array([RESULT, *passing], pa.string()))
    if not pc.any(passes).as_py():
        return None, batch
    here = pc.or_(pc.invert(passes), pc.is_in(batch[TAG], pa.array(list(incoming), pa.string())))
    return batch.filter(passes), batch.filter(here)


def carried(batch: pa.RecordBatch, output: Output) -> pa.RecordBatch:
    """Return results that came through as they leave the last stage."""
    names = [name for name, _ in output.columns]
    return pa.RecordBatch.from_arrays([batch[f"r{i}"] for i in range(len(names))], names=names)


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
