"""The checker of justifications: what is right passes, and for every reason something is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from etalis.language import syntax as s
from etalis.language.printer import print_item
from etalis.language.read.parser import parse, parse_rule
from etalis.language.rules import labelled_rules
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from etalis.why import justification as j
from etalis.why.checking.occurrences import RunRecord
from etalis.why.justify_check import JustificationChecker, WrongNode
from helpers.justifications import checker_of, recorded

SECOND = 1_000_000
Given = tuple[Any, ...]  # name, values, start and, if it is no instant, end


class Told:
    """A program on a stream, and trees over it written by hand; times are seconds."""

    def __init__(self, program: str, stream: list[Given], policy: str | None = "unrestricted") -> None:
        self.tree = parse(program)
        self.stream = [Event.make(n, tuple(v), round(t[0] * SECOND), round(t[-1] * SECOND)) for n, v, *t in stream]
        self.notes = recorded(self.tree, self.stream, policy)
        self.checker: JustificationChecker = checker_of(self.tree, self.notes, policy)

    def __getitem__(self, number: int) -> j.Received:
        event = self.stream[number - 1]
        return j.Received(event.name, event.args, event.start_time, event.end_time, number)

    def derived(
        self, atom: str, times: tuple[float, float], body: j.Body, *tests: j.Test, rule: str = "1", **bindings: Any
    ) -> j.Derived:
        pattern = parse_rule(f"{atom} <- a.").head
        args = tuple(arg.value for arg in pattern.args if isinstance(arg, s.Const))
        start, end = (round(time * SECOND) for time in times)
        text = {given.label or str(n): print_item(given) for n, given in enumerate(labelled_rules(self.tree), 1)}
        return j.Derived(pattern.name, args, start, end, rule, text.get(rule, ""), bindings, body, tests)

    def wrong(self, root: j.Derived | j.Raised) -> WrongNode | None:
        return self.checker.check(j.Justification(root, "sha256:"))

    def accepts(self, root: j.Derived | j.Raised) -> None:
        assert self.wrong(root) is None

    def refuses(self, root: j.Derived | j.Raised, node: j.Node, reason: str) -> None:
        wrong = self.wrong(root)
        assert wrong is not None
        assert reason in wrong.reason
        assert wrong.node is node


def us(seconds: float) -> int:
    return round(seconds * SECOND)


def pattern(text: str) -> s.Pattern:
    return parse_rule(f"h <- {text}.").pattern


def goal(text: str) -> s.Term:
    found = parse_rule(f"h <- a where {text}.").pattern
    assert isinstance(found, s.Condition)
    return found.goal


def nothing(text: str, low: float | None, high: float, where: str = "gap", **more: Any) -> j.Nothing:
    absent = pattern(text)
    return j.Nothing(absent, more.pop("bindings", {}), None if low is None else us(low), us(high), where, **more)


AB = [("a", (), 1), ("b", (), 2)]


def test_sequence() -> None:
    told = Told("c <- a seq b.", AB)
    told.accepts(told.derived("c", (1, 2), j.PairOf("seq", told[1], told[2])))


def test_other_inputs() -> None:
    told = Told("c <- a seq b.", [*AB, ("b", (), 3)])
    pair = j.PairOf("seq", told[1], told[3])
    node = told.derived("c", (1, 2), pair)
    told.refuses(node, node, "it occurs on")
    lied = replace(told[3], number=2)
    told.refuses(told.derived("c", (1, 2), j.PairOf("seq", told[1], lied)), lied, "input 2 is b [2, 2]")
    unknown = replace(told[1], number=9)
    told.refuses(told.derived("c", (1, 2), j.PairOf("seq", unknown, told[2])), unknown, "no such event")


def test_other_names() -> None:
    told = Told("c <- a seq b.", [*AB, ("x", (), 2)])
    other = told[3]
    told.refuses(told.derived("c", (1, 2), j.PairOf("seq", told[1], other)), other, "do not fit")
    node = told.derived("d", (1, 2), j.PairOf("seq", told[1], told[2]))
    told.refuses(node, node, "no such event")
    node = told.derived("c", (1, 2), j.PairOf("seq", told[1], told[2]), rule="2")
    told.refuses(node, node, "there is no rule 2")


def test_other_relations() -> None:
    told = Told("c <- a seq b.", AB)
    swapped = j.PairOf("seq", told[2], told[1])
    told.refuses(told.derived("c", (1, 2), swapped), swapped.right, "do not fit")  # type: ignore[arg-type]
    pair = j.PairOf("and", told[1], told[2])
    told.refuses(told.derived("c", (1, 2), pair), pair, "the rule has Binary there")
    node = told.derived("c", (1, 2), told[1])
    told.refuses(node, told_body(node), "the rule has Binary there")
    several = j.PairOf("seq", (told[1], told[1]), told[2])
    told.refuses(told.derived("c", (1, 2), several), several, "not one match under unrestricted")


def told_body(node: j.Derived) -> j.Body:
    return node.body


def test_relations_are_those_of_the_table() -> None:
    told = Told("c <- a during b. c <- b seq a.", [("a", (), 2, 3), ("b", (), 1, 4)])
    told.accepts(told.derived("c", (1, 4), j.PairOf("during", told[1], told[2])))
    pair = j.PairOf("seq", told[2], told[1])
    told.refuses(told.derived("c", (1, 4), pair, rule="2"), pair, "do not fit")
    weak = Told(":- set_flag(interval_relations, weak). c <- a during b.", [("a", (), 1, 4), ("b", (), 1, 4)])
    weak.accepts(weak.derived("c", (1, 4), j.PairOf("during", weak[1], weak[2])))


def test_bindings() -> None:
    told = Told("c(X) <- a(X) seq b(X).", [("a", (1,), 1), ("b", (1,), 2), ("b", (2,), 2)])
    right = told.derived("c(1)", (1, 2), j.PairOf("seq", told[1], told[2]), X=1)
    told.accepts(right)
    pair = j.PairOf("seq", told[1], told[3])
    told.refuses(replace(right, body=pair), pair, "do not fit")
    for bindings in ({"X": 2}, {}, {"X": 1, "Y": 1}):
        lied = replace(right, bindings=bindings)
        told.refuses(lied, lied, "its bindings are")


def test_head() -> None:
    told = Told("c(1) <- a. c(2) <- b. d(X) <- a or b(X).", AB)
    node = told.derived("c(1)", (1, 1), told[2], rule="2")
    told.refuses(node, node, "not the head")
    told.accepts(told.derived("d(null)", (1, 1), j.ChosenBranch(1, told[1]), rule="3"))


def test_a_rule_of_several_with_one_label() -> None:
    told = Told("r rule: c <- a. r rule: c <- b.", AB)
    told.accepts(told.derived("c", (1, 1), told[1], rule="r"))
    told.accepts(told.derived("c", (2, 2), told[2], rule="r"))


def test_windows() -> None:
    told = Told("r([property(window, 5)]) rule: c <- (a seq b) within 3.", AB)
    tests = j.WithinWindow(us(3), us(1)), j.WithinWindow(us(5), us(1))
    pair = j.PairOf("seq", told[1], told[2])
    told.accepts(told.derived("c", (1, 2), pair, *tests, rule="r"))
    told.refuses(told.derived("c", (1, 2), pair, tests[0], rule="r"), pair, "a test of the rule is missing")
    lied = j.WithinWindow(us(3), us(2))
    told.refuses(told.derived("c", (1, 2), pair, lied, tests[1], rule="r"), lied, "the window is")
    held = j.ConditionHeld("where", goal("true"), {})
    told.refuses(told.derived("c", (1, 2), pair, held, tests[1], rule="r"), held, "the rule has Within there")


def test_a_window_holds_for_all_below_it() -> None:
    told = Told("c <- (a during b) within 3.", [("a", (), 2, 3), ("b", (), 1, 9), ("b", (), 1, 4)])
    long = told[2]
    pair = j.PairOf("during", told[1], long)
    told.refuses(told.derived("c", (1, 4), pair, j.WithinWindow(us(3), us(8))), long, "longer than a window")


def test_tests_inside() -> None:
    told = Told("c <- (a where true) seq b.", AB)
    left = j.Tested(told[1], (j.ConditionHeld("where", goal("true"), {}),))
    told.accepts(told.derived("c", (1, 2), j.PairOf("seq", left, told[2])))
    bare = told[1]
    told.refuses(told.derived("c", (1, 2), j.PairOf("seq", bare, told[2])), bare, "a test of the rule is missing")


def test_conditions() -> None:
    program = "p(1, 2). p(1, 3). c(Y) <- a(X) where p(X, Y). d(Y) <- a(X) event_multiply p(X, Y)."
    told = Told(program, [("a", (1,), 1)])
    held = j.ConditionHeld("where", goal("p(X, Y)"), {"Y": 2})
    told.accepts(told.derived("c(2)", (1, 1), told[1], held, X=1, Y=2))
    second = j.ConditionHeld("where", goal("p(X, Y)"), {"Y": 3})
    told.refuses(told.derived("c(2)", (1, 1), told[1], second, Y=3), second, "does not hold")
    unsaid = j.ConditionHeld("where", goal("p(X, Y)"), {})
    told.refuses(told.derived("c(2)", (1, 1), told[1], unsaid, Y=2), unsaid, "does not hold")
    other = j.ConditionHeld("where", goal("p(Y, X)"), {"Y": 2})
    told.refuses(told.derived("c(2)", (1, 1), told[1], other, Y=2), other, "another condition")
    for value in (2, 3):
        solution = j.ConditionHeld("event_multiply", goal("p(X, Y)"), {"Y": value})
        told.accepts(told.derived(f"d({value})", (1, 1), told[1], solution, rule="2", Y=value))


def test_conditions_see_the_knowledge_of_their_time() -> None:
    program = ":- knowledge k/1 - no/1. c(X) <- a(X) where k(X). d(X) <- a(X) where \\+ k(X)."
    stream = [("a", (1,), 1), ("k", (1,), 2), ("a", (1,), 3), ("no", (1,), 3), ("a", (1,), 3)]
    told = Told(program, stream)
    held, failed = (j.ConditionHeld("where", goal(text), {}) for text in ("k(X)", "\\+ k(X)"))
    told.accepts(told.derived("d(1)", (1, 1), told[1], failed, rule="2", X=1))
    told.accepts(told.derived("c(1)", (3, 3), told[3], held, X=1))
    told.accepts(told.derived("d(1)", (3, 3), told[5], failed, rule="2", X=1))
    told.refuses(told.derived("c(1)", (3, 3), told[5], held, X=1), held, "does not hold")
    told.refuses(told.derived("d(1)", (3, 3), told[3], failed, rule="2", X=1), failed, "does not hold")


def test_facts_are_told_by_their_events() -> None:
    told = Told(":- knowledge k/1. c(X) <- a(X) where k(X).", [("k", (1,), 1), ("k", (2,), 1), ("a", (1,), 2)])
    atom = s.Compound("k", (s.Const(1),))

    def node(fact: j.KnownFact) -> j.Derived:
        held = j.ConditionHeld("where", goal("k(X)"), {}, (fact,))
        return told.derived("c(1)", (2, 2), told[3], held, X=1)

    told.accepts(node(j.KnownFact(atom, us(1), told[1])))
    told.accepts(node(j.KnownFact(atom)))
    for by, since in ((told[2], 1), (told[1], 2)):
        fact = j.KnownFact(atom, us(since), by)
        told.refuses(node(fact), fact, "tells another fact")
    fact = j.KnownFact(atom, us(2), told[3])
    told.refuses(node(fact), fact, "no event a tells it")


def test_check_knows_the_times() -> None:
    told = Told("c(T) <- (a seq b) check (t1(S), t2(E), T is E - S).", AB)
    held = j.ConditionHeld("check", goal("(t1(S), t2(E), T is E - S)"), {"S": 1, "E": 2, "T": 1})
    told.accepts(told.derived("c(1)", (1, 2), j.PairOf("seq", told[1], told[2]), held, T=1))


def test_gaps() -> None:
    told = Told("c <- (a seq b) cnot x.", [("a", (), 1), ("x", (), 2), ("a", (), 2.5), ("b", (), 3)])
    told.accepts(told.derived("c", (2.5, 3), j.PairOf("seq", told[3], told[4]), nothing("x", 2.5, 3)))
    absent = nothing("x", 1, 3)
    told.refuses(told.derived("c", (2.5, 3), j.PairOf("seq", told[1], told[4]), absent), absent, "does not hold")
    elsewhere = nothing("x", 1, 3)
    told.refuses(
        told.derived("c", (2.5, 3), j.PairOf("seq", told[3], told[4]), elsewhere), elsewhere, "it looks elsewhere"
    )
    other = nothing("y", 2.5, 3)
    told.refuses(told.derived("c", (2.5, 3), j.PairOf("seq", told[3], told[4]), other), other, "forbids another")


def test_absences_of_values() -> None:
    told = Told("c(X) <- a(X) fnot (x(X) seq y(_)).", [("x", (1,), 1), ("y", (7,), 2), ("a", (2,), 3), ("a", (1,), 3)])
    absent = nothing("x(X) seq y(_)", None, 3, "before", open_low=False, bindings={"X": 2})
    told.accepts(told.derived("c(2)", (3, 3), told[3], absent, X=2))
    lied = replace(absent, bindings={"X": 1})
    told.refuses(told.derived("c(2)", (3, 3), told[3], lied, X=2), lied, "other values")


def test_absences_in_a_window() -> None:
    told = Told("c <- (a fnot x) within 2.", [("x", (), 1), ("a", (), 3), ("a", (), 4)])
    inside = j.WithinWindow(us(2), 0)
    told.accepts(told.derived("c", (4, 4), told[3], nothing("x", 2, 4, "before", open_low=False), inside))
    absent = nothing("x", 1, 3, "before", open_low=False)
    told.refuses(told.derived("c", (4, 4), told[2], absent, inside), absent, "does not hold")


def test_absences_until_a_deadline() -> None:
    told = Told("c <- a seq (not b within 5).", [("a", (), 1), ("b", (), 6.5), ("a", (), 7), ("b", (), 12)])
    none = nothing("b", 1, 6, open_high=False)
    told.accepts(told.derived("c", (1, 6), j.Awaited(told[1], none)))
    late = nothing("b", 7, 12, open_high=False)
    awaited = j.Awaited(told[3], late)
    node = told.derived("c", (1, 6), awaited)
    told.refuses(node, awaited, "do not fit")
    lied = nothing("b", 1, 7, open_high=False)
    told.refuses(told.derived("c", (1, 6), j.Awaited(told[1], lied)), lied, "elsewhere")


def test_isolation() -> None:
    told = Told(
        "c <- iso(a seq b). d <- x.", [("a", (), 1), ("x", (), 2), ("a", (), 2.5), ("b", (), 3), ("z", (), 2.7)]
    )
    alone = j.AloneBetween(us(2.5), us(3), "gap")
    told.accepts(told.derived("c", (2.5, 3), j.PairOf("seq", told[3], told[4]), alone))
    lied = j.AloneBetween(us(2), us(3), "gap")
    told.refuses(told.derived("c", (2.5, 3), j.PairOf("seq", told[3], told[4]), lied), lied, "it looks elsewhere")
    disturbed = j.AloneBetween(us(1), us(3), "gap")
    told.refuses(told.derived("c", (2.5, 3), j.PairOf("seq", told[1], told[4]), disturbed), disturbed, "does not hold")


def test_alternatives() -> None:
    told = Told("c <- a or (b or x). d <- any(2, [a, b, x]).", [*AB, ("x", (), 3)])
    told.accepts(told.derived("c", (3, 3), j.ChosenBranch(3, told[3])))
    other = told[3]
    told.refuses(told.derived("c", (3, 3), j.ChosenBranch(2, other)), other, "do not fit")
    for which in (0, 4):
        branch = j.ChosenBranch(which, told[3])
        told.refuses(told.derived("c", (3, 3), branch), branch, "the rule has Or there")
    told.accepts(told.derived("d", (1, 3), j.ChosenBranch(2, j.PairOf("and", told[1], told[3])), rule="2"))


def test_moments() -> None:
    told = Told("c <- a seq 2.", AB)
    told.accepts(told.derived("c", (1, 2), j.PairOf("seq", told[1], j.PointReached(us(2)))))
    point = j.PointReached(us(3))
    told.refuses(told.derived("c", (1, 2), j.PairOf("seq", told[1], point)), point, "do not fit")


def test_alarms() -> None:
    told = Told("exceptionAlarm(late(X), 5) <- a(X).", [("a", (1,), 1)])
    told.accepts(told.derived("late(1)", (6, 6), j.Rung(told[1], us(6)), X=1))
    rung = j.Rung(told[1], us(7))
    told.refuses(told.derived("late(1)", (6, 6), rung, X=1), rung, "the alarm is due at")
    node = told.derived("late(1)", (6, 6), told[1], X=1)
    told.refuses(node, node, "sets an alarm")


def test_derived_parts() -> None:
    told = Told("m <- a. c <- m seq b.", AB)
    inner = told.derived("m", (1, 1), told[1])
    told.accepts(told.derived("c", (1, 2), j.PairOf("seq", inner, told[2]), rule="2"))
    lied = told.derived("m", (1, 1), told[2])
    told.refuses(told.derived("c", (1, 2), j.PairOf("seq", lied, told[2]), rule="2"), told_body(lied), "do not fit")


def test_nothing_is_made_of_itself() -> None:
    told = Told("r <- a. r <- r and a. r <- r.", [("a", (), 1)])
    node = told.derived("r", (1, 1), told[1])
    round_trip = told.derived("r", (1, 1), told.derived("r", (1, 1), told[1]), rule="3")
    told.refuses(round_trip, round_trip, "came before a part of it")
    object.__setattr__(node, "body", node)
    told.refuses(node, node, "made of itself")


def test_raised_events() -> None:
    told = Told("r <- e do event(x(1)). y(Z) <- x(Z). q <- e.", [("e", (), 1)])
    by = told.derived("r", (1, 1), told[1])
    raised = j.Raised("x", (1,), us(1), us(1), by)
    told.accepts(told.derived("y(1)", (1, 1), raised, rule="2", Z=1))
    lied = replace(raised, by=told.derived("q", (1, 1), told[1], rule="3"))
    told.refuses(told.derived("y(1)", (1, 1), lied, rule="2", Z=1), lied, "no goal that could raise it")
    unknown = replace(raised, args=(2,))
    told.refuses(told.derived("y(1)", (1, 1), unknown, rule="2", Z=2), unknown, "no such event")
    told.accepts(told.derived("y(1)", (1, 1), replace(raised, by=None), rule="2", Z=1))


def test_raised_events_end_no_earlier_than_what_raised_them() -> None:
    told = Told("r <- e do event(x). y <- x.", [("e", (), 1), ("e", (), 2)])
    late = j.Raised("x", (), us(1), us(1), told.derived("r", (2, 2), told[2]))
    told.refuses(told.derived("y", (1, 1), late, rule="2"), late, "ends before what raised it")


BBB = [("a", (), 1), ("b", (), 2), ("b", (), 3), ("b", (), 4), ("d", (), 5)]


@pytest.mark.parametrize("policy", POLICIES)
def test_open_runs_before_what_follows(policy: str) -> None:
    told = Told("m <- a seq b star_times seq d.", BBB, policy)
    run = j.RepeatedRun(told[1], (told[2], told[3], told[4]))
    told.accepts(told.derived("m", (1, 5), j.PairOf("seq", run, told[5])))
    if policy == "unrestricted":
        missing = j.PairOf("seq", j.RepeatedRun(told[1], (told[2], told[4])), told[5])
        told.refuses(told.derived("m", (1, 5), missing), missing, "do not fit")


def test_chains() -> None:
    told = Told("m <- a seq b ntimes 2. n <- b ntimes (1, 2).", BBB)
    told.accepts(told.derived("m", (1, 3), j.RepeatedRun(told[1], (told[2], told[3]))))
    told.accepts(told.derived("n", (2, 3), j.RepeatedRun(None, (told[2], told[3])), rule="2"))
    wrong: list[tuple[j.RepeatedRun, str]] = [
        (j.RepeatedRun(told[1], (told[2],)), "it has 1 elements"),
        (j.RepeatedRun(told[1], (told[2], told[3], told[4])), "it has 3 elements"),
        (j.RepeatedRun(told[1], (told[2], told[4])), "an element is skipped"),
        (j.RepeatedRun(told[1], (told[3], told[2])), "not successive"),
        (j.RepeatedRun(None, (told[2], told[3])), "no such repetition"),
        (j.RepeatedRun(told[1], ()), "no such repetition"),
    ]
    for run, reason in wrong:
        told.refuses(told.derived("m", (1, 3), run), run, reason)
    pair = j.PairOf("seq", told[1], told[2])
    told.refuses(told.derived("m", (1, 3), pair), pair, "a repetition or an aggregate")
    early = Told("m <- a seq b ntimes 1.", [("b", (), 0.5), ("a", (), 1), ("b", (), 2)])
    run = j.RepeatedRun(early[2], (early[1],))
    early.refuses(early.derived("m", (1, 2), run), run, "does not start after what it is counted after")


def test_elements_agree() -> None:
    told = Told("m(X) <- a seq b(X) ntimes 2.", [("a", (), 1), ("b", (1,), 2), ("b", (2,), 3), ("b", (1,), 4)])
    told.accepts(told.derived("m(1)", (1, 4), j.RepeatedRun(told[1], (told[2], told[4])), X=1))
    run = j.RepeatedRun(told[1], (told[2], told[3]))
    told.refuses(told.derived("m(1)", (1, 4), run, X=1), run, "its elements do not agree")


def test_open_runs_that_nothing_follows() -> None:
    told = Told("m <- a seq b star_times. n <- b star_times.", BBB)
    told.accepts(told.derived("m", (1, 3), j.RepeatedRun(told[1], (told[2], told[3]))))
    told.accepts(told.derived("n", (2, 4), j.RepeatedRun(None, (told[2], told[3], told[4])), rule="2"))
    for run, rule in (
        (j.RepeatedRun(told[1], (told[2], told[4])), "1"),
        (j.RepeatedRun(None, (told[2], told[4])), "2"),
    ):
        atom, times = ("m", (1, 4)) if rule == "1" else ("n", (2, 4))
        told.refuses(told.derived(atom, times, run, rule=rule), run, "an element is missing")
    overlapping = Told("n <- b star_times.", [("b", (), 1, 3), ("b", (), 2, 4), ("b", (), 5)])
    run = j.RepeatedRun(None, (overlapping[1], overlapping[2], overlapping[3]))
    overlapping.refuses(overlapping.derived("n", (1, 5), run), run, "does not start after the first ended")


def test_runs_put_together() -> None:
    told = Told("m <- a seq b star_times.", [("a", (), 1), ("a", (), 2), ("b", (), 3)], "cumulative")
    runs = tuple(j.RepeatedRun(left, (told[3],)) for left in (told[1], told[2]))
    told.accepts(told.derived("m", (1, 3), j.PutTogether(runs)))
    single = j.PutTogether((runs[0], runs[0].elements[0]))
    told.refuses(told.derived("m", (1, 3), single), runs[0].elements[0], "no such repetition")
    plain = Told("m <- a seq b star_times.", [("a", (), 1), ("a", (), 2), ("b", (), 3)])
    both = j.PutTogether(tuple(j.RepeatedRun(left, (plain[3],)) for left in (plain[1], plain[2])))
    plain.refuses(plain.derived("m", (1, 3), both), both, "no such repetition")


def test_pairs_put_together() -> None:
    told = Told("m(X) <- (a(X) seq b) where X > 0.", [("a", (1,), 1), ("a", (2,), 2), ("b", (), 3)], "cumulative")
    held, taken = j.ConditionHeld("where", goal("X > 0"), {}), j.TakenUnder("cumulative")
    both = j.PairOf("seq", (told[1], told[2]), told[3])
    told.accepts(told.derived("m(2)", (1, 3), both, held, taken, X=2))
    turned = j.PairOf("seq", (told[2], told[1]), told[3])
    node = told.derived("m(2)", (1, 3), turned, held, X=2)
    told.refuses(node, node, "its bindings are")
    told.refuses(told.derived("m(2)", (1, 3), both, held, j.TakenUnder("recent"), X=2), both, "follows cumulative")
    strict = Told("m(X) <- (a(X) seq b) where X > 1.", [("a", (1,), 1), ("a", (2,), 2), ("b", (), 3)], "cumulative")
    both = j.PairOf("seq", (strict[1], strict[2]), strict[3])
    held = j.ConditionHeld("where", goal("X > 1"), {})
    strict.refuses(strict.derived("m(2)", (2, 3), both, held, X=2), both, "fails a test")


SUMS = [("o", (), 1), ("p", (2,), 2), ("p", (3,), 3), ("p", ("x",), 3)]


def test_aggregates() -> None:
    told = Told("s(R) <- o seq aggregate(sum(X), p(X), R). t(R) <- aggregate(count, p(_), R) last 2.", SUMS)
    told.accepts(told.derived("s(0)", (1, 1), j.FoldedValue("sum", told[1], (), 0), R=0))
    told.accepts(told.derived("s(5)", (1, 3), j.FoldedValue("sum", told[1], (told[2], told[3]), 5), R=5))
    told.accepts(told.derived("t(2)", (3, 3), j.FoldedValue("count", None, (told[3], told[4]), 2), rule="2", R=2))
    wrong: list[tuple[j.FoldedValue, str]] = [
        (j.FoldedValue("sum", told[1], (told[2], told[3]), 6), "the sum of its elements is 5"),
        (j.FoldedValue("max", told[1], (told[2], told[3]), 5), "the sum of its elements is 5"),
        (j.FoldedValue("sum", told[1], (told[3],), 5), "an element is missing"),
        (j.FoldedValue("sum", told[1], (told[3], told[2]), 5), "not in the order"),
        (j.FoldedValue("sum", told[1], (told[2], told[3], told[4]), 5), "no number"),
        (j.FoldedValue("sum", told[1], (told[2], told[2], told[3]), 5), "one too many"),
        (j.FoldedValue("sum", None, (told[2], told[3]), 5), "a repetition or an aggregate"),
    ]
    for fold, reason in wrong:
        told.refuses(told.derived("s(5)", (1, 3), fold, R=5), fold, reason)
    early = Told("s(R) <- o seq aggregate(sum(X), p(X), R).", [("p", (5,), 0.5), *SUMS])
    fold = j.FoldedValue("sum", early[2], (early[1],), 5)
    early.refuses(early.derived("s(5)", (1, 3), fold, R=5), fold, "after the opener ended")


def test_values_of_groups() -> None:
    told = Told("s(K, R) <- aggregate(max(X), p(K, X), R).", [("p", (1, 5), 1), ("p", (2, 9), 2), ("p", (1, 3), 3)])
    told.accepts(told.derived("s(1, 5)", (1, 3), j.FoldedValue("max", None, (told[1], told[3]), 5), K=1, R=5))
    mixed = j.FoldedValue("max", None, (told[1], told[2], told[3]), 9)
    told.refuses(told.derived("s(1, 5)", (1, 3), mixed, K=1, R=5), mixed, "of another group")
    dropped = j.FoldedValue("max", None, (told[1],), 5)
    node = told.derived("s(1, 5)", (1, 3), dropped, K=1, R=5)
    told.refuses(node, node, "it occurs on")


def test_sub_rules_are_events_of_their_own() -> None:
    told = Told("c <- a seq (m <- b).", AB)
    inner = told.derived("m", (2, 2), told[2], rule="2")
    told.accepts(told.derived("c", (1, 2), j.PairOf("seq", told[1], inner)))


def test_ten_thousand_nested_derivations() -> None:
    depth = 10_000
    told = Told("n(0) <- z. n(M) <- n(N) and e(N, M).", [("z", (), 0)])
    events = [(Event.make("z", (), 0, 0), 1), (Event.make("n", (0,), 0, 0, "1"), None)]
    node = j.Derived("n", (0,), 0, 0, "1", "", {}, j.Received("z", (), 0, 0, 1))
    for n in range(depth):
        events += [(Event.make("e", (n, n + 1), n + 1, n + 1), n + 2), (Event.make("n", (n + 1,), 0, n + 1, "2"), None)]
        pair = j.PairOf("and", node, j.Received("e", (n, n + 1), n + 1, n + 1, n + 2))
        node = j.Derived("n", (n + 1,), 0, n + 1, "2", "", {"N": n, "M": n + 1}, pair)
    checker = JustificationChecker(RunRecord(told.tree, events), "unrestricted")
    assert checker.check(j.Justification(node, "")) is None
