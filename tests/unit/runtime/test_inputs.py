"""What a host gives an engine: any object is a value or refused, times have bounds, bad rows are dead letters."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import etalis
from etalis import DeadLetter, Event, EventError, Struct
from etalis.data.values import Real, to_value

RULE = "d(X) <- a(X) seq b(X)."
HELD = ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 3). "
WAYS = {  # the generated ways in, and the general one
    "short": RULE,
    "declared": ":- event(a(x: int)). :- event(b(x: int)). " + RULE,
    "held": HELD + RULE,
    "held and declared": HELD + ":- event(a(x: int)). :- event(b(x: int)). " + RULE,
    "corrected": HELD + ":- set_flag(reporting, on_arrival). " + RULE,
    "revised": ":- set_flag(revision_flag, on). :- set_flag(revision_window, 100). " + RULE,
    "limited": ":- set_flag(hard_limit, 100). " + RULE,
    "general": RULE + " e(X) <- d(X). a(X) <- c(X).",
}


class Colour(str, Enum):  # noqa: UP042  not a StrEnum: its str() is another text
    RED = "red"


class Level(IntEnum):
    HIGH = 3


VALUES: list[tuple[Any, Any]] = [
    (Struct("f", [True]), Struct("f", ["true"])),
    (Struct("f", [None, Struct("g", [np.int64(1)])]), Struct("f", ["null", Struct("g", [1])])),
    (Struct("f", [[1, {"k": 2.0}]]), Struct("f", [(1, (Struct("-", ["k", Real(2)]),))])),
    (Struct("[|]", [1, ()]), (1,)),
    (np.array([[1, 2], [3, 4]]), ((1, 2), (3, 4))),
    (np.ma.array([1, 2], mask=[False, True]), (1, "null")),
    (np.float32(0.5), 0.5),
    (np.bool_(True), "true"),
    (np.str_("x"), "x"),
    (pd.NA, "null"),
    (pd.NaT, "null"),
    (pd.Series([1, 2]), (1, 2)),
    (pa.scalar([1, None]), (1, "null")),
    (pa.scalar({"a": 1}), (Struct("-", ["a", 1]),)),
    (pa.array(["a", None]), ("a", "null")),
    (Colour.RED, "red"),
    (Level.HIGH, 3),
    (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    (Decimal("3"), 3),
    (Fraction(6, 2), 3),
    ({1: None}, (Struct("-", [1, "null"]),)),
    (-0.0, Real(0)),
    ("\ud800", "\ud800"),
    (10**5_000, 10**5_000),
]


@pytest.mark.parametrize(("given", "value"), VALUES, ids=lambda x: type(x).__name__)
def test_a_value_of_the_host_is_one_of_the_engine(given: Any, value: Any) -> None:
    found = to_value(given)
    assert found == value
    assert type(found) is type(value)
    assert math.copysign(1, found) == 1 if isinstance(found, float) else True
    engine = etalis.compile(RULE).engine()
    engine.push("a", given, at=1)
    (match,) = engine.push("b", value, at=2)
    assert match.args == (value,)
    match.to_json().encode()
    repr(match).encode()


@pytest.mark.parametrize("given", [
    *(math.nan, np.float64("nan"), Decimal("nan"), Struct("f", [math.nan]), [math.nan], {"k": math.nan}),
    *(b"x", 1j, {1}, range(3), object(), int, datetime(2026, 1, 1), date(2026, 1, 1), np.datetime64("2026-01-01")),
    *(pd.Timestamp(0), pa.scalar(0, pa.timestamp("ns")), Decimal("1.5"), Decimal("2.00"), Decimal("1e99999")),
    *(Fraction(1, 3), Struct(1, [2]), Struct("f", [object()]), np.void(b"x"), pa.scalar(b"x")),
], ids=lambda x: type(x).__name__)  # fmt: skip
def test_what_is_no_value_is_refused_in_a_sentence(given: Any) -> None:
    """Shows definition 3.7."""
    with pytest.raises(EventError) as caught:
        etalis.compile(RULE).engine().push("a", given, at=1)
    assert caught.value.problems[0].code == "E301"
    assert caught.value.problems[0].hint


def test_depth_is_bounded() -> None:
    circle: list[Any] = []
    circle.append(circle)
    term: Any = 1
    for _ in range(300):
        term = Struct("f", [term])
    for given in (circle, term, {"k": circle}):
        with pytest.raises(EventError, match="nested deeper than 200"):
            to_value(given)


def test_terms_that_differ_do_not_join() -> None:
    engine = etalis.compile(RULE).engine(policy="unrestricted")
    engine.push("a", Struct("f", [1]), at=1)
    assert engine.push("b", Struct("f", [1.0]), at=2) == ()
    assert engine.push("b", Struct("f", [True]), at=3) == ()
    assert len(engine.push("b", Struct("f", [Decimal(1)]), at=4)) == 1


DECLARED: list[tuple[str, Any, Any]] = [
    ("float", Decimal("0.1"), 0.1),
    ("float", Fraction(1, 4), 0.25),
    ("float", pa.scalar(Decimal("0.5")), 0.5),
    ("string", Decimal("0.10"), "0.10"),
    ("string", Colour.RED, "red"),
    ("int", Decimal("12345678901234567890123456789012345.00"), 12345678901234567890123456789012345),
    ("int", np.float64(3), 3),
    ("bool", np.bool_(False), "false"),
    ("time", "1970-01-02T00:00:00.5Z", 86400.5),
    ("time", np.datetime64("1970-01-02"), 86400),
    ("time", pd.NaT, "null"),
]


@pytest.mark.parametrize(("kind", "given", "value"), DECLARED, ids=lambda x: str(type(x).__name__))
def test_a_declared_type_converts(kind: str, given: Any, value: Any) -> None:
    engine = etalis.compile(f":- event(a(x: {kind})). d(X) <- a(X).").engine()
    assert engine.push("a", given, at=1)[0].args == (value,)


@pytest.mark.parametrize(("kind", "given"), [
    *(("int", Decimal("5.5")), ("int", Decimal("inf")), ("float", Decimal("1e400")), ("float", 10**400)),
    *(("bool", Decimal(1)), ("time", True), ("time", 10**15), ("time", "soon"), ("string", 1)),
])  # fmt: skip
def test_a_declared_type_refuses(kind: str, given: Any) -> None:
    with pytest.raises(EventError) as caught:
        etalis.compile(f":- event(a(x: {kind})). d(X) <- a(X).").engine().push("a", given, at=1)
    assert caught.value.problems[0].code == "E305"


NO_TIMES = [
    *(1e300, math.nan, math.inf, 10**30, -(10**13), 253_402_300_800, (1, 2, 3), (1,), (), (1, 10**15), "soon"),
    *(b"1", True, np.datetime64("NaT"), pd.NaT, pd.NA, np.array([1, 2]), {}),
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("at", NO_TIMES, ids=lambda at: type(at).__name__)
def test_what_is_no_time_is_refused(way: str, at: Any) -> None:
    for warm in (False, True):  # the first event, and one that the generated code may take
        engine = etalis.compile(WAYS[way]).engine()
        if warm:
            engine.push("a", 7, at=0)
        now = engine.now
        with pytest.raises(EventError, match="E303"):
            engine.push("a", 1, at=at)
        with pytest.raises(EventError, match="E303"):
            list(engine.run([("a", 1, at)]))
        with pytest.raises(EventError, match="E303"):
            list(engine.run([{"event": "a", "at": at}]))
        with pytest.raises(EventError, match="E303"):
            engine.advance(to=at)
        assert engine.now == now


@pytest.mark.parametrize("end", [10**18, -(10**17)])
def test_an_event_beyond_the_years_is_refused(end: int) -> None:
    """Shows definition 5.7."""
    with pytest.raises(EventError, match="lies in the year"):
        list(etalis.compile(RULE).engine().run([etalis.Event.make("a", (1,), min(0, end), end)]))


@pytest.mark.parametrize("way", WAYS)
def test_the_first_and_the_last_second_are_taken(way: str) -> None:
    for take in (lambda e, r: e.push(*r[:-1], at=r[-1]), lambda e, r: tuple(e.run([r]))):
        engine = etalis.compile(WAYS[way]).engine()
        found = [x for row in (("a", 1, -62_135_596_800), ("b", 1, 253_402_300_799)) for x in take(engine, row)]
        assert [*found, *engine.close()][0].name == "d"


@pytest.mark.parametrize("at", [
    *("1970-01-01T00:00:05Z", np.int64(5), np.float64(5), np.datetime64(5, "s"), pd.Timestamp(5, unit="s")),
    *(datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC), pa.scalar(5), "5", Decimal(5)),
], ids=lambda at: type(at).__name__)  # fmt: skip
def test_times_of_other_types(at: Any) -> None:
    engine = etalis.compile(RULE).engine()
    engine.push("a", 1, at=at)
    assert engine.now == 5
    assert len(list(engine.run([("b", 1, (at, np.float64(6)))]))) == 0
    assert engine.now == 6


def test_names_of_attributes_of_an_event_that_is_not_declared() -> None:
    for text in (RULE, ":- event(other(x: int)). " + RULE, HELD + RULE):
        engine = etalis.compile(text).engine()
        with pytest.raises(EventError) as caught:
            engine.push("a", x=1, y=2.5, at=1)
        assert "`:- event(a(x: int, y: float)).`" in str(caught.value)


def test_a_name_is_a_text() -> None:
    engine = etalis.compile(RULE).engine()
    with pytest.raises(EventError, match=r"\[5\] is not the name of an event"):
        engine.push([5], at=1)  # type: ignore[arg-type]
    engine.push(np.str_("a"), 1, at=1)
    assert [x.args for x in engine.push("b", 1, at=2)] == [(1,)]


BAD: list[tuple[Any, DeadLetter]] = [
    (("a", Struct("f", [math.nan]), 2), DeadLetter("a", ("Struct('f', (nan,))",), 2, 2, "NaN is not a value")),
    (("a", 1, 10**15), DeadLetter("a", (1,), None, None, "1000000000000000 lies in the year 31690708")),
    (("b", b"x", (2, 3)), DeadLetter("b", ("b'x'",), 2, 3, "a value of type bytes cannot be an attribute")),
    (etalis.Event.make("a", (1,), 0, 10**18), DeadLetter("a", (1,), 0, 10**12, "1000000000000 lies in the year")),
]


@pytest.mark.parametrize("way", WAYS)
def test_what_cannot_be_read_of_a_row_is_shown(way: str) -> None:
    letters: list[DeadLetter] = []
    engine = etalis.compile(WAYS[way]).engine(on_dead_letter=letters.append)
    found = [*engine.run([("a", 1, 1), *(row for row, _ in BAD), ("b", 1, 4)]), *engine.close()]
    assert [(x.name, x.args, x.start, x.end) for x in found if x.name == "d"] == [("d", (1,), 1, 4)]
    for letter, (_, wanted) in zip(letters, BAD, strict=True):
        assert replace(letter, reason="") == replace(wanted, reason="")
        assert letter.reason.startswith(wanted.reason)


def test_text_of_any_kind_can_be_printed_and_kept() -> None:
    program = etalis.compile(RULE)
    for text in ("\ud800", "a\udfffb", "é\U0010ffff\0", "\N{RIGHT-TO-LEFT OVERRIDE}"):
        engine = program.engine()
        engine.push("a", text, at=1)
        again = program.restore(engine.snapshot())
        (match,) = again.push("b", text, at=2)
        assert match.args == (text,)
        assert Event.from_dict(json.loads(match.to_json())) == match
        assert repr(match).encode(sys.getdefaultencoding())
