"""Deep and large values at every door: taken, refused with a sentence, never a traceback of Python's own."""

from __future__ import annotations

import json
from functools import reduce

import pyarrow as pa
import pytest

import etalis
from etalis import Struct
from etalis.data.measure import count_cells, is_too_deep
from etalis.data.values import MAX_DEPTH, format_value, order_key, to_value
from etalis.logic.terms.unify import from_value
from etalis.logic.terms.unify import to_value as leave


def nested(levels: int, x: object = 1) -> Struct | object:
    return reduce(lambda inner, _: Struct("f", [inner]), range(levels), x)


def nested_list(levels: int) -> object:
    return reduce(lambda inner, _: (inner,), range(levels), 1)


def test_a_struct_knows_its_measure() -> None:
    x = Struct("f", [1, Struct("g", ["a", ()]), ((1, 2), 3)])
    assert (x.depth, x.size) == (3, 9)
    assert (nested(10_000).depth, nested(10_000).size) == (10_000, 10_000)
    assert nested(10_000) == nested(10_000) != nested(10_000, 2)
    assert repr(nested(10_000)) == "f(...10000 levels...)"
    assert count_cells([x]) == 10
    assert count_cells(["x" * 6_400, 1 << 5_120, -(1 << 5_120)]) == 3 + 100 + 20


@pytest.mark.parametrize("make", [nested, nested_list])
def test_values_are_nested_200_levels_at_most(make: type[nested]) -> None:
    assert not is_too_deep([make(MAX_DEPTH)])
    assert is_too_deep([1, make(MAX_DEPTH + 1)])
    assert is_too_deep([make(10_000)])
    deepest = make(MAX_DEPTH)
    assert to_value(deepest) == deepest == make(MAX_DEPTH)
    assert format_value(deepest).count("1") == 1
    assert order_key(deepest) == order_key(make(MAX_DEPTH))
    assert leave(from_value(deepest)) == deepest


@pytest.mark.parametrize("deep", [nested(MAX_DEPTH + 1), nested(10_000), (nested(MAX_DEPTH),), [nested(10_000)]])
def test_a_deeper_term_is_refused_at_the_door(deep: object) -> None:
    engine = etalis.compile("d(X) <- a(X).").engine()
    for take in (lambda: engine.push("a", deep, at=1), lambda: list(engine.run([("a", deep, 1)]))):
        with pytest.raises(etalis.EventError, match=r"E301.*nested deeper than 200 levels"):
            take()


def test_a_deeper_fact_is_refused_at_the_door() -> None:
    program = etalis.compile("d(X) <- a(X) where f(X).")
    deep = reduce(lambda inner, _: {"k": inner}, range(10_000), 1)
    for cell in (deep, nested(10_000)):
        with pytest.raises(etalis.InputError, match="nested deeper than 200 levels"):
            program.load_facts("f", [(cell,)])


def test_the_deepest_term_goes_everywhere() -> None:
    program = etalis.compile("d(X) <- a(X) seq b. e(X) <- d(X). :- set_flag(store_fired_events, on).")
    engine = program.engine()
    deep = nested(MAX_DEPTH)
    engine.push("a", deep, at=1)
    engine = program.restore(engine.snapshot())
    found = engine.push("b", at=2)
    assert [event.args for event in found] == [(deep,), (deep,)]
    assert json.loads(found[0].to_json())["event"] == "d"
    assert engine.query("stored_event(event(d(X), _))")[0]["X"] == deep
    assert len(repr(found[0])) > MAX_DEPTH


def test_rules_one_after_the_other_make_no_deeper_term() -> None:
    inner, outer = (f"{'f(' * levels}X{')' * levels}" for levels in (80, 120))
    program = etalis.compile(f":- event(a(x: int)). d({inner}) <- a(X). e({outer}) <- d(X). g([X]) <- e(X). c <- g(X).")
    errors: list[etalis.ConditionError] = []
    rows = pa.table({"x": [1, 2], "t": [1, 2]})
    found = {name: program.detect(rows, event="a", time="t", on_error=errors.append, select=name) for name in "degc"}
    engine = program.engine()
    pushed = [event.name for at in (1, 2) for event in engine.push("a", at, at=at)]
    assert pushed == ["d", "e"] * 2
    assert [found[name].num_rows for name in "degc"] == [2, 2, 0, 0]
    assert {str(error) for error in errors} == {str(error) for error in engine.errors}
    assert "error E501: rule 3: its head is nested deeper than 200 levels" in str(engine.errors[0])
