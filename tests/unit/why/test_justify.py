"""Why an event occurred: trees over small streams, each accepted by the checker, and in the meaning's numbers."""

from __future__ import annotations

from typing import Any

import pytest

import etalis
from etalis.language.printer import print_term
from etalis.language.read.parser import parse
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from etalis.why import justification as j
from etalis.why.forms.json_form import from_json
from helpers.justifications import checker_of, recorded

S = 1_000_000
Row = tuple[Any, ...]  # name, values, time or both ends


class Explained:
    """A program run on a stream at level full; everything it derives is checked."""

    def __init__(self, program: str, rows: list[Row], policy: str = "unrestricted") -> None:
        compiled = etalis.compile(program)
        self.engine = compiled.engine(policy=policy, justification="full")
        self.found = [event for name, *args, at in rows for event in self.engine.push(name, *args, at=at)]
        self.found += self.engine.close()
        tree = parse(program)
        times = [at if isinstance(at, tuple) else (at, at) for *_, at in rows]
        stream = [Event.make(row[0], row[1:-1], a * S, b * S) for row, (a, b) in zip(rows, times, strict=True)]
        notes = recorded(tree, stream, policy)
        checker = checker_of(tree, notes, policy)
        contributors = {made.event: tuple(sorted(made.contributors)) for made in notes.record}
        for event in self.found:
            told = self.engine.justify(event)
            assert told.complete
            assert checker.check(told) is None, event
            assert event.parts == contributors[event]

    def why(self, question: str, **options: Any) -> str:
        return str(self.engine.justify(question, **options)).strip()

    def root(self, question: str, **options: Any) -> j.Derived:
        found = self.engine.justify(question, **options).root
        assert isinstance(found, j.Derived)
        return found


def lines(text: str) -> str:
    return "\n".join(line.removeprefix("        ") for line in text.strip("\n").splitlines()).rstrip()


def test_sequence() -> None:
    run = Explained("c <- a seq b.", [("a", 1), ("b", 2)])
    assert run.why("c") == lines("""
        c [1, 2]   by rule 1: c <- a seq b.
        ├─ a [1, 1]   input 1
        └─ b [2, 2]   input 2
    """)
    assert [event.parts for event in run.found] == [(1, 2)]


def test_a_chain_has_no_inner_events() -> None:
    run = Explained("hit <- p seq q seq r.", [("p", 1), ("q", 2), ("r", 3)])
    inside = [type(node).__name__ for node in j.nodes(run.root("hit"))]
    assert inside == ["Received", "Received", "PairOf", "Received", "PairOf", "Derived"]


def test_a_condition_is_held_by_its_proof() -> None:
    root = Explained("hit(X) <- p(X) where X > 0.", [("p", 1, 1)]).root("hit(_)")
    (held,) = root.tests
    assert isinstance(held, j.ConditionHeld)
    (proof,) = held.proof
    assert isinstance(proof, j.BuiltIn)
    assert print_term(proof.goal) == "1 > 0"
    assert root.bindings == {"X": 1}


def test_an_absence_says_where_nothing_was() -> None:
    (nothing,) = Explained("c <- (a seq b) cnot x.", [("a", 1), ("b", 3)]).root("c").tests
    assert isinstance(nothing, j.Nothing)
    assert (nothing.low, nothing.high, nothing.where) == (1 * S, 3 * S, "gap")
    assert (nothing.open_low, nothing.open_high) == (True, True)


def test_a_fact_of_the_program_holds_a_condition() -> None:
    program = "far(bern, rome). fraud(C) <- w(C, A) seq w(C, B) where far(A, B)."
    rows = [("w", "c", "basel", 1), ("w", "c", "bern", 2), ("w", "d", "rome", 3), ("w", "c", "rome", 4)]
    run = Explained(program, rows)
    assert run.why("fraud(_)") == lines("""
        fraud(c) [2, 4]   by rule 1: fraud(C) <- w(C, A) seq w(C, B) where far(A, B).
        ├─ w(c, bern) [2, 2]   input 2
        ├─ w(c, rome) [4, 4]   input 4
        └─ where far(bern, rome)   fact
    """)


def test_a_fact_that_was_known_before_the_first_event() -> None:
    engine = etalis.compile(":- dynamic(vip/1). hit(X) <- p(X) where vip(X).").engine(justification="full")
    engine.assert_fact("vip", 1)
    engine.push("p", 1, at=5)
    engine.assert_fact("vip", 2)
    engine.push("p", 2, at=6)
    assert str(engine.justify("hit(1)")).splitlines()[-1] == "└─ where vip(1)   fact"
    assert str(engine.justify("hit(2)")).splitlines()[-1] == "└─ where vip(2)   fact since 5"


