"""Knowledge that the host adds: Python functions, tables as relations, and questions to an engine."""

from __future__ import annotations

import itertools
import random
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import etalis
from etalis import ConditionError, EtalisError, InputError, ProgramError, Struct
from etalis.language.lower import to_logic
from etalis.language.read.parser import parse_term
from etalis.logic.errors import LogicLimitError
from etalis.logic.machine.machine import GoalLimits
from etalis.logic.solver import Solver

WORKLOADS = Path(__file__).parents[3] / "bench" / "workloads.py"


def atoms(*events: etalis.Event) -> list[str]:
    return [event.atom for event in events]


def run(text: str, *rows: Any, **register: Any) -> tuple[list[str], list[str]]:
    program = etalis.compile(text, register=register)
    assert program.problems == ()
    engine = program.engine()
    return atoms(*engine.run(rows)), [str(error) for error in engine.errors]


def double(x: Any) -> Any:
    return x * 2


def big(x: Any) -> bool:
    return bool(x > 2)


def test_a_function_gives_the_last_argument_or_tests() -> None:
    text = "d(X, Y) <- a(X) where (double(X, Y), big(Y))."
    assert run(text, ("a", 1, 0), ("a", 2, 1), double=double, big=big) == (["d(2, 4)"], [])
    assert run("d(X) <- a(X) where double(X, 6).", ("a", 1, 0), ("a", 3, 1), double=double) == (["d(3)"], [])


def test_a_function_may_give_solutions() -> None:
    def around(x: int) -> Iterator[tuple[int, str]]:
        yield x - 1, "below"
        yield x + 1, "above"

    text = "d(X, Y, W) <- a(X) event_multiply around(X, Y, W)."
    assert run(text, ("a", 5, 0), **{"around/3": around})[0] == ["d(5, 4, below)", "d(5, 6, above)"]
    assert run("d(X) <- a(X) where around(X, 6, above).", ("a", 5, 0), **{"around/3": around})[0] == ["d(5)"]


def test_solutions_for_all_arguments_or_for_one() -> None:
    program = etalis.compile("d <- a.")
    program.register("edge", lambda x, y: [(1, 2), (2, 3)], arity=2)
    program.register("part", lambda x: {"a": ["b", "c"]}.get(x), arity=2)
    engine = program.engine()
    assert engine.query("edge(X, Y)") == [{"X": 1, "Y": 2}, {"X": 2, "Y": 3}]
    assert engine.query("edge(2, Y)") == [{"Y": 3}]
    assert engine.query("edge(X, Y), \\+ edge(Y, _)") == [{"X": 2, "Y": 3}]
    assert engine.query("findall(P, part(a, P), L)") == [{"L": ("b", "c")}]
    assert engine.query("part(z, P)") == []


def test_values_pass_in_both_directions() -> None:
    seen: list[Any] = []
    program = etalis.compile("d <- a.")
    program.register("see", seen.append, arity=1)
    program.register("give", lambda: (1, 2.0, (True, Struct("f", ("x",)))), arity=1)
    engine = program.engine()
    assert engine.query("see(f([1, a], 2.5)), see(X)") == [{}]
    assert seen == [Struct("f", ((1, "a"), 2.5)), None]
    assert engine.query("give(X)") == [{"X": (1, 2.0, ("true", Struct("f", ("x",))))}]


def test_an_action_calls_a_function() -> None:
    seen: list[Any] = []
    assert run("d(X) <- a(X) do tell(X).", ("a", 7, 0), tell=seen.append) == (["d(7)"], [])
    assert seen == [7]


def test_what_a_function_raises_is_a_condition_error() -> None:
    text = "r rule: d(X, Y) <- a(X) where half(X, Y). e(X) <- a(X)."
    found, errors = run(text, ("a", "x", 0), ("a", 4, 1), half=lambda x: x // 2)
    assert found == ["e(x)", "e(4)", "d(4, 2)"]
    assert len(errors) == 1
    assert "E501" in errors[0]
    for part in ("half(X, Y) of rule r", "half/2 raised TypeError", "(X = x)"):
        assert part in errors[0]


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        ("test(1)", "where True, False or tuples of 1 is needed"),
        ("late(X), X > 1", "late/1 raised KeyError"),
        ("strange(X)", "a value of type object cannot be an attribute"),
        ("wide(X)", "gave the solution (1, 2)"),
        ("assertz(test(1))", "no permission to modify"),
    ],
)
def test_what_a_function_must_not_do(goal: str, words: str) -> None:
    def late() -> Iterator[int]:
        yield 1
        raise KeyError("x")

    functions: dict[str, Any] = {"test/1": lambda x: x, "late/1": late, "strange/1": object, "wide/1": lambda: [(1, 2)]}
    engine = etalis.compile("d <- a.", register=functions).engine()
    with pytest.raises(ConditionError) as caught:
        engine.query(goal)
    assert words in str(caught.value)


