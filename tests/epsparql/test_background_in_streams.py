"""A streamed triple whose predicate is background is a dead letter, at whatever door it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import etalis
from etalis.runtime.lateness.watermark import DeadLetter

pytestmark = pytest.mark.filterwarnings("ignore::etalis.ProgramWarning")

S, VALUE, ROOM = "<http://x/s>", "<http://x/value>", "<http://x/room>"
KNOWN = [(S, ROOM, "<http://x/lab>")]
ALL = "SELECT ?p ?o { ?s ?p ?o }"
COLUMNS: dict[str, list[Any]] = {"s": [S] * 3, "p": [VALUE, ROOM, VALUE], "o": [1, 2, 3], "at": [1, 2, 3]}
ROWS = [("rdf", S, p, o, at) for p, o, at in zip(COLUMNS["p"], COLUMNS["o"], COLUMNS["at"], strict=True)]
DICTS = [dict(zip(("event", "s", "p", "o", "at"), row, strict=True)) for row in ROWS]
Pushes = Callable[[etalis.Engine], Iterable[etalis.Event]]


def each(take: Callable[[etalis.Engine, str, int, int], Iterable[etalis.Event]]) -> Pushes:
    return lambda engine: [match for _, _, p, o, at in ROWS for match in take(engine, p, o, at)]


ENGINE_DOORS: MappingProxyType[str, Pushes] = MappingProxyType(
    {
        "push": each(lambda e, p, o, at: e.push("rdf", S, p, o, at=at)),
        "push by name": each(lambda e, p, o, at: e.push("rdf", s=S, p=p, o=o, at=at)),
        "push an event": each(lambda e, p, o, at: e.push(etalis.Event("rdf", S, p, o, start=at, end=at))),
        "push_term": each(lambda e, p, o, at: e.push_term(f"rdf('{S}', '{p}', {o})", at=at)),
        "push_triple": each(lambda e, p, o, at: e.push_triple(S, p, o, at=at)),
        "push_graph": each(lambda e, p, o, at: e.push_graph(f"{S} {p} {o} .", at=at)),
        "run tuples": lambda e: e.run(ROWS),
        "run dicts": lambda e: e.run(DICTS),
        "run events": lambda e: e.run([etalis.Event("rdf", S, p, o, start=at, end=at) for _, _, p, o, at in ROWS]),
        "run columns": lambda e: e.run({"event": ["rdf"] * 3, **COLUMNS}),
    }
)
FLAGS: tuple[dict[str, Any], ...] = (
    {},
    {"out_of_order": "on", "ooo_window": 1},
    {"revision_flag": "on", "revision_window": 9, "reporting": "on_arrival"},
)


@pytest.mark.parametrize("flags", FLAGS, ids=["in order", "late", "corrected"])
@pytest.mark.parametrize("door", ENGINE_DOORS)
def test_an_engine_buries_it(door: str, flags: dict[str, Any]) -> None:
    letters: list[DeadLetter] = []
    program = etalis.compile_sparql(ALL, background=KNOWN, **flags)
    engine = program.engine(on_dead_letter=letters.append)
    found = [*ENGINE_DOORS[door](engine), *engine.close()]
    assert [match.args for match in found] == [(VALUE, 1), (VALUE, 3)]
    assert [(x.args, x.cause, x.start) for x in letters] == [((S, ROOM, 2), "background", 2)]
    assert "streamed=" in letters[0].reason


def test_a_program_with_graphs_buries_it() -> None:
    letters: list[DeadLetter] = []
    program = etalis.compile_sparql("SELECT ?p ?o { STREAM <http://x/t> { ?s ?p ?o } }", background=KNOWN)
    engine = program.engine(on_dead_letter=letters.append)
    for p in (ROOM, VALUE):
        engine.push("rdf", S, p, 1, "null", "<http://x/t>", at=1)
    assert [x.args[1] for x in letters] == [ROOM]


def test_without_anyone_who_takes_dead_letters_it_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    engine = etalis.compile_sparql(ALL, background=KNOWN).engine()
    for at in (1, 2):
        assert engine.push("rdf", S, ROOM, 1, at=at) == ()
    assert engine.dead_letter_count == 2
    assert sum("is background" in record.message for record in caplog.records) == 1


def test_what_else_is_wrong_is_told_as_ever() -> None:
    engine = etalis.compile_sparql(ALL, background=KNOWN).engine()
    with pytest.raises(etalis.EventError, match="E30"):
        engine.push("rdf", S, ROOM, 1, at="noon")
    with pytest.raises(etalis.EventError, match="E30"):
        list(engine.run([("rdf", S, ROOM, 1, "noon")]))
    with pytest.raises(etalis.EventError, match="rdf takes 3 attributes, not 2"):
        engine.push("rdf", S, ROOM, at=1)
    assert engine.push("other", S, ROOM, 1, at=2) == ()
    assert engine.dead_letter_count == 0


TABLES: MappingProxyType[str, Callable[[], Any]] = MappingProxyType(
    {
        "arrow": lambda: pa.table(COLUMNS),
        "arrow, coded": lambda: pa.table({**COLUMNS, "p": pa.array(COLUMNS["p"]).dictionary_encode()}),
        "pandas": lambda: pd.DataFrame(COLUMNS),
        "polars": lambda: pl.DataFrame(COLUMNS),
        "dicts": lambda: DICTS,
        "tuples": lambda: ROWS,
    }
)


@pytest.mark.parametrize("event", [None, "rdf"])
@pytest.mark.parametrize("source", TABLES)
def test_a_table_rejects_it(source: str, event: str | None) -> None:
    table = TABLES[source]()
    if event is not None and isinstance(table, list):
        return  # these rows name their event
    letters: list[Any] = []
    found = etalis.compile_sparql(ALL, background=KNOWN).detect(table, event=event, on_dead_letter=letters.append)
    assert found["end"].to_pylist() == [1, 3]
    assert [ROOM in letter.reason for letter in letters] == [True]


def test_a_file_of_columns_rejects_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pd.DataFrame({"event": ["rdf"] * 3, **COLUMNS}).to_csv(path, index=False)
    letters: list[Any] = []
    found = etalis.compile_sparql(ALL, background=KNOWN).detect(path, on_dead_letter=letters.append)
    assert (found["end"].to_pylist(), len(letters)) == ([1, 3], 1)
