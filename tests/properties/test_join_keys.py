"""Equalities as join keys change nothing: what programs mean, the errors of their conditions, what is restored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import event, given, note
from hypothesis import strategies as st

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.data.values import Value, real
from etalis.engine import Engine
from etalis.errors import ConditionError, EventError
from etalis.language.flags import Settings
from etalis.language.read.parser import parse
from etalis.language.rules import event_rules
from etalis.plan import algebra as p
from etalis.plan import rewrite
from etalis.plan.rewrite.join_keys import key_joins
from etalis.plan.rules import plan_rules
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event, sort_key
from etalis.temporal.policy import POLICIES
from helpers.examples import by_day

pytestmark = pytest.mark.property

Change = tuple[int, str, bool, tuple[Value, ...]]

EQUALITIES = (
    "{0} = {1}", "{0} == {1}", "{0} =:= {1}", "{0} =:= {1} + 1", "{0} - 1 =:= {1}", "{0} - {1} =:= 1", "{0} is {1} + 1",
    "{0} * 2 =:= {1} + {1}", "{0} // 2 =:= {1}", "2 =:= {0} + {1}", "link({0}, {1})", "link({1}, {0})",
    "link(1, {0}, {1})",
)  # fmt: skip
OTHERS = (
    "{0} > 0",
    "{0} =< {1}",
    "{0} \\= {1}",
    "2 / {0} > 0",
    "number({0})",
    "({0} = 1 ; {1} = 1)",
    "likes({0}, {1})",
)
OPERATORS = (
    *["seq"] * 4, "and", "and", "par", "meets", "during", "starts", "finishes", "equals", "forall_seq", "follows",
)  # fmt: skip
COLUMNS: tuple[tuple[Value, ...], ...] = (
    (0, 1, 2, 3),
    (1, 2, "null"),
    (0, 1, 2, real(1.0), real(2.0), 0.5),
    (1, real(1.0), 2, "x", "null", 10**40),
    ("x", "y", "null"),
)
SECOND = 1_000_000
CLAUSES = "likes(1, 2). likes(X, X) :- X > 0.\n"


def draw_pattern(random: Random, depth: int, names: Iterator[int]) -> tuple[str, list[str]]:
    """Return a pattern with its variables."""
    if depth == 0 or random.random() < 0.15:
        number = next(names)
        x, y = f"X{number}", random.choice((*[f"Y{number}"] * 6, "K", "L"))
        kind = random.choice("abc")
        if random.random() < 0.15:
            return f"({kind}({x}, {y}) or {random.choice('abc')}({y}, {x}))", [x, y]
        if random.random() < 0.15:
            other, first, second = random.choice("abc"), random.choice((x, "L")), random.choice(("K", "L", "M"))
            return f"({kind}({x}, {y}) or {other}({first}, {second}))", [x, y]
        return f"{kind}({x}, {y})", [x, y]
    left, right = draw_pattern(random, depth - 1, names), draw_pattern(random, depth - 2 if depth > 1 else 0, names)
    text, variables = f"({left[0]} {random.choice(OPERATORS)} {right[0]})", left[1] + right[1]
    if random.random() < 0.1:
        text = f"({text} or ({left[0]} seq {right[0]}))"
    if random.random() < 0.15:
        text = f"({text} cnot c({random.choice(variables)}, _))"
    if random.random() < 0.3:
        text = f"({text} within {random.choice((1, 2, 4))})"
    if random.random() < 0.7:
        text = f"({text} where ({draw_goal(random, variables)}))"
    return text, variables


def draw_goal(random: Random, variables: list[str]) -> str:
    forms = [random.choice(EQUALITIES) for _ in range(random.choice((1, 1, 2)))]
    forms += [random.choice(OTHERS) for _ in range(random.choice((0, 0, 1)))]
    random.shuffle(forms)
    return ", ".join(form.format(*random.sample(variables, 2)) for form in forms)


def draw_program(random: Random) -> str:
    rules = []
    for number in range(random.choice((1, 1, 2))):
        text, variables = draw_pattern(random, random.choice((1, 2, 2, 3)), iter(range(9)))
        if " where " not in text:
            text = f"{text} where ({draw_goal(random, variables)})"
        rules.append(f"r{number}({', '.join(dict.fromkeys(variables))}) <- {text}.")
    facts = [f"link({random.choice((1, 2, 'x'))}, {random.choice((1, 2, 3, 'y'))})." for _ in range(4)]
    facts += [f"link(1, {random.choice((1, 2))}, {random.choice((1, 2, 'null'))})." for _ in range(3)]
    return CLAUSES + "\n".join(dict.fromkeys(facts)) + "\n" + "\n".join(rules)


def draw_stream(random: Random) -> list[Event]:
    values = random.choice(COLUMNS)
    found, time = [], 0
    for _ in range(random.randrange(4, 14)):
        time += random.choice((0, 0, 1, 1, 2))
        start = time - random.choice((0, 0, 0, 0, 1, 2))
        values_of_it = random.choice(values), random.choice(values)
        found.append(Event.make(random.choice("aabbc"), values_of_it, start * SECOND, time * SECOND))
    return sorted(found, key=sort_key)


def draw_changes(random: Random) -> list[Change]:
    """Facts that come and go while events do."""
    moments = sorted(random.sample(range(12), random.choice((0, 0, 1, 3))))
    return [
        (
            at * SECOND + SECOND // 2,
            "link",
            random.random() < 0.6,
            (random.choice((1, 2, "x")), random.choice((1, 2, "y"))),
        )
        for at in moments
    ]


def joins(text: str, policy: str) -> list[p.Join]:
    heads = plan_rules(event_rules(parse(text)), Settings(policy=policy))
    return [node for head in heads for node in p.walk(head.body) if isinstance(node, p.Join)]


def push(engine: Engine, stream: list[Event]) -> list[Event]:
    return [each for x in stream for each in engine.push(x.name, *x.args, at=(x.start, x.end))]


def start(text: str, policy: str, changes: list[Change], errors: list[ConditionError]) -> tuple[etalis.Program, Engine]:
    program = etalis.compile(text)
    engine = program.engine(policy=policy, on_error=errors.append)
    for at, name, known, args in changes:
        (engine.assert_fact if known else engine.retract_fact)(name, *args, at=Fraction(at, SECOND))
    return program, engine


@by_day(4)
@given(st.integers(0, 1 << 40), st.sampled_from(sorted(POLICIES)))
def test_keys_change_nothing(seed: int, policy: str) -> None:
    random = Random(seed)
    text, stream, changes = draw_program(random), draw_stream(random), draw_changes(random)
    note(f"{policy}\n{text}\n{stream}\n{changes}")
    for join in joins(text, policy):
        event(", ".join(pair.kind for pair in join.keys_on) or "no key")
    others = tuple(step for step in rewrite.REWRITES if step is not key_joins)
    scanned: list[ConditionError] = []
    with patch.object(rewrite, "REWRITES", others):
        _, plain = start(text, policy, changes, scanned)
    expected = [*push(plain, stream), *plain.close()]
    assert semantics.run(parse(text), stream, policy=policy, changes=changes) == expected
    keyed: list[ConditionError] = []
    program, engine = start(text, policy, changes, keyed)
    cut = random.randrange(len(stream) + 1)
    found = push(engine, stream[:cut])
    again = program.restore(engine.snapshot())
    rest = [*push(engine, stream[cut:]), *engine.close()]
    assert [*found, *rest] == expected
    assert [*map(str, keyed)] == [*map(str, scanned)]
    assert [*push(again, stream[cut:]), *again.close()] == rest


@by_day(10)
@given(st.integers(0, 1 << 40), st.sampled_from(sorted(POLICIES)))
def test_keys_over_columns(seed: int, policy: str) -> None:
    random = Random(seed)
    text, stream = draw_program(random), draw_stream(random)
    note(f"{policy}\n{text}\n{stream}")
    errors: tuple[list[ConditionError], list[ConditionError]] = ([], [])
    program, engine = start(text, policy, [], errors[0])
    expected = [*push(engine, stream), *engine.close()]
    types = find_types(stream)
    run = ColumnRun(program.compiled, types, policy=policy, on_error=errors[1].append)
    event("over columns" if not run.at_a_time else "event at a time")
    cut = random.randrange(len(stream) + 1)
    try:
        found = [each for part in (stream[:cut], stream[cut:]) for each in run.process(gather(part, types))]
        found += run.close()
    except EventError:
        assert any(x == 10**40 for each in stream for x in each.args)
        return
    assert found == expected if not run.is_mixed else Counter(found) == Counter(expected)
    if not POLICIES[policy].restricts:  # else columns judge pairs that the engine does not come to
        assert set(map(str, errors[0])) == set(map(str, errors[1]))  # equal parts of a rule report once


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_drawn_programs_have_keys(policy: str) -> None:
    found = [join for seed in range(200) for join in joins(draw_program(Random(seed)), policy)]
    kinds = Counter(pair.kind for join in found for pair in join.keys_on)
    if policy == "snoop_recent":
        assert not any(join.keys_on for join in found if join.policy.keep == "newest")
    else:
        assert {kind for kind, count in kinds.items() if count >= 5} == {"value", "number", "integer", "fact", "bound"}
