"""Columns to events without Spark: what is found, what is refused and in which words, how rows are shared out."""

from __future__ import annotations

from typing import Any

import pytest

import etalis
from etalis.errors import InputError
from etalis.spark.describe import describe
from etalis.spark.plan.detection import DetectionPlan, plan_detection
from etalis.tables.plan import ResultForm
from etalis.tables.schema import Options, TableSchema

PROGRAM = """
:- event(withdrawal(card: string, amount: float)).
fraud(Card, Sum) <- withdrawal(Card, A) seq withdrawal(Card, B) where Sum is A + B.
cleared(Card) <- withdrawal(Card, _) seq confirmed(Card).
"""
WIDE = ResultForm()
COLUMNS = {"type": "string", "ts": "timestamp", "card": "string", "amount": "double"}


def plan(
    text: str, *given: TableSchema, form: ResultForm = WIDE, shards: int | None = None, **options: Any
) -> DetectionPlan:
    program = etalis.compile(text)
    return plan_detection(program.compiled, given, Options(**options), form, policy=None, shards=shards, usual=4)


def columns(found: DetectionPlan) -> dict[str, tuple[str, ...]]:
    return {layout.tag: layout.columns for frame in found.frames for layout in frame.layouts}


def test_attributes_by_name_and_by_position() -> None:
    assert columns(plan(PROGRAM, TableSchema(COLUMNS))) == {"withdrawal": ("card", "amount"), "confirmed": ("card",)}


def test_a_declared_event_in_other_names_is_read_by_position() -> None:
    text = ":- event(withdrawal(card: string, amount: float)). d(C) <- withdrawal(C, A)."
    found = plan(text, TableSchema({"event": "string", "at": "int", "k": "string", "v": "decimal(9,2)"}))
    assert columns(found)["withdrawal"] == ("k", "v")


def test_an_undeclared_event_is_bound_by_variables_or_by_exactly_as_many_columns() -> None:
    text = "two(Card) <- w(Card, Amount) seq w(Card, _)."
    wider = {"at": "int", "region": "string", "card": "string", "amount": "double"}
    assert columns(plan(text, TableSchema(wider)))["w"] == ("card", "amount")
    assert columns(plan("d <- w(X, Y).", TableSchema({"at": "int", "p": "int", "q": "int"})))["w"] == ("p", "q")
    assert columns(plan("d <- w(X, Y).", TableSchema({"at": "int", "a1": "int", "a2": "int", "a3": "int"})))["w"] == (
        "a1",
        "a2",
    )
    with pytest.raises(InputError, match=r":- event\(w\(card: string, amount: float\)\)\."):
        plan("two(Card) <- w(Card, A) seq w(Card, B).", TableSchema(wider))
    with pytest.raises(InputError, match="E602"):  # the variables say the contrary of the order
        plan("d <- w(Y, X).", TableSchema({"at": "int", "x": "int", "z": "int"}))


def test_capitals_do_not_matter() -> None:
    found = plan(
        PROGRAM,
        TableSchema({"Type": "string", "TS": "timestamp", "AMOUNT": "double", "Card": "string"}),
        event="type",
        time="ts",
    )
    assert columns(found)["withdrawal"] == ("Card", "AMOUNT")


def test_one_frame_per_event_shares_slots_by_type() -> None:
    text = "d <- a(X, Y) seq b(X, Z)."
    frames = [
        TableSchema({"ts": "int", "x": "int", "y": "double"}, "a"),
        TableSchema({"ts": "bigint", "x": "string", "z": "float"}, "b"),
    ]
    found = plan(text, *frames)
    assert found.slots.types == ("bigint", "double", "string")
    assert [rows.slots for rows in found.job.rows] == [(0, 1), (2, 1)]


def test_all_rows_are_the_only_event() -> None:
    found = plan("d(X) <- a(X) seq a(X).", TableSchema({"ts": "int", "x": "int"}))
    assert found.frames[0].event is None
    assert columns(found) == {"a": ("x",)}


def test_kinds_of_one_name_by_arity() -> None:
    frames = [TableSchema({"ts": "int", "x": "int"}, "a/1"), TableSchema({"ts": "int", "x": "int", "y": "int"}, "a/2")]
    assert columns(plan("d <- a(X) seq a(X, _).", *frames)) == {"a/1": ("x",), "a/2": ("x", "y")}


