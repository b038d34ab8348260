"""Declarations that fit a table: its attribute columns with the types that they have, per event that its rows name."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

from etalis.data.files import STANDARD_INPUT, File, find_files
from etalis.errors import InputError, Problem
from etalis.formats.roles import find_roles
from etalis.language.attributes import declaration_text
from etalis.logic.knowledge.arrow_columns import to_list
from etalis.logic.knowledge.cell_values import parse_cell
from etalis.tables.column_types import declarable, type_name
from etalis.tables.read.sources import TableSource, find_source
from etalis.temporal.interval import to_time

_MOST = 100_000  # rows that are looked at
_TEXT = ("csv", "tsv", "jsonl")


def declarations_of(source: Any, *, event: str | None = None, time: str | Sequence[str] | None = None) -> Iterator[str]:
    """Yield a declaration for every event of a table, in the order in which they come.

    >>> rows = [{"event": "w", "at": 1, "card": "c1", "amount": 2.5}, {"event": "login", "at": 2, "user": "ann"}]
    >>> print(*declarations_of(rows), sep="\\n")
    :- event(w(card: string, amount: float)).
    :- event(login(user: string)).
    """
    rows, types = _open(source)
    first = list(islice(rows, _MOST))
    names = list(types or dict.fromkeys(name for row in first for name in row))
    roles = find_roles(names, time=time, event=event)
    tag, free = roles.event, roles.free
    if tag is None and event is None:
        hint = "say which column does, or which event every row is: --event NAME"
        raise InputError(Problem("E403", f"no column names the event; columns: {', '.join(names)}", hint=hint))
    events = [event or ""] if tag is None else list(dict.fromkeys(row[tag] for row in first if row.get(tag)))
    for name in events:
        mine = [row for row in first if tag is None or row.get(tag) == name]
        columns = [c for c in free if tag is None or any(row.get(c) not in (None, "") for row in mine)]
        yield declaration_text(name, [(c, types.get(c) or _type(row.get(c) for row in mine)) for c in columns])


def _open(source: Any) -> tuple[Iterable[Mapping[str, Any]], Mapping[str, str]]:
    """Return rows, and the types of their columns where these have some."""
    if isinstance(source, str | Path):
        if str(source) == STANDARD_INPUT:
            return _json_rows(sys.stdin), {}
        files = find_files(source)
        if files[0].format in _TEXT:
            return _text_rows(files[0]), {}
    found = find_source(source, _MOST, threads=False)
    if not isinstance(found, TableSource):
        return _records(source), {}
    batch = next(iter(found.scan(found.schema.names, None)), None)
    types = {field.name: declarable(type_name(field.type)) for field in found.schema}
    columns = {} if batch is None else {name: to_list(batch[name]) for name in batch.schema.names}
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)), types


def _text_rows(file: File) -> Iterator[Mapping[str, Any]]:
    with file.lines("replace") as lines:
        if file.format == "jsonl":
            yield from _json_rows(lines)
        else:
            yield from csv.DictReader(lines, delimiter="," if file.format == "csv" else "\t")


def _json_rows(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue  # of which a run tells
        if isinstance(record, dict):
            yield {name: _Typed(cell) if isinstance(cell, str) else cell for name, cell in record.items()}


class _Typed(str):
    """A text that is one, whatever it looks like."""

    __slots__ = ()


def _records(rows: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    for row in rows:
        if not isinstance(row, Mapping):
            hint = "rows without names of columns: write the declaration by hand"
            raise InputError(Problem("E406", f"not a row with names: {str(row)[:40]}", hint=hint))
        yield {str(name): _Typed(cell) if type(cell) is str else cell for name, cell in row.items()}


def _type(cells: Iterable[Any]) -> str:
    """Return the type that all cells have."""
    kinds = {_type_of(cell) for cell in cells if cell is not None and cell != ""}
    if kinds == {"int", "float"}:
        return "float"
    if len(kinds) == 1:
        return kinds.pop()
    return "string" if kinds and kinds <= {"int", "float", "time", "string", "bool"} else "any"


def _type_of(cell: Any) -> str:
    match cell:
        case _Typed():
            return "time" if _is_time(cell) else "string"
        case "true" | "false" | "True" | "False":
            return "bool"
        case str():
            found = parse_cell(cell)
            return _type_of(_Typed(cell)) if isinstance(found, str) else _type_of(found)
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case date():
            return "time"
        case _:
            return "term"


def _is_time(text: str) -> bool:
    """Tell whether a text is a moment, written out."""
    if not text[:4].isdecimal() or "-" not in text:
        return False
    try:
        to_time(text)
    except ValueError:
        return False
    return True
