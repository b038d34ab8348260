"""Rows that wait between micro-batches, made to fit a program that has changed since they came.

Attributes travel in slots, which a program's rules choose. With a row goes what its slots were, so that another
program finds its attributes again by the names of their columns.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from etalis.errors import Problem, SnapshotError
from etalis.tables.sorting import END, START, TAG

Layouts: TypeAlias = tuple[tuple[str, tuple[tuple[str, int], ...]], ...]  # per tag: the columns and their slots


def fit_rows(held: Any, before: Layouts, schema: Any, now: Layouts) -> Any:
    """Return rows that wait in the columns of a schema; those that no rule reads any more are left out."""
    if before == now and held.schema.equals(schema):
        return held
    theirs = {tag: dict(columns) for tag, columns in before}
    parts = [schema.empty_table()]
    for tag, columns in now:
        rows = held.filter(pc.equal(held[TAG], tag))
        if rows.num_rows:
            parts.append(_fit_tag(rows, tag, theirs[tag], dict(columns), schema))
    return pa.concat_tables(parts)


def _fit_tag(rows: Any, tag: str, before: dict[str, int], now: dict[str, int], schema: Any) -> Any:
    missing = [column for column in now if column not in before]
    if missing:
        message = f"rows of {tag} that wait have no {', '.join(missing)}, which the changed rules read"
        hint = "begin anew with another checkpointLocation, or change the rules when no row of this event waits"
        raise SnapshotError(Problem("E623", message, hint=hint))
    slots = {f"s{slot}": f"s{before[column]}" for column, slot in now.items()}
    columns = []
    for wanted in schema:
        name = slots.get(wanted.name, wanted.name)
        if name not in rows.column_names or (wanted.name[0] == "s" and wanted.name not in slots):
            name = START if wanted.name == END else ""
        columns.append(rows[name].cast(wanted.type) if name else pa.nulls(rows.num_rows, wanted.type))
    return pa.table(columns, schema=schema)


def waiting_rows(held: Any, layouts: Layouts) -> list[str]:
    """Say which rows wait that a changed program has no place for."""
    if held is None or not held.num_rows:
        return []
    known = {tag for tag, _ in layouts}
    counts = Counter(tag for tag in held[TAG].to_pylist() if tag not in known)
    return [f"{count} rows of {tag} that wait" for tag, count in sorted(counts.items())]


def write_held(held: Any) -> bytes:
    """Return rows that wait as bytes."""
    if held is None:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, held.schema) as writer:
        writer.write_table(held)
    return bytes(sink.getvalue().to_pybytes())


def read_held(data: bytes) -> Any:
    """Return rows that wait; None if none ever did."""
    if not data:
        return None
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_all()