EXPLAINED = """4 shards
  withdrawal/2: partitioned by card
  confirmed/1: partitioned by card
  over columns: rules 1, 2
rows of equal time are processed in the order of the standard order of the events
results: `event` string, `Card` string, `Sum` double, `start` timestamp, `end` timestamp, `rule` string"""


def test_explained() -> None:
    assert describe(plan(PROGRAM, TableSchema(COLUMNS))) == EXPLAINED + ", `match_id` string"


def test_explained_together() -> None:
    text = describe(
        plan("d <- a(X) seq b(Y).", TableSchema({"event": "string", "ts": "int", "x": "int", "n": "int"}), order="n")
    )
    assert text.splitlines() == [
        "1 shard",
        "  a/1: all rows in one shard",
        "  b/1: all rows in one shard",
        "  rule 1: b/1 is not joined by X",
        "  over columns: rule 1",
        "rows of equal time are processed in the order of n, then the standard order of the events",
        "results: `event` string, `start` bigint, `end` bigint, `rule` string, `match_id` string",
    ]


def test_a_term_is_no_key() -> None:
    found = plan("d <- a(X) seq a(X).", TableSchema({"ts": "int", "x": "array<int>"}))
    assert found.sharding.shards == 1
    assert "the key of a/1 is a time or a term, not shuffled by" in describe(found)


def test_heads_without_key_are_merged() -> None:
    found = plan("d <- a(X) seq a(X).", TableSchema({"ts": "int", "x": "int"}))
    assert found.sharding.merged
    assert "equal events of several shards are merged" in describe(found)
    assert not plan("d <- a(X) seq a(X).", TableSchema({"ts": "int", "x": "int"}), shards=1).sharding.merged


@pytest.mark.parametrize(
    ("text", "time", "expected"),
    [
        ("d <- a(X).", "int", "bigint"),
        ("d <- a(X).", "double", "double"),
        ("d <- a(X).", "timestamp_ntz", "timestamp_ntz"),
        ("d <- a(X).", "date", "timestamp_ntz"),
        ("d <- a(X).", "string", "timestamp"),
        ("d <- a(X).", "decimal(20,3)", "double"),
        ("d <- a(X) seq (not b within 2.5).", "int", "double"),
        ("d <- a(X) seq (not b within 2).", "int", "bigint"),
        ("exceptionAlarm(d, 3) <- a(X).", "int", "bigint"),
        ("exceptionAlarm(d, X) <- a(X).", "int", "double"),
    ],
)
def test_times_come_back_in_the_type_they_came(text: str, time: str, expected: str) -> None:
    found = plan(text, TableSchema({"event": "string", "ts": time, "x": "int"}))
    assert found.job.output.time == expected


