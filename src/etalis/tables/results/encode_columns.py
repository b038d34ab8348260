"""Complex events over columns as rows of the results: attributes in the types of the results, atoms and ids as text.

Law: what comes out is what `output.encode` makes of the same events. An attribute that does not have the type of the
results as it is is written event by event, which says what is wrong, if something is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.columnar.data.batches import InputBatch
from etalis.columnar.data.columns import Column, floats_hold, from_values
from etalis.columnar.data.texts import PlainTexts
from etalis.columnar.derived_events import DerivedEvents
from etalis.data.values import Value, format_value
from etalis.tables.results.output import (
    ARGS,
    ATOM,
    CONTRIBUTORS,
    END,
    EVENT,
    ID,
    MISFITS,
    RULE,
    START,
    Field,
    Output,
    args_text,
    atom_texts,
    attribute,
    converted,
    id_texts,
    joined,
    moments,
    term_text,
)
from etalis.tables.results.row_ids import RowIds
from etalis.temporal.event import Event, EventKind, event_of
from etalis.temporal.json_values import to_plain, to_text

Named: TypeAlias = tuple[str, int]
Writer: TypeAlias = Callable[[Value], str | None]

_EXACT_WHOLE = 1e15  # whole floats below are written without exponent
_PLAIN = (1e-3, 1e9)  # floats between are written by Arrow as by Python
_TRUTH = {"true": True, "false": False, "null": None}


def encode_made(
    kind: Named, made: DerivedEvents, output: Output, labels: Sequence[str], ids: RowIds | None = None
) -> pa.RecordBatch:
    """Return derived events of one kind, which is asked for, as rows; `labels` are those of the rules by number."""
    names = [name for name, _ in output.columns]
    cells = made_cells(kind, made, output, dict(output.kinds)[kind], labels, names)
    if ids is not None:
        cells[CONTRIBUTORS] = ids.of_made(made.numbers, len(made))
    cells[EVENT] = pa.repeat(pa.scalar(kind[0], pa.string()), len(made))
    cells[RULE] = pa.array(labels, pa.string()).take(pa.array(made.rule))
    arrays = [cells[name] if name in cells else pa.nulls(len(made), output.arrow(t)) for name, t in output.columns]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def made_events(kind: Named, made: DerivedEvents, labels: Sequence[str]) -> list[Event]:
    """Return derived events one by one."""
    return [event_of(raw) for raw in made_raws(kind, made, labels)]


def made_raws(kind: Named, made: DerivedEvents, labels: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return derived events one by one as the engine has them."""
    kinds = {int(i): EventKind(*kind, labels[int(i)]) for i in np.unique(made.rule)}
    columns = [column.values() for column in made.columns]
    times = zip(made.end.tolist(), made.start.tolist(), made.rule.tolist(), strict=True)
    return [(e, s, kinds[i], *args) for (e, s, i), *args in zip(times, *columns, strict=True)]


