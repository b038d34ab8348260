"""`etalis.spark.testing`: what users' tests call, and how a failure reads."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import etalis
import etalis.testing
from etalis.cases.case_file import read_cases
from etalis.errors import InputError
from etalis.spark.testing import check_case, detect_frame, detect_rows

pytestmark = pytest.mark.spark

CASES = """% in time: a payment within a minute
program:
:- event(sent(id: int, amount: float)).
paid_soon(Id) <- (sent(Id, A) seq paid(Id, B)) within 60 where A =:= B.
events:
0 sent(1, 5); 59..60 paid(1, 5.0); 61 paid(2, 1.0)
expect:
0..60 paid_soon(1)
---
% wrong on purpose
program:
d(X) <- a(X).
events:
1 a(1); 2 a(2)
expect:
1 d(1); 3 d(3)
---
% refused
program:
d(X) <- a.
error:
E204 unsafe
---
% open
close: no
program:
d <- a.
expect:
"""


def test_cases(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "some.case").write_text(CASES)
    good, wrong, refused, unfinished = read_cases(tmp_path / "some.case")
    check_case(spark, good)
    check_case(spark, good, batches=2)
    check_case(spark, refused)
    with pytest.raises(AssertionError) as caught:
        check_case(spark, wrong, shards=2)
    assert str(caught.value).splitlines() == [
        f"{tmp_path / 'some.case'}:10: some/wrong-on-purpose on spark",
        "  missing     3 d(3)",
        "    nearest   2 d(2): it starts at 2, it ends at 2, attribute 1 is 2",
        "  unexpected  2 d(2)",
    ]  # fmt: skip
    with pytest.raises(InputError, match="E413"):
        check_case(spark, unfinished)


def test_the_backend_of_etalis_testing(spark: Any, tmp_path: Path) -> None:
    """It takes the session that there is."""
    (tmp_path / "some.case").write_text(CASES)
    good, wrong, *_ = read_cases(tmp_path / "some.case")
    etalis.testing.check_case(good, ["engine", "spark"])
    with pytest.raises(AssertionError, match="some/wrong-on-purpose on spark\n  missing     3 d"):
        etalis.testing.check_case(wrong, "spark")


def test_rows_as_an_engine_takes_them(spark: Any) -> None:
    program = etalis.compile(":- event(a(x: int, y: string)). d(X, Z) <- a(X, Y) seq b(Z, Y).", rule_sharing="off")
    rows = [("a", 1, None, 0.5), {"event": "a", "at": (1, 2), "x": 2, "y": "k"}, ("b", [1, 2], "k", 3), ("c", 9, 4)]
    engine = program.engine()
    wanted = [*engine.run(rows), *engine.close()]
    assert [str(match) for match in wanted] == ["d(2, [1,2]) [1, 3]"]
    assert detect_rows(spark, program, rows) == wanted
    assert detect_rows(spark, etalis.compile("e <- 30. d <- a."), []) == [etalis.Event.make("e", (), *[30 * 10**6] * 2)]
    with pytest.raises(InputError, match="attribute 1 of b/2 is int64 and string, but a column has one type"):
        detect_rows(spark, program, [("b", 1, "k", 0), ("b", "x", "k", 1)])


def test_rows_as_a_stream(spark: Any) -> None:
    """The same in any number of micro-batches, late rows and absence included; what is too late is left out."""
    program = etalis.compile("d(X) <- (a(X) seq b(X)) within 9. alone(X) <- a(X) seq (not b(X) within 100).")
    rows = [("a", 1, 0), ("a", 2, 3), ("b", 1, 4), ("a", 4, 20), ("b", 2, 20), ("a", 3, 2), ("b", 3, 5)]
    engine = program.engine()
    wanted = [*engine.run(sorted(rows, key=lambda row: row[-1])), *engine.close()]
    assert [str(match) for match in wanted] == ["d(1) [0, 4]", "d(3) [2, 5]", "alone(4) [20, 120]"]
    assert detect_rows(spark, program, rows, batches=3, shards=2) == wanted
    assert detect_rows(spark, program, rows, batches=3, lateness=5) == [wanted[0], wanted[2]]


def test_frames(spark: Any) -> None:
    """Times are those of the data, whatever the zone of session and machine."""
    moment = datetime(2026, 7, 1, 12, tzinfo=UTC)
    df = spark.createDataFrame([(moment, 1)], "ts timestamp, x int")
    (match,) = detect_frame(spark, etalis.compile("d(X) <- a(X)."), df, time="ts")
    assert (match.args, match.start_datetime) == ((1,), moment)
