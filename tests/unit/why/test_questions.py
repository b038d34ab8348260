"""Questions as people put them: of files and tables with dates, with options that cannot be, of other engines."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import etalis
from etalis.errors import EventError, OptionError, ProgramError

PAID = etalis.compile(
    ":- event(login(user: string)). :- event(pay(user: string, amount: float)). "
    "paid(U, A) <- (login(U) seq pay(U, A)) within 1 h. lost(U) <- login(U) seq (not pay(U, _) within 1 h)."
)
NINE, TEN = (datetime(2026, 3, 2, hour, tzinfo=UTC) for hour in (9, 10))
ROWS = [
    {"event": "login", "at": NINE, "user": "ann", "amount": None},
    {"event": "pay", "at": TEN, "user": "ann", "amount": 5.0},
    {"event": "login", "at": TEN, "user": "bob", "amount": None},
]
TABLE = pa.Table.from_pylist(ROWS)


def as_columns(name: str) -> pa.Table:
    found = TABLE.filter(pa.compute.equal(TABLE["event"], name)).drop_columns(["event"])
    return found.drop_columns(["amount"]) if name == "login" else found


SOURCES: Mapping[str, Any] = {
    "rows": ROWS,
    "Arrow": TABLE,
    "pandas": TABLE.to_pandas(),
    "a table per event": {"login": as_columns("login"), "pay": as_columns("pay")},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SOURCES)
def test_tables_are_run_to_their_end_and_times_are_those_of_the_table(name: str) -> None:
    found = PAID.justify(SOURCES[name], "paid(ann, _)", policy="unrestricted")
    assert "paid(ann, 5.0) [2026-03-02T09:00:00Z, 2026-03-02T10:00:00Z]" in str(found)
    missing = str(PAID.why_not(SOURCES[name], "paid(bob, _)", policy="unrestricted", repair=True))
    assert "after 2026-03-02T10:00:00Z, up to 2026-03-02T11:00:00Z  missing: " in missing
    assert "at 2026-03-02T10:00:00.000001Z (proved smallest)" in missing
    assert PAID.justify(SOURCES[name], "lost(bob)").root.end == int(TEN.timestamp() + 3600) * 10**6


@pytest.mark.filterwarnings("ignore")
def test_files_and_columns_of_other_names(tmp_path: Path) -> None:
    lines = "kind,ms,user,amount\nlogin,1000,ann,\npay,2000,ann,7\n"
    (tmp_path / "e.csv").write_text(lines)
    columns: dict[str, Any] = {"time": "ms", "event": "kind", "unit": "ms"}
    assert PAID.justify(tmp_path / "e.csv", "paid(ann, 7.0)", **columns).root.end == 2 * 10**6
    table = pa.table({"kind": ["login"], "ms": [1000], "user": ["ann"], "amount": pa.array([None], pa.float64())})
    assert "after 1, up to 3601" in str(PAID.why_not(table, "paid(ann, _)", **columns))
    (tmp_path / "dates.csv").write_text("event,at,user,amount\nlogin,2026-03-02T09:00:00Z,ann,\n")
    assert "after 2026-03-02T09:00:00Z" in str(PAID.why_not(str(tmp_path / "dates.csv"), "paid(ann, _)"))


def run() -> etalis.Engine:
    engine = etalis.compile("c(X) <- a(X) seq b(X).").engine(justification="full", policy="unrestricted")
    for name, value, at in (("a", 1, 1), ("b", 1, 2), ("a", 2, 3)):
        engine.push(name, value, at=at)
    return engine


@pytest.mark.parametrize("question", ["c(1) seq d", "c(1), d", "c(1) within 5", "c(1) ntimes 3", "-c(1)"])
def test_a_question_is_one_event(question: str) -> None:
    engine = run()
    for ask in (engine.justify, engine.why_not, engine.repair):
        with pytest.raises(ProgramError, match="E113: a question is one event, not a pattern with"):
            ask(question)


def test_a_question_is_a_text() -> None:
    with pytest.raises(TypeError, match="a question is a text such as 'fraud\\(c1, _\\)', not 5"):
        run().why_not(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": 1, "between": (1, 2)}, "at and between are given"),
        ({"at": 2, "interval": (1, 2)}, "at and interval are given"),
        ({"limit": 0}, "limit=0 cannot be"),
        ({"budget": 0}, "budget=0 cannot be"),
        ({"depth": -1}, "depth=-1 cannot be"),
        ({"limit": "many"}, "limit='many' cannot be"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=f"E343: {message}"):
        run().why_not("c(2)", **options)


def test_options_of_other_questions() -> None:
    engine = run()
    with pytest.raises(OptionError, match="E343: at and interval are given"):
        engine.justify("c(1)", at=2, interval=(1, 2))
    with pytest.raises(OptionError, match="E343: limit=0 cannot be"):
        engine.justify("c(1)", all=True, limit=0)
    with pytest.raises(OptionError, match="E343: there is no rule 'nix'\n  hint: rules: 1"):
        engine.partial("nix")
    assert len(engine.partial("1")) == 2


def test_an_event_of_another_engine() -> None:
    (other,) = etalis.compile("c(X) <- a(X).").engine(justification="full").push("a", 7, at=1)
    with pytest.raises(EventError, match=r"E341: in this engine c\(7\) .* did not occur") as refused:
        run().justify(other)
    assert "engine.why_not('c(7)', interval=(1, 1))" in str(refused.value)


def test_an_equal_event_of_another_engine_is_explained_as_it_occurred_here() -> None:
    (other,) = etalis.compile("c(X) <- z(X).").engine(justification="full").push("z", 1, at=(1, 2))
    assert "by rule 1: c(X) <- a(X) seq b(X)." in str(run().justify(other))


def test_an_input_that_has_not_come() -> None:
    assert str(run().why_not("b(9)")) == (
        "b(9) did not occur: no rule makes b/1: it is received, and none that is asked for has come"
    )
