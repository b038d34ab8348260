"""Rows of a table that cannot be taken, and why: without a time or an event, with NaN, with a value of a wrong type.

Columns are looked at as wholes first, so a clean table costs little; only where one may hold something wrong are its
cells converted one by one. Law: rows that are not refused here can be read (`intake.read_batch`, `feed`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.data.values import Value
from etalis.errors import EtalisError, InputError
from etalis.formats.terms import read_cell_term
from etalis.language.attributes import convert_one
from etalis.logic.knowledge.arrow_columns import in_one, to_list
from etalis.runtime.lateness.watermark import describe_background
from etalis.tables.schema import Part
from etalis.tables.sorting import refuse_row
from etalis.temporal.time_columns import Times, explain_time, is_text, read_times

_LIMIT = 1 << 63
_TRUTHS = pa.array(["true", "false"])


@dataclass(frozen=True, slots=True)
class RefusedRows:
    """Rows of a table, by number, in order, and for each what is wrong with it."""

    rows: Any
    reasons: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.reasons)

    def others(self, count: int) -> Any:
        """Return which of so many rows can be taken, as a mask of Arrow."""
        keep = np.ones(count, bool)
        keep[self.rows] = False
        return pa.array(keep)


NONE = RefusedRows(np.zeros(0, np.int64), ())


@dataclass(frozen=True, slots=True)
class Screened:
    """Rows that can be taken, with their times in microseconds, and those that cannot, of the table as it came."""

    table: Any
    start: Any
    end: Any
    refused: RefusedRows


def find_refused(
    table: Any, times: Sequence[str], unit: str, parts: Sequence[Part], tag: str | None = None,
    made: Collection[str] = (),
) -> RefusedRows:  # fmt: skip
    """Return the rows of a table that cannot be taken.

    `times` are the columns of time, `tag` the one that names the event (None: all rows are of the first part), `made`
    the names of events that only rules make. A row whose event no part reads is not looked at further.
    """
    return _find(table, [read_times(table[name], unit) for name in dict.fromkeys(times)], times, unit, parts, tag, made)


def screen(
    table: Any, times: Sequence[str], unit: str, parts: Sequence[Part], tag: str | None = None,
    made: Collection[str] = (),
) -> Screened:  # fmt: skip
    """Part the rows of a table into those that can be taken and the others, as `find_refused` does."""
    if tag is not None:  # coded once, for all who ask
        coded = _coded(in_one(table[tag]))
        table = table.set_column(table.schema.get_field_index(tag), tag, coded)
    read = [read_times(table[name], unit) for name in dict.fromkeys(times)]
    refused = _find(table, read, times, unit, parts, tag, made)
    start, end = read[0].micros, read[-1].micros
    if not refused and all(each.bad is None for each in read) and (start is end or not (start > end).any()):
        return Screened(table, start, end, NONE)
    keep = start <= end
    keep[refused.rows] = False
    for each in read:  # rows that nobody reads need no time, but nor are they of use
        keep &= True if each.bad is None else ~each.bad
    last = end[keep]
    return Screened(table.filter(pa.array(keep)), last if start is end else start[keep], last, refused)


def _find(
    table: Any, read: Sequence[Times], times: Sequence[str], unit: str, parts: Sequence[Part], tag: str | None,
    made: Collection[str],
) -> RefusedRows:  # fmt: skip
    found: dict[int, str] = {}
    tags = None if tag is None else _coded(in_one(table[tag]))
    if tags is not None:
        _add(found, _unnamed(tags, {part.tag for part in parts}, made))
    _add(found, _wrong_times(table, read, times, unit, tags, parts))
    for part in parts:
        mine: Any = None
        if part.background:
            mine = _rows_of(tags, part.tag, table.num_rows)
            _add(found, _known_predicates(in_one(table[part.columns[1]]), mine, part.background))
        for column, kind in zip(part.columns, part.types, strict=True):
            if not is_clean(in_one(table[column]), kind):
                mine = _rows_of(tags, part.tag, table.num_rows) if mine is None else mine
                _add(found, _wrong_cells(table[column], mine, part, column, kind))
    if not found:
        return NONE
    rows = sorted(found)
    return RefusedRows(np.array(rows, np.int64), tuple(found[row] for row in rows))


def _coded(tags: Any) -> Any:
    return tags if pa.types.is_dictionary(tags.type) else tags.dictionary_encode()


def _add(found: dict[int, str], more: Iterator[tuple[int, str]]) -> None:
    """Note what is wrong with rows; the first thing that is said of a row stays."""
    for row, reason in more:
        found.setdefault(row, reason)


def _rows_of(tags: Any, tag: str, count: int) -> Any:
    """Return the numbers of the rows of one event."""
    if tags is None:
        return np.arange(count)
    code = tags.dictionary.index(tag).as_py()
    return np.flatnonzero(np.asarray(tags.indices.fill_null(-1)) == code) if code >= 0 else np.zeros(0, np.int64)


def _read(tags: Any, parts: Sequence[Part]) -> Any:
    """Return which rows are of an event that is read, None if all are; those of others need no time."""
    if tags is None:
        return None
    known = np.asarray(pc.is_in(tags.dictionary, pa.array([part.tag for part in parts], pa.string())))
    codes = np.asarray(tags.indices.fill_null(0))
    named = np.asarray(tags.is_valid())
    return named & known[codes] if len(known) else named


def _unnamed(tags: Any, known: Collection[str], made: Collection[str]) -> Iterator[tuple[int, str]]:
    if tags.null_count:
        for row in np.flatnonzero(np.asarray(tags.is_null())).tolist():
            yield row, "it names no event"
    for name in sorted(set(made).difference(known)):
        for row in _rows_of(tags, name, len(tags)).tolist():
            yield row, reason_undeclared(name)[0]


def _wrong_times(
    table: Any, read: Sequence[Times], names: Sequence[str], unit: str, tags: Any, parts: Sequence[Part]
) -> Iterator[tuple[int, str]]:
    turned = read[0].micros > read[-1].micros if len(read) == 2 else None
    if all(times.bad is None for times in read) and (turned is None or not turned.any()):
        return
    asked = _read(tags, parts)
    for name, times in zip(dict.fromkeys(names), read, strict=True):
        if times.bad is not None:
            for row in np.flatnonzero(times.bad if asked is None else times.bad & asked).tolist():
                yield row, explain_time(table[name], row, unit)[0]
    if turned is not None:
        for row in np.flatnonzero(turned if asked is None else turned & asked).tolist():
            yield row, "it ends before it starts"


def _known_predicates(column: Any, rows: Any, background: Collection[Value]) -> Iterator[tuple[int, str]]:
    """Yield the rows of triples, of some, whose predicate is background."""
    texts = pa.array([name for name in background if isinstance(name, str)], pa.string())
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not is_text(kind):
        return
    cells = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    known = np.asarray(pc.is_in(cells.cast(pa.string()), texts))
    for row in rows[known[rows]].tolist():
        yield int(row), describe_background(cells[int(row)].as_py())


def _wrong_cells(column: Any, rows: Any, part: Part, name: str, kind: str) -> Iterator[tuple[int, str]]:
    """Yield the rows, of some, whose cell cannot be converted."""
    label = part.attribute(name)
    cells = column.take(pa.array(rows)) if len(rows) < len(column) else column
    if pa.types.is_temporal(cells.type):
        bad = read_times(cells, "s").bad & np.asarray(cells.is_valid())
        for place in np.flatnonzero(bad).tolist():
            yield int(rows[place]), f"{part.kind[0]}: {label}: {explain_time(cells, place, 's')[0]}"
        return
    for row, value in zip(rows.tolist(), to_list(cells), strict=True):
        try:
            known = convert_one(part.kind[0], label, "term" if kind == "any" else kind, value)
        except EtalisError as error:
            yield row, _with_code(error)
            continue
        if kind == "int" and isinstance(known, int) and not -_LIMIT <= known < _LIMIT:
            yield row, f"E607: {part.kind[0]}: {label} is an integer outside 64 bits"


def _with_code(error: EtalisError) -> str:
    first = error.problems[0]
    return f"{first.code}: {first.message}"


def is_clean(array: Any, kind: str) -> bool:
    """Tell whether all cells of a column certainly have a type of the language, without looking at each."""
    if array.null_count == len(array):
        return True
    if pa.types.is_float16(array.type):  # for which Arrow has few functions
        array = array.cast(pa.float32())
    held = array.type
    match kind:
        case "int":
            return _is_whole(array)
        case "float":
            is_number = pa.types.is_integer(held) or pa.types.is_decimal(held)
            return is_number or (pa.types.is_floating(held) and not _has_nan(array))
        case "string":
            return is_text(held) or _is_coded_text(held)
        case "bool":
            return pa.types.is_boolean(held) or _are_truths(array)
        case "time":
            return _are_times(array)
        case "json":
            return True
        case _:
            return _is_plain(array)


def _is_whole(array: Any) -> bool:
    if pa.types.is_uint64(array.type):
        return bool(pc.max(array).as_py() < _LIMIT)
    if pa.types.is_integer(array.type):
        return True
    if not pa.types.is_floating(array.type):
        return False
    whole = pc.and_(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), float(_LIMIT)))
    return bool(pc.all(whole).as_py())


def _has_nan(array: Any) -> bool:
    return bool(pc.any(pc.is_nan(array)).as_py())


def _is_coded_text(kind: Any) -> bool:
    return pa.types.is_dictionary(kind) and is_text(kind.value_type)


def _are_truths(array: Any) -> bool:
    texts = array.dictionary if _is_coded_text(array.type) else array
    return is_text(texts.type) and bool(pc.all(pc.is_in(texts, _TRUTHS)).as_py())


def _are_times(array: Any) -> bool:
    if pa.types.is_boolean(array.type):
        return False
    times = read_times(array, "s")
    return times.bad is None or not (times.bad & np.asarray(array.is_valid())).any()


def _is_plain(array: Any) -> bool:
    held = array.type
    if pa.types.is_floating(held):
        return not _has_nan(array)
    flat = (pa.types.is_integer, pa.types.is_boolean, is_text, _is_coded_text)
    return any(is_one(held) for is_one in flat)


def cells_of(array: Any, kind: str) -> list[Any]:
    """Return cells as Python objects; of text that is declared `term`, each different one is read once."""
    values = to_list(array)
    if kind != "term" or not (is_text(array.type) or pa.types.is_dictionary(array.type)):
        return values
    known = {text: text if text is None else read_cell_term(text) for text in set(values)}
    return [known[text] for text in values]


def undeclared(tag: str) -> InputError:
    """Return the refusal of rows of an event that only rules make."""
    return refuse_row(*reason_undeclared(tag))


def reason_undeclared(tag: str) -> tuple[str, str]:
    """Say that rows name an event that only rules make, and what to do."""
    hint = f"rules derive {tag}; to receive it as well, declare it: `:- event({tag}(attribute: type, ...)).`"
    return f"rows name the event {tag}, which is not declared", hint
