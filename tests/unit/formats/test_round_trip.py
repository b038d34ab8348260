"""What is written is read back as it was: compound terms too, where they are declared `term`."""

from __future__ import annotations

from pathlib import Path

import pytest

import etalis
from etalis.data.values import Struct
from etalis.formats import feed, read, write
from etalis.formats.row import reading_of

MADE = etalis.compile("d(T, S, N) <- a(T, S, N).")
AGAIN = etalis.compile(":- event(d(t: term, s: string, n: int)). e(T, S, N) <- d(T, S, N).")
VALUES = [(Struct("f", ["x y", (1, 2.5)]), "007", 7), (("p", "q"), "Basel (BS", -1), (Struct("g", [1]), "a,b", 0)]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather", "jsonl", "events"])
def test_terms_come_back(ending: str, tmp_path: Path) -> None:
    engine = MADE.engine()
    made = [event for at, args in enumerate(VALUES) for event in engine.push("a", *args, at=at)]
    path = tmp_path / f"made.{ending}"
    write(made, path)
    found = list(feed(AGAIN.engine(), read(path, reading_of(AGAIN.compiled))))
    assert [event.args for event in found] == VALUES
    if ending != "events":
        table = AGAIN.detect(str(path), select="e")
        assert table["T"].to_pylist() == ["f('x y',[1,2.5])", "[p,q]", "g(1)"]
        assert table["S"].to_pylist() == [text for _, text, _ in VALUES]
