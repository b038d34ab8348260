"""Constraints: the table of definition section 25 read by force, and programs with them on every way to run them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

import etalis
from etalis import Stamp
from etalis.data.values import Value
from etalis.errors import LimitError, ProgramError
from etalis.language import syntax as s
from etalis.language.check.checks import check
from etalis.language.printer import print_program
from etalis.language.read.parser import parse
from etalis.language.rules import known_events
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event, Retraction, sort_key
from etalis.why.forms.json_form import from_json
from helpers.constraint_programs import constrained_programs, crossing_programs
from helpers.justifications import checker_of, recorded
from helpers.programs import KINDS, Shape, policies, streams
from properties.test_columns import check_meaning
from properties.test_disorder import late_engine, lateness, net, short_histories
from properties.test_engine import MOST, agree, meaning, moment
from properties.test_stages import agree_in_stages

pytestmark = pytest.mark.property

SECOND = 1_000_000

# the table read by force: patterns of one or two events, for each P all Qs are looked at

Bound = dict[str, Value]
Found = tuple[int, int, Bound]
A, B = s.Var("X"), s.Var("Y")
ARGS = (A, A, B, s.Var("_#1"), s.Const(0))


@st.composite
def plain_patterns(draw: st.DrawFn) -> s.Pattern:
    """An event, two in sequence, or one of two."""
    names = st.sampled_from(("a", "b", "d"))
    one, two = (s.EventPattern(draw(names), (draw(st.sampled_from(ARGS)),)) for _ in range(2))
    return draw(st.sampled_from((one, one, s.Binary("seq", one, two), s.Or(one, two))))


@st.composite
def plain_constraints(draw: st.DrawFn) -> s.Constraint:
    mode = draw(st.sampled_from(("never", "around", "around", "after", "before", "next")))
    pattern, required = draw(plain_patterns()), draw(plain_patterns())
    timed = mode in ("around", "after") or (mode == "before" and draw(st.booleans()))
    if mode == "next":
        assume(not isinstance(required, s.Binary))
    duration = draw(st.integers(1, 4)) * SECOND if timed else None
    return s.Constraint("c", pattern, None if mode == "never" else required, mode, duration)


@st.composite
def plain_streams(draw: st.DrawFn) -> list[Event]:
    def event() -> Event:
        end, length = draw(st.integers(0, 8)), draw(st.sampled_from((0, 0, 0, 1, 3)))
        name, value = draw(st.sampled_from(("a", "b", "d"))), draw(st.sampled_from((0, 0, 1)))
        return Event.make(name, (value,), (end - length) * SECOND, end * SECOND)

    found = [event() for _ in range(draw(st.integers(0, 9)))]
    return sorted(found, key=lambda e: (e.end_time, e.start_time))


def matches(pattern: s.Pattern, stream: list[Event]) -> list[Found]:
    match pattern:
        case s.EventPattern(name=name, args=(arg,)):
            fits = [e for e in stream if e.name == name and not (isinstance(arg, s.Const) and arg.value != e.args[0])]
            named = isinstance(arg, s.Var) and not arg.name.startswith("_")
            return [(e.start_time, e.end_time, {arg.name: e.args[0]} if named else {}) for e in fits]
        case s.Or(left=a, right=b):
            return matches(a, stream) + matches(b, stream)
        case s.Binary(left=a, right=b):
            pairs = product(matches(a, stream), matches(b, stream))
            return [(x[0], y[1], x[2] | y[2]) for x, y in pairs if x[1] < y[0] and agrees(x[2], y[2])]
        case _:
            raise AssertionError(pattern)


def agrees(a: Bound, b: Bound) -> bool:
    return all(a[name] == b[name] for name in a.keys() & b.keys())


def violations(constraint: s.Constraint, stream: list[Event]) -> Iterator[tuple[int, int, Bound]]:
    p2: int
    duration = constraint.duration or 10**18
    for p1, p2, bound in matches(constraint.pattern, stream):
        required = [] if constraint.required is None else matches(constraint.required, stream)
        qs = [(q1, q2) for q1, q2, other in required if agrees(bound, other)]
        match constraint.mode:
            case "never":
                yield p1, p2, bound
            case "around":
                if not any(p2 - duration <= q1 and q2 <= p2 + duration for q1, q2 in qs):
                    yield p1, p2 + duration, bound
            case "after":
                if not any(p2 < q1 and q2 <= p2 + duration for q1, q2 in qs):
                    yield p1, p2 + duration, bound
            case "before":
                if not any(p2 - duration <= q1 and q2 < p2 for q1, q2 in qs):
                    yield p1, p2, bound
            case "next":
                for x in stream:
                    between = [e for e in stream if p2 < e.start_time and e.end_time < x.start_time]
                    right = any(agrees(bound, found[2]) for found in matches(constraint.required, [x]))
                    if p2 < x.start_time and not between and not right:
                        yield p1, x.end_time, bound


@settings(max_examples=settings.default.max_examples // 2)
@given(plain_constraints(), plain_streams())
def test_a_constraint_says_what_its_table_says(constraint: s.Constraint, stream: list[Event]) -> None:
    """Shows definition 25.4 to 25.10."""
    names = [s.EventDeclaration(name, (("x", "any"),)) for name in ("a", "b", "d")]
    text = print_program(s.Tree((*names, constraint)))
    note(f"{text}\n{stream}")
    told = list(dict.fromkeys(v.name for e in _events(constraint.pattern) for v in e.args if _is_named(v)))
    expected = {
        ("c", *(bound.get(name, "null") for name in told), start, end)
        for start, end, bound in violations(constraint, stream)
    }
    found = semantics.run(parse(text), stream)
    assert {(*e.args, e.start_time, e.end_time) for e in found} == expected
    engine = etalis.compile(text).engine()
    pushed = [e for x in stream for e in engine.push(x.name, *x.args, at=moment(x))]
    assert [*pushed, *engine.close()] == found


def _events(pattern: s.Pattern) -> list[s.EventPattern]:
    match pattern:
        case s.EventPattern():
            return [pattern]
        case s.Or(left=a, right=b) | s.Binary(left=a, right=b):
            return _events(a) + _events(b)
        case _:
            raise AssertionError(pattern)


def _is_named(term: s.Term) -> bool:
    return isinstance(term, s.Var) and not term.name.startswith("_")


# constraints over patterns of every kind, beside rules that consume

UNTIED = tuple(kind for kind in KINDS if kind not in ("do",))
WHOLE = Shape(rules=3, leaves=4, depth=3, kinds=UNTIED)
FLAT = Shape(  # what the least model is defined for
    rules=3, leaves=3, depth=2, events=12, moments=6, policies=("unrestricted",),
    kinds=(*["event"] * 4, "binary", "binary", "within", "where", "cnot", "fnot", "judged", "not_within"),
)  # fmt: skip


def is_sound(tree: s.Tree) -> bool:
    """Tell whether a program has no error: by chance a constraint requires what its own violation makes."""
    return not any(problem.is_error for problem in check(parse(print_program(tree))))


SOUND = constrained_programs(WHOLE).filter(is_sound)


@settings(max_examples=settings.default.max_examples // 8)
@given(SOUND, streams(WHOLE), policies(WHOLE))
def test_the_engine_gives_the_meaning(tree: s.Tree, stream: list[Event], policy: str) -> None:
    agree(tree, stream, policy, ())


CROSSING = crossing_programs().filter(is_sound)
CROWDED = Shape(moments=8, events=12, values=(0, 0, 0, 1))


@settings(max_examples=settings.default.max_examples // 6)
@given(CROSSING, streams(CROWDED), policies(WHOLE))
def test_what_is_due_together_is_judged_in_stages(tree: s.Tree, stream: list[Event], policy: str) -> None:
    """Shows definition 9.34."""
    agree(tree, stream, policy, ())


@settings(max_examples=settings.default.max_examples // 10)
@given(CROSSING, streams(CROWDED), policies(WHOLE), st.data())
def test_tables_are_judged_in_stages(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    check_meaning(tree, stream, policy, data)


@settings(max_examples=settings.default.max_examples // 20)
@given(st.one_of(CROSSING, CROSSING, SOUND), streams(CROWDED), policies(WHOLE), st.sampled_from((1, 2, 7)))
def test_shards_judge_as_one_engine(tree: s.Tree, stream: list[Event], policy: str, shards: int) -> None:
    """Shows definition 22.1 for constraints."""
    agree_in_stages(tree, stream, policy, shards)


@settings(max_examples=settings.default.max_examples // 10)
@given(CROSSING, streams(CROWDED))
def test_stages_come_to_the_least_model(tree: s.Tree, stream: list[Event]) -> None:
    agree_with_least_model(tree, stream)


@settings(max_examples=settings.default.max_examples // 10)
@given(constrained_programs(FLAT).filter(is_sound), streams(FLAT))
def test_the_steps_come_to_the_least_model(tree: s.Tree, stream: list[Event]) -> None:
    agree_with_least_model(tree, stream)


def agree_with_least_model(tree: s.Tree, stream: list[Event]) -> None:
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


@settings(max_examples=settings.default.max_examples // 20)
@given(SOUND, streams(WHOLE).filter(bool), policies(WHOLE), st.randoms(use_true_random=False))
def test_late_events_change_violations(tree, stream, policy, random) -> None:
    """Shows definition 19.2 for constraints."""
    text = print_program(tree)
    order = list(range(len(stream)))
    random.shuffle(order)
    note(f"{policy}\n{text}\n{[stream[i] for i in order]}")
    expected = meaning(text, stream, policy)
    if expected is None:
        return
    for reporting in ("on_watermark", "on_arrival"):
        with short_histories():
            engine = late_engine(tree, policy, lateness(stream, order), reporting)
            rows = ((stream[i].name, *stream[i].args, Stamp(moment(stream[i]), rank=i)) for i in order)
            found = [*engine.run(rows), *engine.close()]
        if reporting == "on_watermark":
            assert not any(isinstance(change, Retraction) for change in found)
        assert net(found) == sorted(expected, key=sort_key), reporting


@settings(max_examples=settings.default.max_examples // 20)
@given(SOUND, streams(WHOLE).filter(bool), policies(WHOLE), st.data())
def test_what_is_taken_back_breaks_nothing(tree, stream, policy, data) -> None:
    """Shows definition 20.2 for constraints."""
    text = print_program(tree)
    wrong = data.draw(st.lists(st.sampled_from(range(len(stream))), unique=True, max_size=4))
    moments = {i: data.draw(st.integers(i, len(stream) - 1)) for i in wrong}
    note(f"{policy}\n{text}\n{stream}\n{moments}")
    right = [event for i, event in enumerate(stream) if i not in moments]
    expected = meaning(text, right, policy)
    if expected is None or meaning(text, stream, policy) is None:
        return
    with short_histories():
        engine = etalis.compile(text, max_derivations=MOST, revision_flag="on").engine(policy=policy)
        found: list[Event] = []
        try:
            for i, event in enumerate(stream):
                found += engine.push(event.name, *event.args, at=Stamp(moment(event), id=i))
                for wanted in [x for x, when in moments.items() if when == i]:
                    found += engine.retract(wanted)
            found += engine.close()
        except LimitError:
            return
    assert net(found) == sorted(expected, key=sort_key)


@settings(max_examples=settings.default.max_examples // 16)
@given(SOUND, streams(WHOLE).filter(bool), policies(WHOLE), st.booleans(), st.data())
def test_a_restored_engine_goes_on(tree, stream, policy, parts, data) -> None:
    """Shows definition 22.2 for constraints."""
    text = print_program(tree)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), min_size=1, max_size=3)))
    note(f"{policy}\n{text}\n{stream}\n{cuts}")
    expected = meaning(text, stream, policy)
    if expected is None:
        return
    program = etalis.compile(text, max_derivations=MOST)
    engine = program.engine(policy=policy, parts=parts)
    found: list[Event] = []
    for i, event in enumerate(stream):
        for _ in range(cuts.count(i)):
            engine = program.restore(engine.snapshot(), policy=policy, parts=parts)
        found += engine.push(event.name, *event.args, at=moment(event))
    assert [*found, *engine.close()] == expected


@settings(max_examples=settings.default.max_examples // 20)
@given(SOUND, streams(WHOLE), policies(WHOLE), st.data())
def test_tables_give_the_meaning(tree: s.Tree, stream: list[Event], policy: str, data: st.DataObject) -> None:
    check_meaning(tree, stream, policy, data)


@settings(max_examples=settings.default.max_examples // 20)
@given(SOUND, streams(WHOLE), policies(WHOLE))
def test_violations_are_justified(tree: s.Tree, stream: list[Event], policy: str) -> None:
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
