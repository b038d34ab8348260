"""Rules that come and go one by one, and an index over their constants: as if all were compiled anew each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import event, given, note
from hypothesis import strategies as st

import etalis
from etalis.engine import Engine
from etalis.errors import LimitError, ProgramError
from etalis.runtime.codegen.branches import levels, reader_groups
from etalis.runtime.rule_change import run_time_rules
from helpers.examples import by_day

pytestmark = pytest.mark.property

DECLARED = (
    ":- event(c(x: float, y: int)). :- event(d(x: string, y: float)).\nlink(1, 2). link(2, 3). link(X, X) :- X > 2.\n"
    ":- set_flag(max_derivations, 5000).\n"
)
VALUES = ("0", "1", "2", "1.0", "2.0", "0.5", "s", "'S'", "f(1)", "[1, 2]", "f(X)")
PARTS = (
    "a({0}, Y)",
    "a(X, {0})",
    "a({0}, {1})",
    "b({0}, Y)",
    "b(X, {0})",
    "b(X, Y)",
    "a(X, Y)",
    "a(X, Y)",
    "a(X, X)",
    "c({2}, Y)",
    "c(X, {3})",
    "d(X, {2})",
)
PATTERNS = (
    "{0}",
    "{0} where {v} > {n}",
    "{0} where ({v} = {c}, {w} >= {n})",
    "{0} where (1 >= {v}, {w} < {n}, {v} == {c})",
    "{0} where ({v} > {w}, {v} =< {n}, 0 < {v})",
    "({0} seq {1}) within 5 where ({v} < {n}, {w} \\= {n})",
    "{0} seq {1}",
    "({0} seq {1}) within 5",
    "({0} and {1}) within 6",
    "({0} cnot {2})",
    "({0} seq {1}) within 4 where {v} \\= {n}",
    "({0} or {0})",
    "({0} seq {1} star_times) within 5",
    "{0} where link({v}, _)",
    "{0} seq (not {1} within 2)",
    "({0} seq? {1}) within 3",
)
USUAL = 6  # patterns at the front, which the index finds by what they ask
HEADS = (
    "m{k}({v}, {v})",
    "m{k}({v})",
    "same({v})",
    "same({v})",
    "deep({v}, 1)",
    "b({v}, 7)",
    "a({k}, {v})",
    "c({v}, {k})",
    "d(s, {v})",
)


def draw_rule(random: Random, number: int) -> str:
    """Return a rule under a label; many differ in constants only, a few make what others read."""
    constants = [random.choice(VALUES) for _ in range(2)]
    figures = [random.choice(("0.5", "1.0", "2.0")), str(random.randrange(3))]
    parts = [random.choice(PARTS).format(*constants, *figures) for _ in range(3)]
    bound = [name for name in "XY" if name in parts[0]]
    v, w = (random.choice(bound or ["1"]) for _ in "vw")
    n, c = str(random.randrange(3)), random.choice(VALUES[:7])
    patterns = PATTERNS[:USUAL] if random.random() < 0.6 else PATTERNS
    head = HEADS[0] if random.random() < 0.7 else random.choice(HEADS)
    written = random.choice(patterns).format(*parts, v=v, w=w, n=n, c=c)
    return f"r{number} rule: {head.format(k=number, v=v)} <- {written}."


def draw_event(random: Random, at: int) -> tuple[Any, ...]:
    """Return a row."""
    kind = random.choice("aabbcd")
    if kind == "c":
        return kind, random.choice((0.5, 1.0, 2.0)), random.randrange(3), at
    if kind == "d":
        return kind, random.choice("sSt"), random.choice((0.5, 1.0, 2.0)), at
    return kind, *random.choices((0, 1, 2, 1.0, 2.0, 0.5, "s", "S", (1, 2)), k=2), at


def steps(random: Random, rules: int, events: int) -> Iterator[tuple[str, Any]]:
    """Yield what happens: rules that come and go, events between them, and what someone asks."""
    at, number = 0, rules
    for _ in range(events):
        at += random.choice((0, 1, 1, 2))
        what = random.random()
        if what < 0.12:
            number += 1
            yield "insert", draw_rule(random, number)
        elif what < 0.22:
            yield "delete", f"r{random.randrange(1, number + 1)}"
        elif what < 0.25:
            yield "code", None
        yield "push" if random.random() < 0.7 else "run", draw_event(random, at)


def act(engine: Engine, what: str, given: Any) -> Any:
    """Do one step, and return what can be seen of it."""
    try:
        match what:
            case "insert":
                return engine.insert_rule(given)
            case "delete":
                return engine.delete_rule(given)
            case "push":
                return [repr(e) for e in engine.push(*given[:-1], at=given[-1])]
            case "run":
                return [repr(e) for e in engine.run([given])]
            case _:
                engine.code()
                return None
    except ProgramError as error:
        return str(error)


def state_of(engine: Engine) -> tuple[Any, ...]:
    """Return what else can be seen of an engine."""
    return [str(e) for e in engine.errors], engine.waiting(), str(engine.report())


def never(*_: Any) -> bool:
    """Leave no rule to itself."""
    return False


def follow(text: str, policy: str, taken: list[tuple[str, Any]]) -> tuple[list[Any], Any]:
    """Return what is seen at each step, and at the end."""
    engine = etalis.compile(text).engine(policy=policy, output=lambda _: None)
    seen = [act(engine, *step) for step in taken]
    try:
        last = [repr(e) for e in engine.close()]
    except LimitError as error:  # of a rule that goes on for ever once time does: `b(Y, 7) <- b(X, Y) seq (not ...)`
        last = [str(error)]
    return [*seen, last], state_of(engine)


def whole(do: Callable[[], Any]) -> Any:
    """Do something where every change compiles all rules, and every leaf is offered every event."""
    with (
        patch.object(run_time_rules, "insert_apart", never),
        patch.object(run_time_rules, "delete_apart", never),
        patch.object(levels, "FEW", 10**9),
        patch.object(reader_groups, "MOST_IN_LINE", 10**9),
    ):
        return do()


@pytest.mark.filterwarnings("ignore::etalis.errors.ProgramWarning")
@given(st.randoms(use_true_random=False), st.sampled_from(("unrestricted", "chronological", "recent")))
@by_day(20)
def test_rules_come_and_go_as_if_all_were_compiled(random: Random, policy: str) -> None:
    rules = random.choice((3, 12, 40))
    text = DECLARED + "\n".join(draw_rule(random, number) for number in range(1, rules + 1))
    taken = list(steps(random, rules, 40))
    note(text)
    note(str(taken))
    try:
        etalis.compile(text)
    except ProgramError:
        event("refused")
        return
    event("compiled")
    with patch.object(reader_groups, "MOST_IN_LINE", random.choice((1, 2, 32))):
        seen = follow(text, policy, taken)
    assert seen == whole(lambda: follow(text, policy, taken))
