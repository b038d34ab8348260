"""Why and why not of matches on Spark, without Spark: which rows a question needs, and what the process answers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import etalis
from etalis.errors import InputError
from etalis.plan.reach import find_reach
from etalis.spark.asking import FetchedRows, MatchRow
from etalis.spark.batch.rejecting import leave_out
from etalis.spark.plan.question import Wanted, keep_rows
from etalis.temporal.event import Event
from etalis.why.justification import Justification
from etalis.why.why_not import WhyNot
from helpers.spark_shuffle import make_table, plan_events, run_rows

SECOND = 10**6
PAIRS = "d(K, X, Y) <- (a(K, X) seq b(K, Y)) within 10. e(K) <- d(K, X, X)."


class Rows:
    """Rows as Spark has them, with what was asked for and what was collected."""

    def __init__(self, text: str, events: Sequence[Event], *, policy: str | None = "unrestricted", ids: bool = True):
        program = etalis.compile(text)
        options: dict[str, Any] = {"policy": policy, "shards": 1, "ordered": True, "staged": False}
        plan = plan_events(program, events, **options, contributors=ids)
        assert plan is not None
        self.ids = [f"r{number}" for number in range(1, len(events) + 1)] if ids else None
        self.plan = leave_out(plan)
        self.events = events
        self.table = make_table(plan, events, ordered=True, ids=self.ids)
        self.collected: list[int] = []
        self.asked = FetchedRows(self.plan, self.fetch)

    def fetch(self, wanted: Wanted) -> Any:
        found = pa.Table.from_batches([*keep_rows(self.plan.job, wanted, self.table.to_batches(4))])
        self.collected.append(found.num_rows)
        return found

    def results(self) -> list[dict[str, Any]]:
        return run_rows(self.plan, self.events, ordered=True, ids=self.ids)

    def why(self, row: dict[str, Any]) -> Justification:
        return self.asked.why(MatchRow.of(row))


def many(count: int = 200) -> list[Event]:
    found = [Event("ab"[n % 2], n % 5, n % 3, at=n) for n in range(count)]
    return [*found, Event("a", 77, 1, at=500), Event("b", 77, 1, at=505)]


def inputs(found: Justification) -> list[str]:
    """The inputs of a justification."""
    nodes = json.loads(found.to_json())["nodes"]
    return sorted(node["atom"] for node in nodes if node["kind"] == "received")


def test_a_match_is_explained_from_its_contributors() -> None:
    rows = Rows(PAIRS, many())
    row = next(r for r in rows.results() if r["event"] == "e" and r["args"] == "[77]")
    found = rows.why(row)
    assert rows.collected == [2]
    assert inputs(found) == ["a(77, 1)", "b(77, 1)"]
    assert found.root.atom == "e(77)"


def test_every_match_has_the_same_answer_with_and_without_contributors() -> None:
    rows = Rows(PAIRS, many(60))
    results = rows.results()
    assert len(results) > 20
    for row in results:
        told = rows.why(row)
        bare = rows.why({name: cell for name, cell in row.items() if name != "contributors"})
        assert inputs(told) == inputs(bare)


def test_without_contributors_key_and_window_choose_the_rows() -> None:
    rows = Rows(PAIRS, many(), ids=False)
    row = next(r for r in rows.results() if r["event"] == "d" and json.loads(r["args"])[0] == 3)
    key, x, y = json.loads(row["args"])
    assert inputs(rows.why(row)) == [f"a({key}, {x})", f"b({key}, {y})"]
    assert rows.collected == [3]


def test_ids_that_rows_have_by_themselves_find_them() -> None:
    rows = Rows(PAIRS, many(), ids=False)
    row = next(r for r in rows.results() if r["event"] == "e" and r["args"] == "[77]")
    given = {**row, "contributors": ["a(77, 1)@500000000..500000000", "b(77, 1)@505000000..505000000"]}
    assert inputs(rows.why(given)) == ["a(77, 1)", "b(77, 1)"]
    assert rows.collected == [2]


def test_a_consumed_past_is_read_as_a_whole() -> None:
    """Which a is left for a b depends on all that came before it."""
    rows = Rows("d <- (a(K, _) seq b(K, _)) within 10.", many(40), policy="chronological", ids=False)
    row = rows.results()[-1]
    rows.why(row)
    last = row["end"]
    assert rows.collected == [sum(event.end_time <= last for event in rows.events)]


def test_contributors_that_alone_make_something_else_are_not_believed() -> None:
    """Of the contributors alone x would occur, since y, which blocks it, is none of them."""
    text = "x <- a seq b cnot y. m <- a seq c cnot x."
    events = [Event("a", at=1), Event("y", at=2), Event("b", at=3), Event("c", at=4)]
    rows = Rows(text, events)
    (row,) = [r for r in rows.results() if r["event"] == "m"]
    assert row["contributors"] == ["r1", "r4"]
    assert inputs(rows.why(row)) == ["a", "c"]


def test_a_match_that_cannot_be_explained_is_refused() -> None:
    rows = Rows(PAIRS, many(20))
    row = rows.results()[0]
    cases = [
        ("E640", {"event": "d"}), ("E640", 7), ("E641", {**row, "contributors": ["r1", "gone"]}),
        ("E642", {"match_id": "d(1, 2, 99)@1000000..2000000"}),
    ]  # fmt: skip
    for code, given in cases:
        with pytest.raises(InputError) as refused:
            rows.why(given)  # type: ignore[arg-type]
        assert refused.value.code == code


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("m <- a.", 0),
        ("m <- (a seq b) within 10.", 10),
        ("m <- a seq b.", None),
        ("m <- (((a seq b) within 3) seq c) within 10.", 10),
        ("d <- (a seq b) within 10. m <- (d seq c) within 5.", 15),
        ("m <- a seq (not b within 4).", 4),
        ("m(R) <- aggregate(count, a, R) within 7.", 7),
        ("m <- a. n(R) <- aggregate(count, m, R) within 7.", 0),
        ("m(R) <- aggregate(count, a, R) last 7.", None),
        ("m <- ((a seq b) within 2) or ((b seq c) within 9).", 9),
        ("m <- a. m <- (m seq a) within 2.", None),
        ("m <- (b ntimes 2) within 5.", None),
        ("m <- ((a seq b) within 6) cnot c.", 6),
        ("m <- ((iso(a seq b)) within 6).", None),
    ],
)
def test_how_far_back_an_event_reaches(text: str, reach: int | None) -> None:
    program = etalis.compile(text).compiled
    arity = next(head.kind[1] for head in program.plans("unrestricted") if head.kind[0] == "m")
    found = find_reach(program.plans("unrestricted"), ("m", arity))
    assert found == (None if reach is None else reach * SECOND)


def test_a_policy_that_consumes_reaches_back_for_ever() -> None:
    program = etalis.compile("m <- (a seq b) within 10.").compiled
    assert find_reach(program.plans("chronological"), ("m", 0)) is None


# why not


def unnumbered(found: WhyNot) -> str:
    """The answer without the numbers of inputs: rows are numbered among those that were fetched."""
    return re.sub(r'"input": \d+', '"input": _', found.to_json())


def test_why_not_reads_the_rows_of_its_key_and_time() -> None:
    rows = Rows(PAIRS, [*many(), Event("a", 78, 1, at=600), Event("b", 78, 1, at=615)])
    found = rows.asked.why_not("e(78)", None, (590 * SECOND, 620 * SECOND), None, limit=3, depth=5, budget=100_000)
    assert rows.collected == [2]
    assert "e(78) did not occur" in str(found)
    in_process = etalis.compile(PAIRS).engine(policy="unrestricted", justification="full")
    list(in_process.run(rows.events))
    list(in_process.close())
    assert unnumbered(found) == unnumbered(in_process.why_not("e(78)", between=(590, 620)))


def test_why_not_of_what_did_occur_says_so() -> None:
    rows = Rows(PAIRS, many())
    found = rows.asked.why_not("e(77)", 505 * SECOND, None, None, limit=3, depth=5, budget=100_000)
    assert rows.collected == [2]
    assert found.occurred is not None


def test_why_not_without_key_or_time_reads_all_that_its_rules_read() -> None:
    rows = Rows("m(K) <- a(K, _) seq b(K, _). n <- c.", [*many(20), Event("c", at=700)])
    rows.asked.why_not("m(_)", None, None, None, limit=1, depth=1, budget=1000)
    assert rows.collected == [22]


def test_an_event_that_no_rule_makes_needs_no_rows() -> None:
    rows = Rows(PAIRS, many())
    found = rows.asked.why_not("f(1)", None, None, None)
    assert found.unknown == "no rule makes f/1"
    assert rows.collected == []


def test_times_are_dates_where_the_rows_have_time_stamps() -> None:
    rows = Rows(PAIRS, many())
    assert not rows.asked.why_not("e(99)", None, None, None).dates
    stamped = tuple(replace(frame, time_types=("timestamp",)) for frame in rows.plan.frames)
    asked = FetchedRows(replace(rows.plan, frames=stamped), rows.fetch)
    assert asked.why_not("e(99)", None, None, None).dates
    assert asked.why(MatchRow.of(rows.results()[0])).dates
