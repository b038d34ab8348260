"""Files by address: folders, patterns, compressions, other file systems; what is said where there are none."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import etalis
from etalis.data.files import find_files
from etalis.errors import InputError

PROGRAM = etalis.compile("d(X) <- a(X).")
LINES = "event,at,x\na,1,7\na,2,8\n"


def xs(source: object) -> list[int]:
    return sorted(PROGRAM.detect(source)["X"].to_pylist())


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_text_is_decompressed(ending: str, tmp_path: Path) -> None:
    write = {
        "": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
        ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
    }[ending]  # fmt: skip
    path = tmp_path / f"events.csv{ending}"
    path.write_bytes(write(LINES.encode()))
    assert xs(path) == [7, 8]
    assert xs(path.as_uri()) == [7, 8]
    assert etalis.compile("f(X) :- g(_, _, X).").load_facts("g", path) == 2


def test_folders_and_patterns(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.csv").write_text(f"event,at,x\na,{number},{number}\n")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.txt").write_text("no events")
    assert xs(tmp_path) == [1, 2]
    assert xs(f"{tmp_path}/*.csv") == [1, 2]
    assert xs(f"{tmp_path}/[2].csv") == [2]
    pyarrow.parquet.write_table(pa.table({"event": ["a"], "at": [3], "x": [3]}), tmp_path / "3.parquet")
    with pytest.raises(InputError, match="files of several formats: csv, parquet"):
        xs(tmp_path)
    assert xs(f"{tmp_path}/*.parquet") == [3]


def test_what_is_not_there(tmp_path: Path) -> None:
    for missing in (tmp_path / "none.csv", f"{tmp_path}/*.csv", (tmp_path / "none.csv").as_uri()):
        with pytest.raises(InputError, match="E401"):
            find_files(missing)
    with pytest.raises(InputError, match="no file of a known format"):
        find_files(tmp_path)
    with pytest.raises(InputError, match=r"E412|E401"):
        find_files("nowhere://bucket/events.csv")
    truncated = tmp_path / "cut.csv.gz"
    truncated.write_bytes(gzip.compress(LINES.encode())[:-12])
    with pytest.raises(InputError, match="E401"):
        xs(truncated)