@pytest.mark.parametrize(
    "flags", [":- set_flag(justification_horizon, 4).", ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 4)."]
)
@pytest.mark.parametrize("is_changed", [False, True])
def test_conditions_of_matches_before_the_horizon(flags: str, is_changed: bool) -> None:
    engine = etalis.compile(f"{flags} :- dynamic(ok/1). hit(X) <- p(X) seq q where (X > 0, ok(X)).").engine(
        justification="full", policy="unrestricted"
    )
    engine.assert_fact("ok", 1)
    for name, args, at in (("p", (1,), 1), ("p", (2,), 1), ("q", (), 2)):
        engine.push(name, *args, at=at)
    engine.advance(to=60)
    if is_changed:
        engine.assert_fact("ok", 3)
        engine.advance(to=120)
        engine.assert_fact("ok", 4)
    last = str(engine.justify("hit(1)")).splitlines()[3]
    assert last == "└─ where 1 > 0, ok(1)" + ("   the knowledge of then is not kept" if is_changed else "")
    assert "condition: ok(2) (of 2 > 0, ok(2)) has no proof" in str(engine.why_not("hit(2)"))


def test_an_aggregate_whose_elements_are_older_than_the_history() -> None:
    flags = ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 4)."
    engine = etalis.compile(f"{flags} m(X) <- aggregate(avg(V), b(V), X) last 2.").engine(justification="full")
    found = []
    for value, at in ((1, 2), (1, 1), (1, 5), (1, 20), (1, 40)):
        found += engine.push("b", value, at=at)
    found += engine.advance(to=60)
    why = engine.justify(found[0])
    assert str(why).splitlines()[1:3] == ["└─ avg 1.0 of 1 element", "   └─ input 2, no longer in the history"]
    assert not why.complete


def test_a_deadline_awaited() -> None:
    root = Explained("c <- a seq (not b within 5).", [("a", 1)]).root("c")
    assert (root.start, root.end) == (1 * S, 6 * S)
    assert isinstance(root.body, j.Awaited)
    nothing = root.body.nothing
    assert (nothing.low, nothing.high, nothing.open_low, nothing.open_high) == (1 * S, 6 * S, True, False)


def test_every_element_of_a_sum() -> None:
    rows = [("o", 1), ("p", 2, 2), ("p", 3, 3)]
    run = Explained("s(R) <- o seq aggregate(sum(X), p(X), R).", rows)
    body = run.root("s(5)").body
    assert isinstance(body, j.FoldedValue)
    assert (body.kind, body.value) == ("sum", 5)
    assert [one.number for one in (body.opener, *body.elements) if isinstance(one, j.Received)] == [1, 2, 3]
    assert {event.args[0]: event.parts for event in run.found} == {0: (1,), 2: (1, 2), 5: (1, 2, 3)}


@pytest.mark.parametrize("policy", POLICIES)
def test_every_element_of_a_repetition(policy: str) -> None:
    run = Explained("m <- a seq b star_times seq d.", [("a", 1), ("b", 2), ("b", 3), ("d", 4)], policy)
    assert [event.parts for event in run.found] == [(1, 2, 3, 4)]
    root = run.root("m")
    assert isinstance(root.body, j.PairOf)
    assert isinstance(root.body.left, j.RepeatedRun)
    assert len(root.body.left.elements) == 2
    assert [test.policy for test in root.tests if isinstance(test, j.TakenUnder)] == (
        [] if policy == "unrestricted" else [policy]
    )


def test_closure() -> None:
    program = "r(X, Y) <- e(X, Y). r(X, Z) <- r(X, Y) and e(Y, Z)."
    run = Explained(program, [("e", 1, 2, 1), ("e", 2, 3, 2), ("e", 1, 3, 2)])
    assert run.why("r(1, 3)", interval=(1, 2)) == lines("""
        r(1, 3) [1, 2]   by rule 2: r(X, Z) <- r(X, Y) and e(Y, Z).
        ├─ r(1, 2) [1, 1]   by rule 1: r(X, Y) <- e(X, Y).
        │  └─ e(1, 2) [1, 1]   input 1
        └─ e(2, 3) [2, 2]   input 2
    """)
    assert run.why("r(1, 3)", interval=(2, 2)) == lines("""
        r(1, 3) [2, 2]   by rule 1: r(X, Y) <- e(X, Y).
        └─ e(1, 3) [2, 2]   input 3
    """)


def test_raised_events() -> None:
    run = Explained("r <- e do event(x(1)). y(Z) <- x(Z).", [("e", 1)])
    raised = run.root("y(1)").body
    assert isinstance(raised, j.Raised)
    assert raised.atom == "x(1)"
    assert raised.by is not None
    assert raised.by.atom == "r"
    assert isinstance(raised.by.body, j.Received)
    assert {str(event).split(" ")[0]: event.parts for event in run.found} == {"r": (1,), "y(1)": (1,)}