REFUSED: dict[str, tuple[tuple[str, dict[str, str], dict[str, Any]], str]] = {
    "no such time": (
        (PROGRAM, COLUMNS, {"time": "tss"}),
        "E602: the DataFrame has no column tss, which is the time\n  hint: did you mean ts?",
    ),
    "no time": ((PROGRAM, {"type": "string"}, {}), "E602: the DataFrame has no column of time"),
    "no event": (
        (PROGRAM, {"ts": "int", "card": "string", "amount": "float"}, {}),
        "E602: the DataFrame has no column that names the event",
    ),
    "no such event": (
        (PROGRAM, COLUMNS, {"event": "typ"}),
        "E602: event='typ' is neither a column nor an event of the program\n  hint: did you mean type?",
    ),
    "no such order": (
        (PROGRAM, COLUMNS, {"order": "n"}),
        "E602: the DataFrame has no column n, which breaks ties of time",
    ),
    "missing attribute": (
        (PROGRAM, {"type": "string", "ts": "int", "card": "string", "amout": "double"}, {}),
        "E602: the DataFrame: no column for amount of withdrawal\n  hint: did you mean amout?",
    ),
    "too few columns": (
        ("d <- a(X, Y).", {"event": "string", "ts": "int", "x": "int"}, {}),
        "E602: the DataFrame: a/2 reads 2 attributes, there is 1 column: x",
    ),
    "a truth value as time": (
        (PROGRAM, COLUMNS | {"ts": "boolean"}, {}),
        "E603: the column ts of type boolean cannot be the time",
    ),
    "digits behind the point": (
        ("d <- a(X, Y).", {"ts": "int", "x": "int", "y": "decimal(9,2)"}, {}),
        "hint: declare what becomes of its digits: float (the nearest one), string, or int (whole ones only)",
    ),
    "numbers as names": (
        (PROGRAM, COLUMNS | {"type": "int"}, {}),
        "E603: the column type of type int cannot name events",
    ),
    "wrong type": (
        (PROGRAM, COLUMNS | {"amount": "string"}, {}),
        "cannot be float, as withdrawal declares it\n  hint: convert it, or declare the attribute string",
    ),
    "no attribute": (
        ("d <- a(X).", {"event": "string", "ts": "int", "x": "date"}, {}),
        "E603: the column x of type date cannot be an attribute of a",
    ),
    "two of a name": ((PROGRAM, COLUMNS | {"Card": "string"}, {}), "E602: the DataFrame has two columns of one name"),
    "two arities": (
        ("d <- a(X) seq a(X, _).", {"event": "string", "ts": "int", "x": "int", "y": "int"}, {}),
        "E604: a in the DataFrame can be a/1, a/2\n  hint: give one DataFrame per kind: {'a/1': ..., 'a/2': ...}",
    ),
    "unknown unit": (
        (PROGRAM, COLUMNS, {"unit": "min"}),
        "E605: unknown unit of time 'min'\n  hint: one of s, ms, us, ns",
    ),
    "no shards": ((PROGRAM, COLUMNS, {"shards": 0}), "E605: shards is 0"),
    "unknown selection": (
        (PROGRAM, COLUMNS, {"form": ResultForm(select="fraut")}),
        "E605: the program reports no event fraut\n  hint: did you mean fraud?",
    ),
    "effects in many shards": (
        ("d <- a(X) where assertz(s(X)).", {"ts": "int", "x": "int"}, {"shards": 2}),
        "E608: more than one shard, but assertz/1 in a condition has a side effect",
    ),
    "two types of time": (
        (PROGRAM, COLUMNS | {"end": "int"}, {"time": ("ts", "end")}),
        "E603: ts is timestamp and end is int",
    ),
}


@pytest.mark.parametrize(("given", "expected"), REFUSED.values(), ids=REFUSED)
def test_refused(given: tuple[str, dict[str, str], dict[str, Any]], expected: str) -> None:
    """Shows definition 22.6."""
    text, names, options = given
    with pytest.raises(InputError) as found:
        plan(text, TableSchema(names), **options)
    assert expected in str(found.value)


def test_an_event_that_no_rule_reads() -> None:
    with pytest.raises(
        InputError, match=r"no rule of the program reads the event withdrawl\n.*did you mean withdrawal"
    ):
        plan(PROGRAM, TableSchema(COLUMNS, "withdrawl"))


def test_times_of_several_frames_must_agree() -> None:
    frames = [TableSchema({"ts": "int", "x": "int"}, "a"), TableSchema({"ts": "timestamp", "x": "int"}, "b")]
    with pytest.raises(InputError, match="some DataFrames have time stamps, others numbers"):
        plan("d <- a(X) seq b(X).", *frames)


def test_names_of_result_columns() -> None:
    """Declared names, else variables, else numbers; of one name and type one column, whatever the capitals."""
    text = ":- event(d(start: int, x: int)). d(X, Y) <- a(X, Y). e(X, x, X) <- a(X, _). f(X) <- a(_, X)."
    output = plan(text, TableSchema({"ts": "int", "p": "int", "q": "string"}), shards=1).job.output
    assert [name for name, _ in output.columns] == [
        "event", "start_2", "x", "a2", "X_2", "f_X", "start", "end", "rule", "match_id",
    ]  # fmt: skip
    assert [[field.column for field in fields] for _, fields in output.kinds] == [
        ["start_2", "x"],
        ["x", "a2", "X_2"],
        ["f_X"],
    ]


def test_one_kind_alone() -> None:
    output = plan(PROGRAM, TableSchema(COLUMNS), form=ResultForm(select="cleared")).job.output
    assert output.ddl == "`Card` string, `start` timestamp, `end` timestamp, `rule` string, `match_id` string"
