"""Any Python object is taken or refused by an error of ours, at every door alike, and is what its converted form is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC
from enum import Enum, IntEnum, IntFlag
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import etalis
from etalis import Event, Struct
from etalis.data.scalars import show
from etalis.data.values import Value, format_value, order_key, to_value
from etalis.errors import EtalisError
from etalis.temporal.interval import EARLIEST, LATEST, to_time
from helpers.examples import by_day

pytestmark = pytest.mark.property

RULES = "d(X) <- a(X) seq b(X)."
PROGRAM = etalis.compile(RULES)
HELD = etalis.compile(":- set_flag(out_of_order, on). :- set_flag(ooo_window, 5). " + RULES)
KNOWING = etalis.compile(":- dynamic p/1. d(X) <- a(X) where p(X).")


@lru_cache
def declared(kind: str) -> etalis.Program:
    return etalis.compile(f":- event(a(x: {kind})). d(X) <- a(X).")


class Word(str, Enum):  # noqa: UP042  not a StrEnum: its str() is another text
    YES = "yes"


class Level(IntEnum):
    HIGH = 3


class Bits(IntFlag):
    ONE = 1


class Plain(Enum):
    ONE = 1


ODD = (*Word, *Level, *Bits, *Plain, pd.NA, pd.NaT, np.ma.masked, object(), int, len, ..., SimpleNamespace())
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers().map(lambda n: n**40), st.floats(), st.text(),
    st.text(st.characters()), st.binary(max_size=4), st.complex_numbers(), st.decimals(), st.fractions(), st.uuids(),
    st.datetimes(timezones=st.sampled_from([None, UTC])), st.dates(), st.times(), st.timedeltas(), st.sampled_from(ODD),
)  # fmt: skip
COUNTS = st.integers(-(2**62), 2**62)
UNITS = st.sampled_from(["W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"])
NUMPY = st.one_of(
    st.integers(-128, 127).map(np.int8), st.integers(0, 2**64 - 1).map(np.uint64), st.floats(width=16).map(np.float16),
    st.floats(width=32).map(np.float32), st.floats().map(np.float64), st.floats().map(np.longdouble),
    st.booleans().map(np.bool_), st.text().map(np.str_), st.binary(max_size=3).map(np.bytes_),
    st.builds(np.datetime64, COUNTS, st.one_of(UNITS, st.sampled_from(["Y", "M"]))),
    st.builds(np.timedelta64, COUNTS, st.one_of(UNITS, st.sampled_from(["Y", "M"]))),
)  # fmt: skip
ARRAYS = st.one_of(
    st.lists(st.integers(-9, 9)).map(np.array), st.lists(st.lists(st.floats(), min_size=2, max_size=2)).map(np.array),
    st.lists(st.text()).map(lambda x: np.array(x, object)), st.lists(st.integers(-9, 9)).map(pd.Series),
    st.lists(st.one_of(st.none(), st.integers(-9, 9))).map(lambda x: pa.array(x, pa.int64())),
)  # fmt: skip
ARROW = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(pa.scalar), st.floats().map(pa.scalar), st.booleans().map(pa.scalar),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-1e6, max_value=1e6).map(pa.scalar),
    st.builds(pa.scalar, COUNTS, st.sampled_from([pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")])),
    st.lists(st.one_of(st.none(), st.integers(-9, 9))).map(lambda x: pa.scalar(x, pa.list_(pa.int64()))),
    st.dictionaries(st.sampled_from("xyz"), st.integers(-9, 9), min_size=1).map(pa.scalar),
)  # fmt: skip


def _struct(name: Any, args: list[Any]) -> Any:
    try:
        return Struct(name, args)
    except EtalisError:  # it holds what is no value, and cannot even be hashed
        return args


def _deep(x: Any) -> Any:
    return st.one_of(
        st.lists(x, max_size=3), st.lists(x, max_size=3).map(tuple), st.frozensets(st.integers()),
        st.dictionaries(st.one_of(st.text(max_size=2), st.integers(), st.none(), st.booleans()), x, max_size=3),
        st.builds(_struct, st.sampled_from(["f", "-", "[|]", "Ä", 1, None]), st.lists(x, min_size=1, max_size=3)),
    )  # fmt: skip


OBJECTS = st.recursive(st.one_of(SCALARS, NUMPY, ARRAYS, ARROW), _deep, max_leaves=6)


def refusal(do: Callable[[], object]) -> str | None:
    """Return the code of the error of ours that something ends in, None if it does not; it has a hint."""
    try:
        do()
    except EtalisError as error:
        return error.problems[0].code if error.problems[0].hint else "no hint"
    return None


def converted(x: Any) -> Value | None:
    """Return the value of an object, None if it is refused."""
    code = refusal(lambda: to_value(x))
    assert code in (None, "E301")
    return to_value(x) if code is None else None


def by_push(program: etalis.Program, x: Any, y: Any) -> list[Event]:
    engine = program.engine()
    return [*engine.push("a", x, at=1), *engine.push("b", y, at=2), *engine.close()]


def by_rows(program: etalis.Program, x: Any, y: Any) -> list[Event]:
    engine = program.engine()
    return [*engine.run([("a", x, 1), ("b", y, 2)]), *engine.close()]


def by_snapshot(program: etalis.Program, x: Any, y: Any) -> list[Event]:
    engine = program.engine()
    engine.push("a", x, at=1)
    again = program.restore(engine.snapshot())
    return [*again.push("b", y, at=2), *again.close()]


def by_fact(_: etalis.Program, x: Any, y: Any) -> list[Event]:
    engine = KNOWING.engine()
    engine.assert_fact("p", x)
    return list(engine.push("a", y, at=2))


DOORS: Mapping[str, Callable[[etalis.Program, Any, Any], list[Event]]] = {
    "push": by_push, "rows": by_rows, "snapshot": by_snapshot, "fact": by_fact,
}  # fmt: skip


@by_day(4)
@given(OBJECTS)
def test_an_object_is_what_its_value_is_at_every_door(x: Any) -> None:
    """Shows definition 3.14."""
    note(show(x))
    value = converted(x)
    for name, door in DOORS.items():
        for program in (PROGRAM, HELD):
            if value is None:
                with pytest.raises(EtalisError):
                    door(program, x, 1)
                continue
            assert [match.args for match in door(program, x, value)] == [(value,)], name
            assert [match.args for match in door(program, value, x)] == [(value,)], name


@by_day(4)
@given(OBJECTS)
def test_a_value_is_converted_once_and_can_be_written_down(x: Any) -> None:
    value = converted(x)
    if value is None:
        return
    assert to_value(value) == value
    assert hash(to_value(value)) == hash(value)
    assert order_key(value) == order_key(to_value(value))
    format_value(value).encode()
    event = Event.make("a", (value,), 0, 1)
    json.loads(event.to_json().encode())
    repr(event).encode()


@by_day(4)
@given(OBJECTS, st.sampled_from(["int", "float", "string", "bool", "time", "term"]))
def test_a_declared_attribute_takes_or_refuses(x: Any, kind: str) -> None:
    program = declared(kind)
    code = refusal(lambda: program.engine().push("a", x, at=1))
    assert code in (None, "E301", "E305")
    if code is None:
        (match,) = program.engine().push("a", x, at=1)
        assert program.engine().push("a", match.args[0], at=1)[0].args == match.args


@by_day(4)
@given(OBJECTS, OBJECTS)
def test_any_object_as_a_time_is_taken_or_refused(x: Any, y: Any) -> None:
    for program in (PROGRAM, HELD):
        for at in (x, (x, y), [x, 1]):
            code = refusal(lambda: program.engine().push("a", 1, at=at))  # noqa: B023  called at once
            assert code in (None, "E303", "E304")
            assert code or EARLIEST <= to_time(at[1] if isinstance(at, tuple | list) else at) <= LATEST
    letters: list[Any] = []
    engine = PROGRAM.engine(on_dead_letter=letters.append)
    list(engine.run([x, (x, y), ("a", x, y), {"event": "a", "at": x}]))
    assert all(json.loads(letter.to_json().encode()) for letter in letters)


@by_day(4)
@given(st.lists(OBJECTS, min_size=1, max_size=3))
def test_facts_of_any_objects_are_loaded_or_refused(cells: list[Any]) -> None:
    program = etalis.compile("d(X) <- a(X) where p(X).")
    assert refusal(lambda: program.load_facts("p", [(cell,) for cell in cells])) in (None, "E405")
