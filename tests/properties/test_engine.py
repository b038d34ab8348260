"""The engine gives what programs mean: the same events in the same order, however it gets stream and rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, note

import etalis
from etalis.data.values import Value, real
from etalis.engine import Engine
from etalis.errors import LimitError
from etalis.language import syntax as s
from etalis.language.printer import print_program
from etalis.language.read.parser import parse
from etalis.language.rules import event_rules, known_events
from etalis.language.traversal import postorder
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event
from helpers.examples import IS_NIGHT, by_day
from helpers.programs import Shape, attribute_names, by_name, policies, programs, streams

pytestmark = pytest.mark.property

Change = tuple[int, str, bool, tuple[Value, ...]]
JOINS = Shape(  # many matches of one event, and what is written in line for them
    rules=3, leaves=4, depth=3, alarms=False, events=24, moments=10,
    kinds=(
        *["event"] * 4, *["binary"] * 6, "within", "within", "where", "check", "event_multiply", "cnot", "cnot", "fnot",
        "or",
    ),
)  # fmt: skip
DEADLINES = Shape(  # absences that are decided together, one after the other, and below what follows from them
    rules=4, leaves=4, depth=3, events=24, moments=12,
    kinds=(
        *["event"] * 4, *["not_within"] * 8, "binary", "binary", "or", "within", "where", "check", "event_multiply",
        "sliding", "repeat", "do", "iso",
    ),
)  # fmt: skip
CHOICES = Shape(  # n of several patterns, of which one event may fill some
    rules=2, leaves=6, depth=3, alarms=False, events=20, moments=8,
    kinds=(*["event"] * 4, *["any"] * 6, "binary", "or", "within", "where", "cnot", "repeat", "iso", "event_multiply"),
    policies=(*["snoop_recent"] * 6, "unrestricted", "chronological", "recent", "continuous", "cumulative"),
)  # fmt: skip
CHAINS = Shape(  # rules that feed each other, most of them by one event at a time
    rules=5, leaves=2, depth=2, alarms=False, events=16, moments=10, fed=6, values=(0, 0, 0, 1, 1, 2, "x", real(1.0)),
    kinds=("event", "event", "binary", "binary", "within", "where", "where", "check", "or", "cnot", "not_within"),
    policies=(*["chronological"] * 3, *["recent"] * 2, *["snoop_recent"] * 3, "unrestricted", "continuous"),
)  # fmt: skip
REPETITIONS = Shape(  # runs that grow, after left sides and alone, with what follows them
    rules=2, leaves=5, depth=3, alarms=False, events=24, moments=12,
    kinds=(
        *["event"] * 5, *["repeat"] * 3, *["anchored"] * 5, *["binary"] * 3, "within", "where", "check", "cnot", "or",
        "event_multiply",
    ),
)  # fmt: skip
MOST = 40  # derivations per input: enough for recursion, few enough for the meaning to stay quick


@lru_cache(maxsize=1)
def compiled(text: str) -> etalis.Program:
    return etalis.compile(text, max_derivations=MOST)


def moment(event: Event) -> Any:
    """An instant as a number, which the engine takes by a shorter way than an interval."""
    return event.end if event.start == event.end else (event.start, event.end)


def started(tree: s.Tree, policy: str, changes: Sequence[Change], *, parts: bool = False) -> Engine:
    """An engine that has been told what will change."""
    engine = compiled(print_program(tree)).engine(policy=policy, parts=parts)
    for at, name, known, args in changes:
        (engine.assert_fact if known else engine.retract_fact)(name, *args, at=Fraction(at, 1_000_000))
    return engine


def pushed(tree: s.Tree, stream: list[Event], policy: str, changes: Sequence[Change] = ()) -> list[Event]:
    """The engine, event by event."""
    engine = started(tree, policy, changes)
    found = [e for x in stream for e in engine.push(x.name, *x.args, at=moment(x))]
    return [*found, *engine.close()]


def as_rows(tree: s.Tree, stream: list[Event], policy: str, changes: Sequence[Change] = ()) -> list[Event]:
    """The engine, the whole stream as one iterable."""
    engine = started(tree, policy, changes)
    return [*engine.run((x.name, *x.args, moment(x)) for x in stream), *engine.close()]


def with_parts(tree: s.Tree, stream: list[Event], policy: str, changes: Sequence[Change] = ()) -> list[Event]:
    """The engine, keeping which inputs a match is made of, which decides nothing."""
    engine = started(tree, policy, changes, parts=True)
    return [*engine.run((x.name, *x.args, moment(x)) for x in stream), *engine.close()]


def unshared(tree: s.Tree, stream: list[Event], policy: str, changes: Sequence[Change] = ()) -> list[Event]:
    """No two rules sharing a part."""
    return pushed(s.Tree((s.SetFlag("rule_sharing", s.Const("off")), *tree.items)), stream, policy, changes)


def reversed_rules(tree: s.Tree, stream: list[Event], policy: str, changes: Sequence[Change] = ()) -> list[Event]:
    """The rules from last to first; knowledge keeps its order."""
    rules = iter([item for item in tree.items[::-1] if isinstance(item, s.Rule)])
    items = tuple(next(rules) if isinstance(item, s.Rule) else item for item in tree.items)
    return pushed(s.Tree(items), stream, policy, changes)


def named(tree: s.Tree, stream: list[Event], policy: str, changes: Sequence[Change] = ()) -> list[Event]:
    """The attributes by name, in the rules and in the stream; what no rule names is left out."""
    engine = started(by_name(tree), policy, changes)
    return [*engine.run(dict_row(x) for x in stream if is_named(engine, x)), *engine.close()]


def is_named(engine: Engine, event: Event) -> bool:
    return not event.args or event.name in engine.program.signatures


def dict_row(event: Event) -> dict[str, Any]:
    fields = zip(attribute_names(len(event.args)), event.args, strict=True)
    return {"event": event.name, "at": moment(event), **dict(fields)}


Treat = Callable[[s.Tree, list[Event], str, Sequence[Change]], list[Event]]
TREATMENTS: Mapping[str, Treat] = {
    "pushed": pushed,
    "as rows": as_rows,
    "with parts": with_parts,
    "unshared": unshared,
    "reversed": reversed_rules,
    "named": named,
}


def is_free_of_order(tree: s.Tree) -> bool:
    """Tell whether no two rules have a time point at one moment: those are ordered by the text (definition 6.12)."""
    moments = [{p.time for p in postorder(r.pattern) if isinstance(p, s.TimePoint)} for r in event_rules(tree)]
    return sum(map(len, moments)) == len(set().union(*moments))


def has_one_arity(tree: s.Tree) -> bool:
    """Tell whether events of one name have one number of attributes, as those have that are named."""
    kinds = known_events(tree)
    return len({name for name, _ in kinds}) == len(kinds)


def can_be_named(tree: s.Tree) -> bool:
    """Tell whether attributes may stand in any order: what a violation tells has that of the text (definition 25.1)."""
    return has_one_arity(tree) and not any(isinstance(item, s.Constraint) for item in tree.items)


NEEDS: Mapping[str, Callable[[s.Tree], bool]] = {"reversed": is_free_of_order, "named": can_be_named}


def meaning(text: str, stream: list[Event], policy: str, changes: Sequence[Change] = ()) -> list[Event] | None:
    """What a program reports by its meaning; None if one input causes too much."""
    tree = parse(text)
    try:
        return semantics.reported(
            tree, semantics.run(tree, stream, policy=policy, max_derivations=MOST, changes=changes)
        )
    except LimitError:
        return None


def drawn(text: str) -> list[tuple[str, Treat]]:
    first, *others = TREATMENTS.items()
    return [first, *(others if IS_NIGHT else Random(crc32(text.encode())).sample(others, 2))]


@given(programs(), streams(), policies())
def test_engine_gives_the_meaning(tree: s.Tree, stream: list[Event], policy: str) -> None:
    agree(tree, stream, policy, ())


@by_day(3)
@given(programs(JOINS), streams(JOINS), policies(JOINS))
def test_joins_give_the_meaning(tree: s.Tree, stream: list[Event], policy: str) -> None:
    agree(tree, stream, policy, ())


@by_day(2)
@given(programs(DEADLINES), streams(DEADLINES), policies(DEADLINES))
def test_deadlines_give_the_meaning(tree: s.Tree, stream: list[Event], policy: str) -> None:
    agree(tree, stream, policy, ())


@by_day(2)
@given(programs(CHAINS), streams(CHAINS), policies(CHAINS))
def test_chains_give_the_meaning(tree: s.Tree, stream: list[Event], policy: str) -> None:
    agree(tree, stream, policy, ())


@by_day(2)
@given(programs(CHOICES), streams(CHOICES), policies(CHOICES))
def test_choices_give_the_meaning(tree: s.Tree, stream: list[Event], policy: str) -> None:
    agree(tree, stream, policy, ())


@by_day(2)
@given(programs(REPETITIONS), streams(REPETITIONS), policies(REPETITIONS))
def test_repetitions_give_the_meaning(tree: s.Tree, stream: list[Event], policy: str) -> None:
    agree(tree, stream, policy, ())


def agree(tree: s.Tree, stream: list[Event], policy: str, changed: Sequence[Change]) -> None:
    """Run a program pushed and every other way, by day two of them that its text draws; compare with its meaning."""
    text = print_program(tree)
    note(f"{policy}\n{text}\n{stream}\n{changed}")
    expected = meaning(text, stream, policy, changed)
    for name, treat in drawn(text):
        if not NEEDS.get(name, lambda _: True)(tree):
            continue
        try:
            found = treat(tree, stream, policy, changed)
        except LimitError:
            assert expected is None, f"{name}: stopped, though nothing causes too much"
        else:
            assert expected is None or found == expected, name
