"""Every reader asks one module which column plays which part, so all of them answer alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import etalis
from etalis.formats.roles import find_roles, signatures_read
from etalis.formats.row import reading_of
from etalis.formats.table import open_table
from etalis.pipeline.arrangement import AT, EVENT, ORDER, Arranger
from etalis.pipeline.spec import read_pipeline
from etalis.tables.declare import declarations_of
from etalis.tables.schema import Options, TableSchema, read_frames

TEXT = ":- event(w(card: string, n: int)).\ntwo(C) <- w(C, _) seq w(C, _) within 5 s."
ROWS = (
    (["event", "at", "card", "n"], None, None, None),
    (["type", "ts", "card", "n"], None, None, None),
    (["Kind", "WHEN", "card", "n"], "when", "kind", None),
    (["at", "type", "card", "n"], "type", "at", None),  # asked for, against the usual names
    (["event", "time", "card", "n", "rank"], None, None, "Rank"),
    (["start", "end", "at", "card", "n", "event"], None, None, None),
)


@pytest.mark.parametrize(("columns", "time", "event", "order"), ROWS)
def test_all_readers_agree(
    columns: list[str], time: str | None, event: str | None, order: str | None, tmp_path: Path
) -> None:
    roles = find_roles(columns, time=time, event=event, order=order)
    program = etalis.compile(TEXT).compiled
    types = {name: "bigint" if name in (*roles.times, "n", roles.order) else "string" for name in columns}
    (frame,) = read_frames([TableSchema(types)], signatures_read(program), Options(time, event, order))
    assert (frame.event, frame.times, frame.order) == (roles.event, roles.times, roles.order)
    table = open_table(columns, reading_of(program, time=time, event=event), "rows", lambda cell, *_: str(cell))
    assert (named(columns, [table.event_column]), named(columns, table.time_columns)) == ([roles.event], [*roles.times])
    if order is None:
        (declared,) = declarations_of([dict.fromkeys(columns, "w")], time=time, event=event)
        assert declared == f":- event(w({', '.join(f'{name}: string' for name in roles.free)}))."
    renamed = arranged(columns, time, event, order, tmp_path)
    assert renamed.pop(EVENT) == roles.event
    assert renamed.pop(AT) == roles.times[0]
    assert renamed.pop(ORDER, None) == roles.order
    assert [*renamed] == [*roles.free]


def named(columns: Sequence[str], places: Sequence[int | None]) -> list[str | None]:
    return [None if place is None else columns[place] for place in places]


def arranged(
    columns: list[str], time: str | None, event: str | None, order: str | None, folder: Path
) -> dict[str, str]:
    """Return the columns of a source in a pipeline by the names they get there."""
    keys = {"time": time, "event_column": event, "order": order}
    written = "\n".join(f'{key} = "{value}"' for key, value in keys.items() if value is not None)
    file = folder / "p.toml"
    file.write_text(
        f'[program]\nfiles = "p.etalis"\n[[source]]\nformat = "parquet"\npath = "x"\n{written}\n'
        '[[sink]]\nformat = "console"\n'
    )
    found = Arranger(read_pipeline(file), ["w"]).arrange(0, dict.fromkeys(columns, "bigint"), [])
    assert found is not None
    return {new: old for old, new in found.names}