def test_solutions_without_end_reach_the_limit_of_steps() -> None:
    program = etalis.compile("d <- a.", register={"count/1": itertools.count})
    solver = Solver(program.compiled.knowledge.database(), GoalLimits(steps=1_000))
    with pytest.raises(LogicLimitError):
        list(solver.solve(to_logic(parse_term("count(-1)"))))


def test_an_error_of_a_function_can_be_caught_by_the_program() -> None:
    engine = etalis.compile("d <- a.", register={"half": lambda x: 1 / x}).engine()
    assert engine.query("catch(half(0, _), error(E, _), true)") == [{"E": Struct("python_error", ("half",))}]


@pytest.mark.parametrize(
    ("name", "function", "arity"),
    [
        ("is", double, 2),
        ("f", double, 0),
        ("f", lambda *xs: xs, 2),
        ("f", lambda *, x: x, 2),
        ("f", 7, 1),
        ("", double, 2),
        ("known", double, 2),
    ],
)
def test_what_cannot_be_registered(name: str, function: Any, arity: int) -> None:
    program = etalis.compile("d(X) <- a(X) where known(X, _). known(1, 2).")
    with pytest.raises(ProgramError) as caught:
        program.register(name, function, arity)
    assert caught.value.code == "E231"


def test_warnings_know_what_is_added() -> None:
    program = etalis.compile("d(X) <- a(X) where (f(X), g(X, _), h(X)).")
    assert [p.code for p in program.problems] == ["W207"] * 3
    program.register("f", big, arity=1)
    program.load_facts("g", [(1, 2)])
    assert [p.message for p in program.problems] == ["unknown predicate h/1: nothing defines it"]
    declared = etalis.compile(":- dynamic f/1. d(X) <- a(X) where f(X).", register={"f/1": big})
    assert atoms(*declared.engine().run([("a", 1, 0), ("a", 3, 1)])) == ["d(3)"]


def test_facts_come_behind_those_of_the_text() -> None:
    program = etalis.compile("d(X, Y) <- a(X) event_multiply price(X, Y). price(x, 1).")
    assert program.load_facts("price", [("x", 2), ("y", 3)]) == 2
    assert program.load_facts("price", [{"p": 4, "item": "x"}], ["item", "p"]) == 1
    first, second = program.engine(), program.engine()
    assert atoms(*first.push("a", "x", at=0)) == ["d(x, 1)", "d(x, 2)", "d(x, 4)"]
    first.query("retract(price(x, 2))")
    assert len(first.query("price(_, _)")) == 3
    assert len(second.query("price(_, _)")) == 4


def test_a_relation_is_replaced_while_the_engine_runs(tmp_path: Path) -> None:
    program = etalis.compile("d(X, Y) <- a(X) where price(X, Y). e(X) <- a(X) where (price(X, Y), Y > 5).")
    program.load_facts("price", [("x", 1)])
    engine, other = program.engine(), program.engine()
    assert atoms(*engine.push("a", "x", at=0)) == ["d(x, 1)"]
    path = tmp_path / "prices.csv"
    path.write_text("item,price\nx,9\nz,2\n", encoding="utf-8")
    assert engine.reload("price", path) == 2
    assert atoms(*engine.push("a", "x", at=1)) == ["e(x)", "d(x, 9)"]
    assert atoms(*other.push("a", "x", at=1)) == ["d(x, 1)"]
    assert engine.reload("price", [], columns=["item", "price"]) == 0
    assert engine.push("a", "x", at=2) == ()
    assert engine.reload("price", [("x", [1, 2])]) == 1
    assert atoms(*engine.push("a", "x", at=3)) == ["d(x, [1,2])"]
    assert engine.reload("price", [("x", 3)]) == 1
    assert atoms(*engine.push("a", "x", at=4)) == ["d(x, 3)"]


def test_facts_that_have_no_place_are_refused() -> None:
    program = etalis.compile("d(X) <- a(X) where (f(X), g(X)). g(X) :- X > 1.", register={"f/1": big})
    engine = program.engine()
    loads = [(program.load_facts, "f", [(1,)]), (program.load_facts, "=", [(1, 2)])]
    reloads = [(engine.reload, name, [(1,)]) for name in ("f", "g", "unheard")]
    for load, name, rows in (*loads, *reloads):
        with pytest.raises(InputError) as caught:
            load(name, rows)
        assert caught.value.code == "E409"


