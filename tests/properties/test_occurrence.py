"""What `check` says can never occur does not, and what it says changes nothing does not, by the executable meaning."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

from etalis.data.values import real
from etalis.errors import LimitError
from etalis.language import syntax as s
from etalis.language.check.bound_variables import mentioned
from etalis.language.check.checks import check
from etalis.language.check.outline import Outline
from etalis.language.lint.extent import either
from etalis.language.lint.satisfiability import Occurrence, kind_of
from etalis.language.printer import print_program
from etalis.language.read.parser import parse
from etalis.language.traversal import postorder, rewrite
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event
from helpers.examples import by_day
from helpers.programs import policies, programs, streams

pytestmark = pytest.mark.property

MOST = 40
RECEIVED_TOO = s.EventDeclaration("b", (("x", "any"),))  # the random programs make and receive it


def read_again(tree: s.Tree, policy: str) -> s.Tree:
    """The program as text gives it, with places, under a policy."""
    flag = s.SetFlag("event_consumption_policy", s.Const(policy))
    text = print_program(s.Tree((RECEIVED_TOO, flag, *tree.items)))
    note(text)
    return parse(text)


def meaning(program: s.Tree, stream: list[Event]) -> list[Event]:
    try:
        return semantics.run(program, stream, max_derivations=MOST)
    except LimitError:
        assume(False)
        raise


@by_day(4)
@given(programs(), streams(), policies())
def test_what_occurs_lies_within_its_extent(tree: s.Tree, stream: list[Event], policy: str) -> None:
    program = read_again(tree, policy)
    occurrence = Occurrence(Outline(program))
    extents = {kind: either(occurrence.made[id(rule)] for rule in rules) for kind, rules in occurrence.makers.items()}
    for event in meaning(program, stream):
        if (event.name, len(event.args)) not in extents:
            continue
        extent = extents[event.name, len(event.args)]
        assert extent is not None, f"{event!r} never occurs"
        bounds = (extent.length, extent.start, extent.end)
        times = (event.end_time - event.start_time, event.start_time, event.end_time)
        assert all(low <= time <= high for (low, high), time in zip(bounds, times, strict=True)), (event, extent)


@by_day(4)
@given(programs(), streams(), policies())
def test_a_rule_that_never_fires_is_not_missed(tree: s.Tree, stream: list[Event], policy: str) -> None:
    """Rules without an extent can be left out."""
    program = read_again(tree, policy)
    occurrence = Occurrence(Outline(program))
    dead = {id(rule.pattern) for rule in occurrence.outline.rules if occurrence.made[id(rule)] is None}
    if not dead or any(
        isinstance(node, s.Isolated) for rule in occurrence.outline.rules for node in postorder(rule.pattern)
    ):
        return  # iso looks at every kind that the program names
    kept = [item for item in program.items if not (isinstance(item, s.Rule) and id(item.pattern) in dead)]
    without = s.Tree(tuple(kept))
    known = {kind_of(rule.head) for rule in Outline(without).rules}
    of_rest = [e for e in meaning(program, stream) if (e.name, len(e.args)) in known]
    assert sorted(map(repr, of_rest)) == sorted(map(repr, meaning(without, stream)))


@by_day(4)
@given(programs(), streams(), policies())
def test_what_changes_nothing_can_be_left_out(tree: s.Tree, stream: list[Event], policy: str) -> None:
    program = read_again(tree, policy)
    vain = {problem.span for problem in check(program) if problem.code in ("W229", "W232")}
    if not vain:
        return
    instants = [Event.make(e.name, e.args, e.end_time, e.end_time) for e in stream]

    def without(node: s.Pattern) -> s.Pattern:
        match node:
            case s.SubRule(rule=rule):
                return replace(node, rule=replace(rule, pattern=rewrite(rule.pattern, without)))
            case s.Negation() | s.NotWithin() if node.span in vain:
                same_variables = tuple(map(s.Var, sorted(mentioned(node.absent))))
                return replace(node, absent=s.EventPattern("nothing", same_variables))
            case s.Isolated() | s.Within() if node.span in vain:
                return node.pattern
            case _:
                return node

    items = [
        replace(item, pattern=rewrite(item.pattern, without)) if isinstance(item, s.Rule) else item
        for item in program.items
    ]
    assert meaning(program, instants) == meaning(s.Tree(tuple(items)), instants)


TERMS = st.sampled_from(["X", "X", "Y", "0", "1", "2", "1.0", "0.5", '"x"', '"1"', "true"])
GOALS = st.builds(
    "{} {} {}".format,
    TERMS,
    st.sampled_from(["<", ">", "=<", ">=", "=:=", "=\\=", "=", "==", "\\=", "\\==", "is"]),
    st.one_of(TERMS, st.sampled_from(["X + 1", "X - 1", "Y + X"])),
)
VALUES = {
    "int": (-1, 0, 1, 2, 3),
    "float": (real(0.0), 0.5, real(1.0), 1.5, real(2.0)),
    "string": ("x", "1", "y"),
    "bool": ("true", "false"),
}
TYPES = st.sampled_from([*VALUES, "any"])


@by_day(4)
@given(st.lists(GOALS, min_size=1, max_size=3), TYPES, TYPES)
def test_conditions_that_never_or_always_hold(goals: list[str], x: str, y: str) -> None:
    text = f":- event(a(x: {x}, y: {y})). d(X, Y) <- a(X, Y) where ({', '.join(goals)})."
    program = parse(text)
    found = [p for p in check(program) if p.code in ("W231", "W232")]
    if not found:
        return
    note(text)
    note("\n".join(map(str, found)))
    values = {**VALUES, "any": tuple(v for several in VALUES.values() for v in several)}
    stream = [Event.make("a", (v, w), 0, 0) for v in values[x] for w in values[y]]
    derived = semantics.run(program, stream)
    if any(p.code == "W231" for p in found):
        assert derived == []
        return
    vain = [p.span for p in found if "with itself" not in p.message]  # which still asks for a number
    kept = [goal for goal in goals if not any(text[p.start : p.end] == goal for p in vain if p is not None)] or ["true"]
    assert semantics.run(parse(text.replace(", ".join(goals), ", ".join(kept))), stream) == derived
