"""The worked examples of actions, by their meaning and by the search; what else holds of searches."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from etalis.data.values import Struct
from etalis.reactive.execution import ANYTHING, Execution, Failed, Label, SearchLimits
from etalis.reactive.search import Search
from helpers.action_runs import ActionRun, all_executions, by_meaning, by_search, read

DATA = tomllib.loads((Path(__file__).parent / "executions.toml").read_text())
EXAMPLES = DATA["example"]
WAYS = (by_meaning, by_search)
Way = Callable[..., ActionRun]


def program_of(example: dict[str, Any]) -> str:
    given = [DATA["programs"][name] for name in example.get("with", ())]
    return "\n".join((*given, example.get("program", "")))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example['number']}-{example['action']}")
@pytest.mark.parametrize("way", WAYS)
def test_worked_examples(way: Way, example: dict[str, Any]) -> None:
    run = way(program_of(example), example["action"])
    assert list(run.state) == example["state"]
    if "failed" in example:
        why = example.get("why", "no execution")
        assert (list(run.path), run.failed, run.why) == (example["reached"], example["failed"], why)
    else:
        assert (list(run.path), run.failed) == (example["path"], None)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example['number']}-{example['action']}")
def test_all_executions_of_worked_examples(example: dict[str, Any]) -> None:
    found = list(all_executions(program_of(example), example["action"]))
    if "all" in example:
        assert len(found) == example["all"]
    if "path" in example:
        assert [*map(list, found[0])] == [example["path"], example["state"]]
    if "ends" in example:
        assert sorted({state for _, state in found}) == sorted(map(tuple, example["ends"]))
    if "orders" in example:
        orders = {tuple(label for label in path if label.startswith("effect")) for path, _ in found}
        assert len(orders) == example["orders"]
        for order in orders:
            assert [label for label in order if label in example["before"]] == example["before"]


def failure(run: ActionRun) -> tuple[Any, ...]:
    return run.why, run.failed, list(run.path), list(run.state)


@pytest.mark.parametrize("way", WAYS)
class TestEveryWay:
    def test_of_equal_attempts_the_first_is_told(self, way: Way) -> None:
        run = way(":- state p/1. p(1). p(2).", "p(X) seq del(p(X)) seq (X > 5 or X > 6)")
        assert failure(run) == ("no execution", "X > 5 with X = 1", ["del(p(1))"], ["p(1)", "p(2)"])

    def test_an_error_ends_the_search(self, way: Way) -> None:
        run = way(":- state p/1. p(1). p(a).", "p(X) seq (X > 1 or (X = 1 seq ins(p(3)) seq abort)) seq ins(p(4))")
        assert failure(run) == ("error", "X > 1 with X = a", [], ["p(1)", "p(a)"])
        assert run.error is not None
        assert "E503" in run.error

    def test_an_error_that_is_never_reached_is_none(self, way: Way) -> None:
        run = way(":- state p/1. p(1). p(a).", "p(X) seq X >= 1 seq ins(p(4))")
        assert run.path == ("ins(p(4))",)

    def test_an_error_inside_of_a_possibility_tells_the_path_outside(self, way: Way) -> None:
        run = way(":- state p/1.", "ins(p(1)) seq possible(ins(p(2)) seq a > 1)")
        assert failure(run)[:3] == ("error", "a > 1", ["ins(p(1))"])

    def test_a_long_path_is_a_limit(self, way: Way) -> None:
        run = way(":- state n/1. n(0). action up :- n(X) seq Y is X + 1 seq del(n(X)) seq ins(n(Y)) seq up.", "up",
                  SearchLimits(max_path=10))  # fmt: skip
        assert run.why == "limit"
        assert run.failed == "a path longer than max_path, 10 steps"
        assert run.path == ("del(n(0))", "ins(n(1))", "del(n(1))", "ins(n(2))")
        assert run.state == ("n(0)",)

    def test_many_tries_are_a_limit(self, way: Way) -> None:
        run = way(":- state p/1.", "member(X, [1, 2, 3, 4, 5, 6]) seq ins(p(X)) seq X > 5", SearchLimits(max_tries=12))
        assert (run.why, run.failed) == ("limit", "more than max_tries, 12 steps tried")

    @pytest.mark.parametrize("action", ["a", "b", "c"])
    def test_entering_clauses_without_end_is_a_limit(self, way: Way, action: str) -> None:
        text = ":- state p/0. action a :- a. action b :- b seq ins(p). action c :- iso(c) or possible(c)."
        assert way(text, action, SearchLimits(max_path=50)).why == "limit"

    def test_coming_back_is_no_way(self, way: Way) -> None:
        run = way(":- state p/0. action loop :- ins(p) seq del(p) seq loop.", "loop or ins(p)")
        assert run.path == ("ins(p)",)
        run = way(":- state p/0. action loop :- ins(p) seq del(p) seq loop.", "loop")
        expected = ["ins(p)", "del(p)"]
        assert failure(run) == ("no execution", "the same rest in the same state", expected, [])

    def test_what_is_refused_is_no_step(self, way: Way) -> None:
        refused = frozenset((Label("effect", Struct("charge", ("visa",))),))
        run = way("", "effect(charge(visa)) or effect(charge(giro))", None, refused)
        assert run.path == ("effect(charge(giro))",)
        run = way("", "X = visa seq effect(charge(X))", None, refused)
        assert failure(run)[:2] == ("effect refused", "effect(charge(visa))")

    def test_another_fact_with_the_key_is_no_step(self, way: Way) -> None:
        run = way(":- state k/2 key 1, p/0. k(a, 1).", "ins(p) seq iso(ins(k(b, 1)) seq ins(k(a, 2)))")
        assert failure(run)[:3] == ("no execution", "ins(k(a,2))", ["ins(p)", "ins(k(b,1))"])

    def test_facts_are_ground(self, way: Way) -> None:
        run = way(":- state p/1.", "skip seq ins(p(f(X)))")
        assert (run.why, run.failed) == ("error", "ins(p(f(_1)))")

    def test_only_state_is_changed(self, way: Way) -> None:
        run = way(":- state p/1. other(1).", "ins(other(2))")
        assert run.error is not None
        assert "other/1 is not declared as state" in run.error

    def test_events_are_raised_now_or_later(self, way: Way) -> None:
        run = way("", "raise(e(1)) seq raise(f, after(2)) seq X = 3 seq raise(f, after(X))")
        assert run.path == ("raise(e(1))", "raise(f,after(2))", "raise(f,after(3))")
        assert way("", "raise(f, after(0))").why == "error"

    def test_bindings_are_those_of_the_path(self, way: Way) -> None:
        run = way(":- state q/2. q(a, 1). q(b, [2, f(x)]).", "q(a, _) seq q(X, Y) seq X \\= a seq possible(Z = X)")
        assert run.bindings == {"X": "b", "Y": (2, Struct("f", ("x",))), "Z": "b"}

    def test_calls_bind_both_ways(self, way: Way) -> None:
        text = ":- state q/1. q(1). action take(f(X), [Y | _], Z) :- q(X) seq Y > 1 seq Z = X."
        assert way(text, "take(A, [1, 2], Z) or take(f(V), [2], W) seq effect(e(V, W))").path == ("effect(e(1,1))",)
        run = way(text, "take(1, [2], _)")
        assert (run.failed, run.why) == ("take(1, [2], _)", "no execution")

    def test_of_if_then_else_the_first_solution_counts(self, way: Way) -> None:
        run = way(":- state q/1. q(1). q(2).", "(q(X) -> X > 1 ; skip) or effect(second)")
        assert run.path == ("effect(second)",)
        run = way(
            ":- state q/1. q(1).", "(impossible(q(2)) -> effect(a) ; effect(b)) seq (possible(q(X)) -> X = 1 ; abort)"
        )
        assert run.path == ("effect(a)",)

    def test_a_fact_that_is_set_is_the_last(self, way: Way) -> None:
        run = way(":- state k/2 key 1. k(a, 1). k(b, 1).", "set(k(a, 2)) seq k(X, _) seq effect(first(X))")
        assert (run.path[-1], run.state) == ("effect(first(b))", ("k(b,1)", "k(a,2)"))

    def test_a_test_goes_on_where_it_stopped(self, way: Way) -> None:
        """Its facts were deleted, and others inserted, by what was tried between two solutions."""
        text = ":- state p/1, n/1. p(1). p(2). p(3). r(X, Y) :- p(X), p(Y), X < Y."
        run = way(text, "r(X, Y) seq del(p(_)) seq ins(p(Y)) seq ins(p(X)) seq ins(n(Y)) seq X > 1")
        assert run.path[-1] == "ins(n(3))"
        assert run.state == ("p(3)", "p(2)", "n(3)")


def test_two_processes_that_fail_are_searched_once_per_configuration() -> None:
    """13 times 13 configurations of 12 steps each, rather than 2.7 million paths."""
    a, b = (" seq ".join(f"ins({name}({i}))" for i in range(12)) for name in "ab")
    for action in (f"({a} par {b}) seq c", f"iso(({a} par {b}) seq c)", f"iso({a} par {b}) seq c"):
        run = by_search(":- state a/1, b/1, c/0.", action, SearchLimits(max_tries=500))
        assert (run.why, run.failed, len(run.path)) == ("no execution", "c", 24)


def test_paths_are_as_long_as_limits_allow() -> None:
    """Nothing recurses: neither over steps, nor over blocks within blocks, nor over what is still to be done."""
    program = """
        :- state n/1. n(0).
        action up(N) :- n(N).
        action up(N) :- n(X) seq X < N seq Y is X + 1 seq del(n(X)) seq ins(n(Y)) seq up(N).
        action into(0).
        action into(N) :- N > 0 seq M is N - 1 seq iso(into(M)).
        action back(0) :- skip.
        action back(N) :- N > 0 seq M is N - 1 seq back(M) seq skip.
    """.replace("action into(0).", "action into(0) :- skip.")
    assert len(by_search(program, "up(1900)").path) == 3_800
    assert by_search(program, "into(2000)").why is None
    assert by_search(program, "back(2000)").why is None
    assert by_search(program, "into(5000)").why == "limit"


def test_a_prepared_action_leaves_nothing_behind() -> None:
    text = ":- state k/2 key 1. k(a, 2). action a(X, Y) :- k(X, Y) seq Y > 0 seq Z is Y - 1 seq set(k(X, Z))."
    _, solver, actions, reaction = read(text, "a(X, Y)")
    run = Search(solver, actions).prepare(reaction.action, ("X", "unused"))
    assert run(("b", 1)) == Failed((), "k(X, Y) with X = b", "no execution")
    for left in (2, 1):
        found = run(("a", None))
        assert isinstance(found, Execution)
        assert found.bindings == {"X": "a", "Y": left}
        solver.database.state.commit()
    assert run((None, 1)) == Failed((), "Y > 0 with Y = 0", "no execution")


def test_an_always_about_single_facts_is_asked_of_those_that_changed() -> None:
    """A transfer among 100,000 accounts takes at most three times as long as one among 100."""
    program = """
        :- state balance/2 key 1.
        action add(A, M) :- balance(A, B) seq C is B + M seq set(balance(A, C)).
        always \\+ (balance(_, B), B < 0).
    """
    times = []
    for count in (100, 100_000):
        _, solver, actions, reaction = read(program, "add(A, -1) seq add(B, 1)")
        state = solver.database.state
        state.load({("balance", 2): [(i, 50) for i in range(count)]})
        run = Search(solver, actions).prepare(reaction.action, ("A", "B"))
        run((0, 1))
        took = []
        for _ in range(5):
            start = process_time()
            for i in range(2, 40):
                assert isinstance(run((i, i + 1)), Execution)
                state.commit()
            took.append(process_time() - start)
        times.append(min(took))
        found = Search(solver, actions).prepare(reaction.action, ("A", "B"))
        state.put("balance", (1, 0))
        assert isinstance(failed := found((1, 2)), Failed)
        assert (failed.why, failed.failed) == ("illegal state", "\\+ (balance(_, B), B < 0)")
    assert times[1] < 3 * times[0]


def test_labels_are_written_as_steps() -> None:
    assert str(Label("del", Struct("q", (ANYTHING, "_", Struct("f", (ANYTHING,)))))) == "del(q(_,'_',f(_)))"
    assert str(Label("ins", "p")) == "ins(p)"


def test_all_executions_are_found_one_by_one() -> None:
    found = all_executions(":- state p/1.", "member(X, [1, 2, 3]) seq ins(p(X))")
    assert [path for path, _ in islice(found, 2)] == [("ins(p(1))",), ("ins(p(2))",)]