def test_a_query_gives_all_solutions_of_named_variables() -> None:
    engine = etalis.compile("d <- a. p(1, x). p(2, y). q(X) :- p(X, _).").engine()
    assert engine.query("p(X, Y)") == [{"X": 1, "Y": "x"}, {"X": 2, "Y": "y"}]
    assert engine.query("q(X), X > 1.") == [{"X": 2}]
    assert engine.query("p(1, _)") == [{}]
    assert engine.query("p(_A, z)") == []
    for wrong in ("p(", "unheard(X)", "X is foo"):
        with pytest.raises(EtalisError):
            engine.query(wrong)


def test_a_query_sees_past_events() -> None:
    text = ":- set_flag(store_fired_events, on). d(X) <- a(X). e <- b. r(X) <- c(X) where stored_event(event(d(X), _))."
    program = etalis.compile(text)
    assert program.problems == ()
    engine = program.engine()
    found = [*engine.run([("a", 1, 0), ("a", 2, (1, 2.5)), ("b", 3), ("c", 2, 4), ("c", 9, 5)])]
    assert atoms(*found) == ["d(1)", "d(2)", "e", "r(2)"]
    assert engine.query("stored_event(event(d(X), [T1, T2]))") == [
        {"X": 1, "T1": 0, "T2": 0},
        {"X": 2, "T1": 1, "T2": 2.5},
    ]
    assert engine.query("stored_event(event(e, T))") == [{"T": (3, 3)}]
    assert engine.query("findall(A, stored_event(event(A, _)), L), length(L, N)")[0]["N"] == 4
    with pytest.raises(ConditionError, match="stored_event/1 is not defined"):
        etalis.compile("d <- a.").engine().query("stored_event(E)")


def test_companies_linked_through_a_chain_of_suppliers(tmp_path: Path) -> None:
    """W8 on a small stream: pairs along a chain of 1,000 links, most of them in its direction."""
    text, policy = runpy.run_path(str(WORKLOADS))["PROGRAMS"]["W8"]
    path = tmp_path / "links.csv"
    path.write_text("".join(f"{i},{i + 1}\n" for i in range(1_000)), encoding="utf-8")
    program = etalis.compile(text)
    assert program.load_facts("linked", path, columns=[0, 1]) == 1_000
    assert program.problems == ()
    rng, rows, expected = random.Random(8), [], 0
    for time in range(0, 10_000, 100):
        x, y = sorted(rng.sample(range(0, 1_000, 20), 2))
        forward = rng.random() < 0.8
        expected += forward
        pair = (x, y) if forward else (y, x)
        rows += [("stockIcr", pair[0], time), ("stockIcr", pair[1], time + 5)]
    engine = program.engine(policy=policy)
    assert len(list(engine.run(rows))) == expected
    assert engine.errors == []


@pytest.mark.parametrize(
    "rule",
    [
        "d(X) <- a(X) where good(X).",
        "d(X) <- a(X) where (\\+ \\+ link(X, _)).",
        "d(X) <- (a(X) seq b(Y)) where link(X, Y).",
    ],
)
def test_facts_that_one_engine_changes_are_found_by_it_alone(rule: str) -> None:
    program = etalis.compile(f":- dynamic good/1, link/2. {rule}")
    program.load_facts("good", [("ann",), ("bob",)])
    program.load_facts("link", [("ann", 1), ("bob", 2)])
    engines = [program.engine(policy="unrestricted") for _ in range(2)]
    found: list[list[str]] = [[], []]
    for time in (1, 3):
        rows = [("a", "ann", time), ("a", "eve", time), ("b", 1, time + 1)]
        for engine, names in zip(engines, found, strict=True):
            names += [e.args[0] for name, value, at in rows for e in engine.push(name, value, at=at)]
        engines[0].assert_fact("good", "eve")
        engines[0].assert_fact("link", "eve", 1)
    assert "eve" in found[0]
    assert "eve" not in found[1]


def test_engines_share_loaded_facts_until_they_change_them() -> None:
    program = etalis.compile("over(X, L) <- pay(X, A) where (limit(X, L), A > L).")
    program.load_facts("limit", [("ann", 5), ("bob", 7)])
    one, two = program.engine(), program.engine()
    assert [str(event) for event in one.push("pay", "ann", 6, at=1)] == ["over(ann, 5) [1, 1]"]
    one.assert_fact("limit", "eve", 1)
    one.retract_fact("limit", "ann", 5)
    program.load_facts("limit", [("zoe", 0)])
    asked = [(name, 9) for name in ("ann", "bob", "eve", "zoe")]
    found = [
        [e.args for row in asked for e in engine.push("pay", *row, at=2)] for engine in (one, two, program.engine())
    ]
    assert found == [[("bob", 7), ("eve", 1)], [("ann", 5), ("bob", 7)], [("ann", 5), ("bob", 7), ("zoe", 0)]]