def made_cells(
    kind: Named, made: DerivedEvents, output: Output, fields: Sequence[Field], labels: Sequence[str],
    wanted: Collection[str], times: dict[int, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the columns of results that derived events have, but for the names of their kind and rule.

    `times` holds what arrays of times that live as long have become, by their identity.
    """
    known = {} if times is None else times
    cells: dict[str, Any] = {}
    for name, moment in ((START, made.start), (END, made.end)):
        if id(moment) not in known:
            known[id(moment)] = moments(moment, output)
        cells[name] = known[id(moment)]
    if output.envelope:
        cells[ARGS] = _args(kind, made, labels)
    for place, field in enumerate(fields):
        cell = _cell(made.columns[place], field, output)
        if cell is None:
            cell = attribute(made_events(kind, made, labels), place, field, output.arrow(field.spark))
        cells[field.column] = cell
    if ATOM in wanted or ID in wanted:
        cells[ATOM] = atom_texts(kind[0], [_texts(column, format_value) for column in made.columns], len(made))
    if ID in wanted:
        start, end = (pa.array(times).cast(pa.string()) for times in (made.start, made.end))
        cells[ID] = id_texts(cells[ATOM], start, end)
    return cells


def received_ids(batch: InputBatch, given: pa.Array | None = None) -> pa.Array:
    """Return the ids of the rows of a batch: those given, else what tells events apart (`Event.id`)."""
    count = len(batch.end)
    if given is not None and not given.null_count:
        return given
    parts, places = [], []
    for (name, _), received in batch.events.items():
        atoms = atom_texts(name, [_texts(column, format_value) for column in received.columns], len(received.rows))
        start, end = (pa.array(times[received.rows]).cast(pa.string()) for times in (batch.start, batch.end))
        parts.append(id_texts(atoms, start, end))
        places.append(received.rows)
    rows = np.full(count, -1)
    if places:
        rows[np.concatenate(places)] = np.arange(sum(map(len, places)))
    none = pa.array([""], pa.string())  # of rows that are no events
    made = pa.concat_arrays([*parts, none]).take(pa.array(np.where(rows < 0, sum(map(len, places)), rows)))
    return made if given is None else pc.coalesce(given, made)


def _cell(column: Column, field: Field, output: Output) -> pa.Array | None:
    """Return an attribute in the type of the results, where null is null; None if it does not fit as it is."""
    match field.type, column.type:
        case ("int", "int") | ("float", "float") | ("number", "float"):
            return pa.array(column.data, mask=column.absent)
        case "float", "int":
            return pa.array(column.data.astype(np.float64), mask=column.absent)
        case "number", "int" if floats_hold(column.data):
            return pa.array(column.data.astype(np.float64), mask=column.absent)
        case "number", "number":
            return pa.array(column.data)
        case _, "number":
            return _cell(from_values(column.values(), "term"), field, output)
        case "string", "string":
            if isinstance(column, PlainTexts) and (plain := column.plain) is not None:
                return _without_null(plain).cast(pa.string())
            texts = column.texts
            return _without_null(texts).cast(pa.string()).take(pa.array(column.data))
        case "bool", "string":
            found = column.shrunk()
            texts = found.texts.to_pylist()
            if _TRUTH.keys() >= set(texts):
                return pa.array([_TRUTH[text] for text in texts], pa.bool_()).take(pa.array(found.data))
        case "term", "int" | "float" | "string":
            texts = _texts(column, format_value)
            null = column.absent if column.type != "string" else column.texts.index("null").as_py() == column.data
            return texts if null is None else pc.if_else(pa.array(null), pa.scalar(None, pa.string()), texts)
        case "term", "term":
            try:
                return _texts(column, term_text)
            except OverflowError:
                return None
        case _, "term":
            try:
                return converted(column.data, field, output.arrow(field.spark))
            except MISFITS:  # which is told of its event
                return None
        case _:
            pass
    return None


def _without_null(texts: pa.Array) -> pa.Array:
    """Return texts with no value where the atom null stands."""
    null = pc.equal(texts, "null")
    return pc.if_else(null, pa.scalar(None, texts.type), texts) if pc.any(null).as_py() else texts


def _args(kind: Named, made: DerivedEvents, labels: Sequence[str]) -> pa.Array:
    """Return attributes as JSON."""
    if any(column.type in ("term", "number") for column in made.columns):
        return pa.array(map(args_text, made_events(kind, made, labels)), pa.string())
    return joined("[", [_texts(column, _to_json) for column in made.columns], "]", len(made))


def _texts(column: Column, write: Writer) -> pa.Array:
    """Return values as text: each distinct one written once, numbers by Arrow where it writes them as `write` does."""
    if column.type == "string":
        found = column.shrunk()
        written = pa.array([write(text) for text in found.texts.to_pylist()], pa.string())
        return written.take(pa.array(found.data))
    if column.type in ("term", "number"):
        values = column.values()
        known = {value: write(value) for value in set(values) if type(value) in (int, str)}
        return pa.array([known[x] if type(x) in (int, str) else write(x) for x in values], pa.string())
    texts = pa.array(column.data).cast(pa.string()) if column.type == "int" else float_texts(column.data, write)
    return texts if column.absent is None else pc.if_else(pa.array(column.absent), pa.scalar(write("null")), texts)


def float_texts(numbers: Any, write: Writer) -> pa.Array:
    """Return floats as text.

    >>> float_texts(np.array([1.0, 2.5, -0.0, 1e-7]), repr).to_pylist()
    ['1.0', '2.5', '-0.0', '1e-07']
    """
    size = np.abs(numbers)
    whole = (numbers == np.rint(numbers)) & (size < _EXACT_WHOLE) & (size > 0)
    plain = ~whole & (size >= _PLAIN[0]) & (size < _PLAIN[1])
    integers = pa.array(np.where(whole, numbers, 0).astype(np.int64)).cast(pa.string())
    pointed = pc.binary_join_element_wise(integers, pa.scalar(".0"), "")
    texts = pc.if_else(pa.array(whole), pointed, pa.array(numbers).cast(pa.string()))
    rest = ~(whole | plain)
    if not rest.any():
        return texts
    different, places = np.unique(numbers[rest].view(np.int64), return_inverse=True)
    written = pa.array([write(number) for number in different.view(np.float64).tolist()], pa.string())
    return pc.replace_with_mask(texts, pa.array(rest), written.take(pa.array(places)))


def _to_json(value: Value) -> str:
    return to_text(to_plain(value))