def test_a_fact_with_the_event_that_told_it() -> None:
    program = ":- knowledge linked/2. m(A, B) <- p(A) seq q(B) where linked(A, B)."
    run = Explained(program, [("p", "a", 1), ("linked", "a", "b", 3), ("q", "b", 4)])
    assert [event.parts for event in run.found] == [(1, 3)]
    (held,) = run.root("m(_, _)").tests
    assert isinstance(held, j.ConditionHeld)
    (fact,) = held.proof
    assert isinstance(fact, j.KnownFact)
    assert (print_term(fact.atom), fact.since) == ("linked(a, b)", 3 * S)
    assert isinstance(fact.by, j.Received)
    assert fact.by.number == 2


def test_the_first_branch_of_two() -> None:
    run = Explained("c <- a or a.", [("a", 1)])
    assert len(run.found) == 1
    body = run.root("c").body
    assert isinstance(body, j.ChosenBranch)
    assert body.which == 1


def test_what_cumulative_puts_together() -> None:
    run = Explained("c <- a seq b.", [("a", 1), ("a", 2), ("b", 3)], "cumulative")
    root = run.root("c")
    assert (root.start, root.end) == (1 * S, 3 * S)
    assert isinstance(root.body, j.PairOf)
    assert isinstance(root.body.left, tuple)
    assert [event.parts for event in run.found] == [(1, 2, 3)]


def test_the_newest_that_is_kept() -> None:
    run = Explained("c <- a seq b.", [("a", 1), ("a", 2), ("b", 3)], "snoop_recent")
    assert [(event.start, event.parts) for event in run.found] == [(2, (2, 3))]


def test_an_alarm_rings_when_it_is_due() -> None:
    root = Explained("exceptionAlarm(late, 5) <- a.", [("a", 1)]).root("late")
    assert (root.start, root.end) == (6 * S, 6 * S)
    assert isinstance(root.body, j.Rung)
    assert root.body.due == 6 * S
    assert isinstance(root.body.body, j.Received)


def test_each_solution_of_a_multiplied_element_counts_once() -> None:
    program = "d(R) <- aggregate(sum(Y), c event_multiply (Y = 2 ; Y = 1 ; Y = 5), R) last 2."
    run = Explained(program, [("c", 1), ("c", 2)])
    body = run.root("d(7)").body
    assert isinstance(body, j.FoldedValue)
    solutions = [one.tests[0].solution for one in body.elements if isinstance(one, j.Tested)]  # type: ignore[union-attr]
    assert solutions == [{"Y": 5}, {"Y": 2}]


def test_equal_events_that_were_raised_are_two() -> None:
    run = Explained("p <- a do event(c), event(c). q <- aggregate(count, c, N) last 9 where N =:= 2.", [("a", 1)])
    assert len(run.found) == 2


def test_a_raised_event_that_is_reported_has_a_justification() -> None:
    run = Explained("print_trigger(c/1). p <- a(X) do event(c(X)).", [("a", 1, 1)])
    assert [str(event) for event in run.found] == ["c(1) [1, 1]"]
    assert run.why("c(1)") == lines("""
        c(1) [1, 1]   raised by an action of
        └─ p [1, 1]   by rule 1: p <- a(X) do event(c(X)).
           └─ a(1) [1, 1]   input 1
    """)


def test_an_action_on_a_part_is_not_told_with_that_part() -> None:
    compiled = etalis.compile("q <- ((a seq b) do event(c)) seq d. r <- c.")
    engine = compiled.engine(justification="full")
    assert [str(event) for event in (*engine.push("a", at=1), *engine.push("b", at=2))] == ["r [2, 2]"]
    told = engine.justify("r")
    assert not told.complete
    assert "part of a pattern" in told.notes[0]


def test_a_rule_that_a_goal_inserted_made_it() -> None:
    run = Explained("p <- a do ins_event_rule(e(X) <- b(X)).", [("a", 1), ("b", 7, 2)])
    assert run.root("e(7)").note == "the rule was inserted at 1"


def test_a_condition_sees_the_time_of_its_match() -> None:
    run = Explained("d(S) <- a where current_datetime(datetime(_, _, _, _, _, S)).", [("a", 1), ("b", 9)])
    (held,) = run.root("d(_)").tests
    assert isinstance(held, j.ConditionHeld)
    assert held.note is None


