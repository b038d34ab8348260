"""Where tables come from: what is read of files, in which batches, and what is said of those that cannot be read."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import etalis
from etalis.errors import InputError
from etalis.tables.read.sources import open_source, prefetch
from etalis.tables.schema import Options

pytestmark = pytest.mark.fast

ROWS = 40
TABLE = pa.table({
    "at": list(range(ROWS)), "event": ["a", "b"] * (ROWS // 2), "x": [i // 2 for i in range(ROWS)],
    "s": [f"s{i // 2 % 7}" for i in range(ROWS)],
})  # fmt: skip
PAIRS = etalis.compile("d(X, S) <- a(X, S) seq b(X, S).", event_consumption_policy="chronological")


def sizes(source: object, batch: int) -> list[int]:
    return [len(part) for part in open_source(source, batch, 1, PAIRS.compiled, Options()).scan(["at", "event"], None)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch", [1, 7, 1_000])
def test_files_of_a_folder_need_not_be_alike(threads: int, batch: int, tmp_path: Path) -> None:
    parts = [TABLE.slice(i * 10, 10) for i in range(4)]
    parts[1] = parts[1].select(["s", "x", "event", "at"])
    parts[2] = parts[2].set_column(2, "x", parts[2]["x"].cast(pa.int32())).append_column("more", pa.array([1] * 10))
    for i, part in enumerate(parts):
        pq.write_table(part, tmp_path / f"{i}.parquet", row_group_size=4)
    found = PAIRS.detect(tmp_path, time="at", event="event", threads=threads, batch=batch)
    assert found.equals(PAIRS.detect(TABLE, time="at", event="event"))
    assert found.num_rows == ROWS // 2


def test_small_parts_are_put_together_and_large_ones_are_not(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(TABLE, path, row_group_size=4)
    assert sizes(path, 10) == [8, 8, 8, 8, 8]
    assert sizes(path, 1_000) == [40]
    assert sizes(path, 3) == [3, 1] * 10
    assert sizes(TABLE.to_reader(max_chunksize=4), 10) == [8, 8, 8, 8, 8]
    assert sizes(TABLE.to_reader(), 10) == [40]
    assert sizes(TABLE, 15) == [15, 15, 10]


def test_texts_that_are_coded_anew_in_every_row_group(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(TABLE.slice(1), path, row_group_size=3)
    (part,) = open_source(path, 1_000, 1, PAIRS.compiled, Options()).scan(["s"], None)
    assert pa.types.is_dictionary(part.schema.field("s").type)
    assert part["s"].to_pylist() == TABLE["s"].to_pylist()[1:]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_file_of_a_folder_that_is_broken_is_named(threads: int, tmp_path: Path) -> None:
    for i in range(2):
        pq.write_table(TABLE.slice(i * 20, 20), tmp_path / f"{i}.parquet")
    second = tmp_path / "1.parquet"
    whole = second.read_bytes()
    second.write_bytes(whole[:4] + b"\xff" * 200 + whole[204:])
    with pytest.raises(InputError, match=r"E402: .*1\.parquet: "):
        PAIRS.detect(tmp_path, time="at", event="event", threads=threads)
    second.write_bytes(whole[:100])
    with pytest.raises(InputError, match=r"E402: .*1\.parquet: "):
        PAIRS.detect(tmp_path, time="at", event="event", threads=threads)


@pytest.mark.parametrize("other", [pa.array(["u"] * 20), pa.array([[1]] * 20), pa.array([1.5] * 20)])
def test_a_file_of_a_folder_whose_types_do_not_fit_is_named(other: pa.Array, tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 20), tmp_path / "0.parquet")
    pq.write_table(TABLE.slice(20, 20).set_column(2, "x", other), tmp_path / "1.parquet")
    with pytest.raises(InputError, match=r"E402: .*1\.parquet: [\s\S]*types of the first file"):
        PAIRS.detect(tmp_path, time="at", event="event")


def test_a_folder_without_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"E401: .*: no file of a known format"):
        PAIRS.detect(tmp_path, time="at", event="event")


def test_a_line_that_breaks_far_into_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    lines = [f"a,{at},1" for at in range(2_000)]
    path.write_text("\n".join(["event,at,x", *lines, "b,2000", ""]))
    program = etalis.compile("d(X) <- a(X) seq b(X).")
    letters: list[etalis.DeadLetter] = []
    assert program.detect(path, time="at", event="event", on_dead_letter=letters.append).num_rows == 0
    (letter,) = letters
    assert letter.reason.endswith("rows.csv:2002:1: error E406: expected 3 cells, found 2")


def test_what_is_read_ahead_ends_with_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(TABLE, path, row_group_size=4)
    before = threading.active_count()
    parts = prefetch(open_source(path, 4, 2, PAIRS.compiled, Options()).scan(["at"], None))
    assert next(parts)["at"].to_pylist() == [0, 1, 2, 3]
    assert threading.active_count() > before
    parts.close()
    assert threading.active_count() == before


def test_options_that_are_no_keys_are_taken_as_others_are() -> None:
    program = etalis.compile(":- event(a(x: int)). d(X) <- a(X).")
    rows = pa.table({"begin": [1, 2], "until": [2, 4], "x": [7, 8]})
    times: Any = ["begin", "until"]
    lists = program.detect(rows, time=times, event="a")
    assert lists.equals(program.detect(rows, time=("begin", "until"), event="a"))
    assert lists["end"].to_pylist() == [2, 4]


@pytest.mark.parametrize("batch", [7, 20, 1_000])
def test_a_table_may_have_chunks_without_a_row(batch: int) -> None:
    none = TABLE.slice(0, 0)
    parts = pa.concat_tables([none, TABLE.slice(0, 20), none, none, TABLE.slice(20), none])
    assert PAIRS.detect(parts, batch=batch).equals(PAIRS.detect(TABLE))


@pytest.mark.parametrize("batch", [1, 2, 3, 8])
def test_rows_that_end_together_are_in_order_wherever_batches_end(batch: int, tmp_path: Path) -> None:
    program = etalis.compile(":- event(a(x: int)). m(X) <- a(X).")
    table = pa.table({"start": [3, 5, 1, 2, 5, 4, 4, 3], "end": [5, 5, 5, 5, 6, 6, 6, 6], "x": list(range(8))})
    pq.write_table(table, tmp_path / "rows.parquet")
    for source in (table, tmp_path / "rows.parquet"):
        found = program.detect(source, event="a", time=("start", "end"), batch=batch)
        assert found["X"].to_pylist() == [2, 3, 0, 1, 7, 5, 6, 4]


@pytest.mark.parametrize("batch", [1, 2, 4])
def test_moments_stay_in_order_behind_a_batch_that_is_not(batch: int) -> None:
    program = etalis.compile(":- event(a(x: float)). m(X) <- a(X).")
    batches = [pa.record_batch({"at": at, "x": [0.0] * len(at)}) for at in ([2.0, 1.0], [3.0, 4.0], [5.0, 6.0])]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    found = program.detect(reader, event="a", time="at", batch=batch)
    assert found["end"].to_pylist() == [1, 2, 3, 4, 5, 6]
