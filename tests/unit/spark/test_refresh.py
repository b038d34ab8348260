"""Facts that change while a stream runs: versions, what keeps the old ones, and batches that are run again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import etalis
from etalis.errors import InputError, SnapshotError
from etalis.logic.knowledge.loaders import load_rows
from etalis.spark.knowledge import refresh
from etalis.spark.knowledge.mirrored_frames import Mirror
from etalis.spark.knowledge.refresh import KEPT, TableWatch, find_tables, read_version
from etalis.spark.knowledge.shipped import NOTHING, pack
from etalis.spark.stream.streaming import refreshing
from etalis.spark.stream.worker import live_shards
from etalis.temporal.event import Event
from helpers.micro_batches import Stream, plan_stream

SECOND = 10**6
TEXT = "d(X, L) <- a(X) where level(X, L). p(X) <- a(X) seq b(X) where level(X, high)."


def facts(version: Any) -> list[Any]:
    return [row for _, rows in version.read() for row in rows.rows]


def write(path: Path, *rows: str) -> None:
    """Put a table in the place of another one, whole."""
    aside = path.with_suffix(".new")
    aside.write_text("\n".join(["x,l", *rows]) + "\n")
    os.replace(aside, path)


@pytest.fixture
def levels(tmp_path: Path) -> Path:
    write(tmp_path / "levels.csv", "1,low", "2,high")
    return tmp_path / "levels.csv"


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    yield
    refresh._say_once.cache_clear()
    read_version.cache_clear()
    live_shards.cache_clear()


def test_a_version_is_what_tables_hold(tmp_path: Path, levels: Path) -> None:
    watch = TableWatch(find_tables({"level": levels}, "batch"), str(tmp_path / "state"))
    first = watch.look("")
    assert watch.look(first) == first
    assert facts(read_version(str(tmp_path / "state"), first)) == [(1, "low"), (2, "high")]
    write(levels, "1,high")
    second = watch.look(first)
    assert facts(read_version(str(tmp_path / "state"), second)) == [(1, "high")]
    write(levels, "1,low", "2,high")
    assert watch.look(second) == first
    again = TableWatch(find_tables({"level": str(levels)}, {"level": "batch"}), str(tmp_path / "state"))
    assert again.look(second) == first


def test_a_table_is_read_again_when_it_is_due(tmp_path: Path, levels: Path) -> None:
    now = 0.0
    watch = TableWatch(find_tables({"level": levels}, "30 seconds"), str(tmp_path / "state"), lambda: now)
    first = watch.look("")
    write(levels, "1,high")
    now = 29.0
    assert watch.look(first) == first
    now = 30.0
    assert watch.look(first) != first


@pytest.mark.parametrize("damage", ["gone", "columns", "broken"])
def test_what_cannot_be_read_keeps_the_old_facts(
    tmp_path: Path, levels: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    tables = find_tables({"level": levels}, "batch")
    watch = TableWatch(tables, str(tmp_path / "state"))
    first = watch.look("")
    match damage:
        case "gone":
            levels.unlink()
        case "columns":
            levels.write_text("x\n1\n")
        case _:
            levels.write_bytes(b"x,l\n\xff\xfe,1\n")
    assert watch.look(first) == first
    assert watch.look(first) == first
    assert [record.message.splitlines()[-1] for record in caplog.records] == ["the facts stay as they were (E625)"]
    fresh = TableWatch(tables, str(tmp_path / "state"))  # after a restart
    assert fresh.look(first) == first
    with pytest.raises(InputError):
        TableWatch(tables, str(tmp_path / "state")).look("")
    write(levels, "7,high")
    assert facts(read_version(str(tmp_path / "state"), watch.look(first))) == [(7, "high")]


def test_one_table_of_two_cannot_be_read_for_a_while(tmp_path: Path, levels: Path) -> None:
    other = tmp_path / "other.csv"
    write(other, "9,low")
    kept = other.read_bytes()
    watch = TableWatch(find_tables({"level": levels, "other": other}, "batch"), str(tmp_path / "state"))
    first = watch.look("")
    write(levels, "1,high")
    other.rename(tmp_path / "aside")
    assert watch.look(first) == first
    (tmp_path / "aside").rename(other)
    assert other.read_bytes() == kept
    assert facts(read_version(str(tmp_path / "state"), watch.look(first))) == [(1, "high"), (9, "low")]


def test_old_versions_go(tmp_path: Path, levels: Path) -> None:
    watch = TableWatch(find_tables({"level": levels}, "batch"), str(tmp_path / "state"))
    for number in range(KEPT + 3):
        write(levels, f"{number},low")
        last = watch.look("")
    assert len(list((tmp_path / "state" / "facts").iterdir())) == KEPT
    assert facts(read_version(str(tmp_path / "state"), last)) == [(KEPT + 2, "low")]


def test_a_version_that_is_lost_or_damaged(tmp_path: Path, levels: Path) -> None:
    state = tmp_path / "state"
    version = TableWatch(find_tables({"level": levels}, "batch"), str(state)).look("")
    (path,) = (state / "facts").iterdir()
    for content in (path.read_bytes()[:-20], path.read_bytes().replace(b"high", b"hugh"), b""):
        path.write_bytes(content)
        with pytest.raises(SnapshotError, match=r"E626.*damaged"):
            read_version(str(state), version)
    path.unlink()
    with pytest.raises(SnapshotError, match=r"E626.*not there"):
        read_version(str(state), version)


@pytest.mark.parametrize(
    ("knowledge", "refreshed", "wrong"),
    [
        ({"level": [(1, "low")]}, "batch", "list, which cannot be read again"),
        ({}, "batch", "refreshed names no table"),
        ({"level": "levels.csv"}, {"other": "batch"}, "refreshed names other, not in knowledge"),
        ({"level": "levels.csv"}, "often", "refreshed is 'often'"),
    ],
)
def test_what_is_refused(knowledge: dict[str, Any], refreshed: Any, wrong: str) -> None:
    with pytest.raises(InputError, match=f"E605.*{wrong}"):
        find_tables(knowledge, refreshed)


class Frame:
    """Gives a table as a DataFrame does."""

    def __init__(self, *rows: tuple[int, str]) -> None:
        self.table = pa.table({"x": [x for x, _ in rows], "l": [level for _, level in rows]})

    def toArrow(self) -> pa.Table:  # noqa: N802
        return self.table


def test_a_file_holds_what_a_dataframe_gives(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    now, path = 0.0, tmp_path / "level.arrow"
    given = [
        Frame((1, "low"), (2, "high")),
        Frame((2, "high"), (1, "low")),
        Frame((1, "high")),
        None,
        Frame((5, "low")),
    ]
    mirror = Mirror(lambda: given.pop(0), str(path), 30.0, lambda: now)
    mirror.look()
    first = path.read_bytes()
    assert load_rows(path).rows == [(1, "low"), (2, "high")]
    mirror.look_again()
    assert len(given) == 4  # not due
    for written in (first, None, None):
        now += 30
        mirror.look_again()
        assert written in (None, path.read_bytes())  # another order is no change
    assert load_rows(path).rows == [(1, "high")]
    assert [record.message.splitlines()[-1] for record in caplog.records] == ["the facts stay as they were (E625)"]
    mirror.look_again()  # due, since nothing was read
    assert load_rows(path).rows == [(5, "low")]


# shards


def event(name: str, x: int, at: float) -> Event:
    return Event.make(name, (x,), int(at * SECOND), int(at * SECOND))


def make(state: Path, **options: Any) -> Stream:
    program = etalis.compile(TEXT)
    program.load_facts("level", [(3, "fixed")])
    found = plan_stream(program, [event("a", 1, 0), event("b", 1, 0)], str(state), **options)
    assert found is not None
    return replace(found, tasks=refreshing(found.tasks, pack(program.compiled)))


def run(stream: Stream, number: int, *events: Event, clock: float, version: str | None = None) -> list[Any]:
    told = [] if version is None else [f"\0facts:{version}"]
    found = stream.run(number, stream.rows(enumerate(events)), clock=int(clock * SECOND), told=told)
    return sorted((row["event"], row["args"]) for row in found)


@pytest.mark.parametrize("shards", [1, 3])
def test_a_batch_sees_the_version_it_is_told_also_when_run_again(tmp_path: Path, levels: Path, shards: int) -> None:
    stream = make(tmp_path / "state", shards=shards)
    watch = TableWatch(find_tables({"level": levels}, "batch"), str(tmp_path / "state"))
    first = watch.look("")
    rows = [event("a", x, 1) for x in (1, 2, 3)]
    wanted = [("d", '[1, "low"]'), ("d", '[2, "high"]'), ("d", '[3, "fixed"]')]
    assert run(stream, 0, *rows, clock=5, version=first) == wanted
    write(levels, "1,high")
    second = watch.look(first)
    rows = [event(name, x, at) for name, at in (("a", 6), ("b", 7)) for x in (1, 2)]
    assert run(stream, 1, event("a", 1, 6), event("a", 2, 6), clock=9) == wanted[:2]  # told nothing, so as before
    wanted = [("d", '[1, "high"]'), ("p", "[1]")]  # b finds an a that came before the facts changed
    for again in range(3):
        if again:
            live_shards.cache_clear()
        found = run(stream, 2, event("b", 1, 12), event("b", 2, 12), event("a", 1, 13), clock=15, version=second)
        assert found == wanted
    assert run(stream, 3, event("a", 1, 16), clock=20) == [("d", '[1, "high"]')]


def test_without_any_version(tmp_path: Path) -> None:
    stream = make(tmp_path / "state")
    with pytest.raises(SnapshotError, match="E626"):
        run(stream, 0, event("a", 1, 1), clock=5)


def test_not_on_arrival(tmp_path: Path) -> None:
    found = plan_stream(etalis.compile(TEXT), [event("a", 1, 0)], str(tmp_path), reporting="on_arrival", lateness=5)
    assert found is not None
    with pytest.raises(InputError, match="E605"):
        refreshing(found.tasks, NOTHING)