def test_the_latest_that_a_pattern_asks_for() -> None:
    run = Explained(
        "d(X) <- a(X). d(X) <- (b(X) seq c).", [("a", 1, 1), ("a", 2, 2), ("b", 1, 3), ("c", 4), ("a", 1, 5)]
    )
    assert (run.root("d(1)").end, run.root("d(2)").end, run.root("d(_)").end) == (5 * S, 2 * S, 5 * S)
    assert run.root("d(1)", at=4).start == 3 * S
    assert run.root("d(1)", interval=(1, 1)).end == 1 * S
    with pytest.raises(etalis.EventError, match="did not occur"):
        run.root("d(1)", at=3)


def test_elements_beyond_the_limit_are_a_number() -> None:
    program = ":- set_flag(justification_limit, 3). s(R) <- o seq aggregate(sum(X), p(X), R)."
    engine = etalis.compile(program).engine(justification="full")
    found = [*engine.push("o", at=1), *(e for i in range(2, 12) for e in engine.push("p", i, at=i))]
    told = engine.justify(found[-1])
    assert not told.complete
    assert told.notes == ("7 elements of an aggregate are beyond justification_limit",)
    assert isinstance(told.root, j.Derived)
    assert isinstance(told.root.body, j.FoldedValue)
    assert (told.root.body.value, len(told.root.body.elements)) == (65, 3)
    assert found[-1].parts == (1, 9, 10, 11)
    assert engine.justify(found[3]).complete


def test_what_lies_beyond_the_horizon_has_a_number_alone() -> None:
    program = ":- set_flag(justification_horizon, 10). c(X) <- a(X) seq b(X)."
    engine = etalis.compile(program).engine(policy="chronological", justification="full")
    engine.push("a", 0, at=0)
    assert not [*engine.run([("a", i, i) for i in range(1, 20_000)])]
    (event,) = engine.push("b", 0, at=20_000)
    told = engine.justify(event)
    assert event.parts == (1, 20_001)
    assert not told.complete
    assert [node.name for node in j.nodes(told.root) if isinstance(node, j.Received)] == [None, "b"]


def test_two_thousand_nested_derivations() -> None:
    engine = etalis.compile("n(0) <- a. n(Y) <- n(X) seq e where Y is X + 1.").engine(justification="full")
    *_, last = engine.run([("a", 0), *(("e", i) for i in range(1, 2_000))])
    told = engine.justify(last)
    assert told.complete
    assert len(last.parts) == 2_000
    assert sum(isinstance(node, j.Derived) for node in j.nodes(told.root)) == 2_000
    assert all(len(form) > 10_000 for form in (str(told), told.to_json(), str(told.to_term()), told.to_udraw()))
    assert from_json(told.to_json()).to_json() == told.to_json()


def test_the_solution_by_which_later_conditions_hold() -> None:
    program = "p(0, 1). d(X) <- ((a(X) event_multiply (Y = 0 ; Y = 1)) seq b) where p(X, Y)."
    run = Explained(program, [("a", 0, 1), ("b", 2)])
    assert run.root("d(0)").bindings == {"X": 0, "Y": 1}


def test_the_solutions_of_two_conditions_on_one_part() -> None:
    program = "p(2). p(0). d <- a event_multiply p(X) event_multiply (Y = 3 ; Y = 1) where Y > X + 2."
    run = Explained(program, [("a", 1)])
    assert run.root("d").bindings == {"X": 0, "Y": 3}


def test_the_gap_before_an_aggregate_ends_where_its_elements_or_its_opener_begin() -> None:
    run = Explained("d(R) <- a seq aggregate(count, b, R) cnot c.", [("a", 0), ("b", 2), ("b", (1, 5))])
    (nothing,) = [node for node in j.nodes(run.root("d(2)")) if isinstance(node, j.Nothing)]
    assert (nothing.low, nothing.high) == (0, 1 * S)
    run = Explained("d(R) <- (a seq b) seq aggregate(count, c, R) cnot x.", [("a", 1), ("b", 3)])
    (nothing,) = [node for node in j.nodes(run.root("d(0)")) if isinstance(node, j.Nothing)]
    assert (nothing.low, nothing.high) == (1 * S, 3 * S)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_an_any_among_alternatives(policy: str) -> None:
    run = Explained(
        "d(K) <- n(K) or any(2, [b(K), a(K), c(K)]) or m(K).", [("b", 1, 1), ("c", 1, 3), ("m", 2, 4)], policy
    )
    assert {str(event) for event in run.found} == {"d(1) [1, 3]", "d(2) [4, 4]"}
    branches = [
        node.which for name in ("d(1)", "d(2)") for node in j.nodes(run.root(name)) if isinstance(node, j.ChosenBranch)
    ]
    assert branches == [3, 5]  # of n, b and a, b and c, a and c, m
