"""Patterns of which one part may be missing, and absences with conditions over both sides, on every way to run them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import assume, event, given, note, settings
from hypothesis import strategies as st

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.eligibility import in_order
from etalis.columnar.learning import UNTAUGHT
from etalis.columnar.run import ColumnRun
from etalis.errors import LimitError, ProgramError
from etalis.language import syntax as s
from etalis.language.check.checks import check
from etalis.language.printer import print_program
from etalis.language.read.parser import parse
from etalis.language.rules import known_events
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event
from etalis.why.forms.json_form import from_json
from helpers.justifications import checker_of, recorded
from helpers.programs import KINDS, Shape, policies, programs, streams
from properties.test_carry import check as check_alternating
from properties.test_columns import check_meaning
from properties.test_contributors import check_contributors
from properties.test_disorder import agree_when_corrected, agree_when_late
from properties.test_engine import MOST, agree, compiled, meaning, moment
from properties.test_stages import PARTABLE, agree_in_stages, keyed_streams, staged_programs

pytestmark = pytest.mark.property

UNTIED = tuple(kind for kind in KINDS if kind not in ("iso", "do"))
WHOLE = Shape(kinds=(*UNTIED, *["outer"] * 8, *["judged"] * 2), policies=(
    "unrestricted", "unrestricted", "recent", "chronological", "continuous", "cumulative",
))  # fmt: skip
JOINS = Shape(  # many partners, of which some are missing
    rules=4, leaves=4, depth=3, events=20, moments=8, policies=WHOLE.policies,
    kinds=(*["event"] * 4, *["outer"] * 8, "binary", "within", "where", "cnot", "judged", "not_within", "or"),
)  # fmt: skip
SIDES = (
    "a(X)", "b(X)", "b(Y)", "c(X, Y)", "c(Y, X)", "a(1)", "(a(X) seq b(Y))", "(b(X) and n)", "(a(X) or b(X))",
    "(a(X) where X > 0)",
)  # fmt: skip
STAGED = replace(PARTABLE, kinds=(*PARTABLE.kinds, *["outer"] * 8), policies=WHOLE.policies)
COLUMNS = replace(  # what has kernels for the most part: one inside the other, over integers
    JOINS, events=16, alarms=False, values=(*[0] * 6, *[1] * 4, 2, 3),
    kinds=(*["event"] * 4, *["outer"] * 14, "binary", "binary", "within", "where", "or", "not_within"),
)  # fmt: skip
FLAT = Shape(  # what the least model is defined for
    rules=4, leaves=4, depth=3, events=12, moments=6, policies=("unrestricted",), alarms=True,
    kinds=(
        *["event"] * 4, *["outer"] * 8, "binary", "binary", "within", "where", "cnot", "fnot", "judged", "not_within",
    ),
)  # fmt: skip


def is_sound(tree: s.Tree) -> bool:
    """Tell whether a program has no error: by chance one asks for its own result."""
    return not any(problem.is_error for problem in check(parse(print_program(tree))))


@settings(max_examples=settings.default.max_examples // 2)
@given(programs(WHOLE).filter(is_sound), streams(WHOLE), policies(WHOLE))
def test_the_engine_gives_the_meaning(tree: s.Tree, stream: list[Event], policy: str) -> None:
    agree(tree, stream, policy, ())


@settings(max_examples=settings.default.max_examples // 2)
@given(programs(JOINS).filter(is_sound), streams(JOINS), policies(JOINS))
def test_outer_joins_give_the_meaning(tree: s.Tree, stream: list[Event], policy: str) -> None:
    agree(tree, stream, policy, ())


@st.composite
def lone_joins(draw: st.DrawFn) -> s.Tree:
    """One outer join, or two with equal bodies, of which nothing but the matches falls due."""
    operator = draw(st.sampled_from(("seq?", "?seq", "equals?", "?equals", "and?", "?and")))
    left, right = (draw(st.sampled_from(SIDES)) for _ in "ab")
    condition = draw(st.sampled_from(("", "", " where X =< Y", " where X \\= Y")))
    body = f"({left} {operator} ({right}{condition})) within {draw(st.integers(1, 5))}"
    heads = draw(st.sampled_from((["f(X, Y)"], ["f(Y)"], ["f(X, Y)", "h(X, Y)"], ["f(X)", "h(Y, 0)"])))
    return parse("\n".join(f"{head} <- {body}." for head in heads))


@settings(max_examples=settings.default.max_examples // 2)
@given(lone_joins().filter(is_sound), streams(JOINS), policies(JOINS))
def test_an_outer_join_alone_gives_the_meaning(tree: s.Tree, stream: list[Event], policy: str) -> None:
    agree(tree, stream, policy, ())


@settings(max_examples=settings.default.max_examples // 10)
@given(programs(FLAT).filter(is_sound), streams(FLAT))
def test_the_steps_come_to_the_least_model(tree: s.Tree, stream: list[Event]) -> None:
    text = print_program(tree)
    note(f"{text}\n{stream}")
    found = meaning(text, stream, "unrestricted")
    flags = s.SetFlag("event_consumption_policy", s.Const("unrestricted"))
    program = parse(print_program(s.Tree((flags, *tree.items))))
    assume(found is not None and not any(r.properties for r in program.items if isinstance(r, s.Rule)))
    try:
        model = semantics.least_model(program, stream)
    except ProgramError:
        return
    assert {(e.name, e.args, e.start, e.end) for e in found} == {(e.name, e.args, e.start, e.end) for e in model}


@settings(max_examples=settings.default.max_examples // 10)
@given(
    programs(JOINS).filter(is_sound), streams(JOINS).filter(bool), policies(JOINS), st.randoms(use_true_random=False)
)
def test_late_partners_take_rows_back(tree: s.Tree, stream: list[Event], policy: str, random: Random) -> None:
    """Shows definition 19.2 for parts that may be missing."""
    agree_when_late(tree, stream, policy, random)


@settings(max_examples=settings.default.max_examples // 10)
@given(programs(JOINS).filter(is_sound), streams(JOINS).filter(bool), policies(JOINS), st.data())
def test_partners_that_are_taken_back_leave_rows_alone(
    tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject
) -> None:
    """Shows definition 20.2 for parts that may be missing."""
    agree_when_corrected(tree, stream, policy, data)


@settings(max_examples=settings.default.max_examples // 5)
@given(programs(JOINS).filter(is_sound), streams(JOINS).filter(bool), policies(JOINS), st.booleans(), st.data())
def test_a_restored_engine_goes_on(tree, stream, policy, parts, data) -> None:
    """Shows definition 22.2 for parts that may be missing."""
    text = print_program(tree)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), min_size=1, max_size=3)))
    note(f"{policy}\n{text}\n{stream}\n{cuts}")
    expected = meaning(text, stream, policy)
    if expected is None:
        return
    program = etalis.compile(text, max_derivations=MOST)
    engine = program.engine(policy=policy, parts=parts)
    found: list[Event] = []
    for i, each in enumerate(stream):
        for _ in range(cuts.count(i)):
            engine = program.restore(engine.snapshot(), policy=policy, parts=parts)
        found += engine.push(each.name, *each.args, at=moment(each))
    assert [*found, *engine.close()] == expected


@settings(max_examples=settings.default.max_examples // 10)
@given(programs(JOINS).filter(is_sound), streams(JOINS).filter(bool), st.integers(1, 12))
def test_what_is_shed_makes_nothing_come_about(tree: s.Tree, stream: list[Event], hard: int) -> None:
    """Shows definition 22.5 for parts that may be missing."""
    text = print_program(tree)
    note(f"{hard}\n{text}\n{stream}")
    expected = meaning(text, stream, "unrestricted")
    if expected is None:
        return
    program = etalis.compile(text, max_derivations=MOST, hard_limit=hard, shedding="oldest")
    engine = program.engine(policy="unrestricted")
    found: list[Event] = []
    try:
        for event in stream:
            found += engine.push(event.name, *event.args, at=moment(event))
    except LimitError:
        return
    assert not Counter([*found, *engine.close()]) - Counter(expected)


@settings(max_examples=settings.default.max_examples // 5)
@given(
    staged_programs(STAGED).filter(is_sound), keyed_streams(), policies(STAGED), st.sampled_from((1, 2, 7))
)  # fmt: skip
def test_stages_give_the_whole(tree: s.Tree, stream: list[Event], policy: str, shards: int) -> None:
    """Shows definition 22.1 for parts that may be missing."""
    agree_in_stages(tree, stream, policy, shards)


@settings(max_examples=settings.default.max_examples // 10)
@given(programs(JOINS).filter(is_sound), streams(JOINS), policies(JOINS), st.data())
def test_tables_give_the_meaning(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    check_meaning(tree, stream, policy, data)


def is_ordered(tree: s.Tree) -> bool:
    """Tell whether a program has a part that may be missing, and no recursion."""
    text = print_program(tree)
    return (
        "?" in text and is_sound(tree) and in_order(compiled(text).compiled.plans("unrestricted"), UNTAUGHT) is not None
    )


@settings(max_examples=settings.default.max_examples // 20)
@given(programs(COLUMNS).filter(is_ordered), streams(COLUMNS), policies(COLUMNS), st.sampled_from((1, 7, 100)))
def test_columns_of_any_size_give_the_meaning(tree: s.Tree, stream: list[Event], policy: str, size: int) -> None:
    """Shows definition 22.1 for parts that may be missing."""
    text = print_program(tree)
    note(f"{policy} {size}\n{text}\n{stream}")
    types, expected = find_types(stream), meaning(text, stream, policy)
    run = ColumnRun(compiled(text).compiled, types, policy=policy)
    parts = [gather(stream[low : low + size], types) for low in range(0, len(stream), size)]
    try:
        found = [*(each for part in parts for each in run.process(part)), *run.close()]
    except LimitError:
        assert expected is None
        return
    assert expected is not None or run.is_mixed
    event("mixed" if run.is_mixed else "over columns" if run.components else "event at a time")
    if run.is_mixed:  # in which order two parts report one moment is left open
        assert expected is None or Counter(found) == Counter(expected)
    else:
        assert found == expected


@settings(max_examples=settings.default.max_examples // 20)
@given(programs(COLUMNS).filter(is_ordered), streams(COLUMNS), policies(COLUMNS), st.data())
def test_columns_and_pushes_alternate(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    check_alternating(print_program(tree), stream, policy, data, {})


@settings(max_examples=settings.default.max_examples // 40)
@given(st.data())
def test_columns_tell_who_is_missed_of_what(data: st.DataObject) -> None:
    tree, stream, policy = (data.draw(drawn(COLUMNS)) for drawn in (programs, streams, policies))
    assume(is_ordered(tree))
    check_contributors(tree, stream, policy, data.draw(st.integers(1, max(1, len(stream)))))


@settings(max_examples=settings.default.max_examples // 10)
@given(programs(JOINS).filter(is_sound), streams(JOINS), policies(JOINS))
def test_matches_without_a_partner_are_justified(tree: s.Tree, stream: list[Event], policy: str) -> None:
    text = print_program(tree)
    note(f"{policy}\n{text}\n{stream}")
    engine = etalis.compile(text, max_derivations=MOST).engine(policy=policy, justification="full")
    found: list[Event] = []
    try:
        for x in stream:
            found += engine.push(x.name, *x.args, at=moment(x))
            assert all(row.share <= 1 for row in engine.partial())
        found += engine.close()
    except LimitError:
        return
    notes = recorded(parse(text), stream, policy, max_derivations=MOST)
    checker = checker_of(parse(text), notes, policy)
    told = Counter((made.event, tuple(sorted(made.contributors))) for made in notes.record if made.number is None)
    assert all((made, made.parts) in told for made in found)
    for made in found:
        answer = engine.justify(made)
        wrong = checker.check(answer)
        assert wrong is None, f"{made}: {wrong.reason}\n{answer}"
        assert from_json(answer.to_json()).to_json() == answer.to_json()
    for name, arity in known_events(tree):
        assert str(engine.why_not(f"{name}({', '.join('_' * arity)})" if arity else name))
