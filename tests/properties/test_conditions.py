"""Random conditions over declared attributes: engine and meaning agree, in matches and in errors."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import etalis
from etalis.data.values import real
from etalis.errors import EtalisError, ProgramError
from etalis.language.read.parser import parse
from etalis.logic.terms.unify import variables
from etalis.logic.terms.write import Style, print_term
from etalis.semantics.steps import run
from etalis.temporal.event import Event
from helpers.examples import by_day
from helpers.random_goals import CLAUSES, RELATIONS, VALUES, GoalAuthor, RelationAuthor

EVENTS = {"e": "AB", "g": "CD"}
PARTS = (
    "({0} seq {1}) where ({2})", "({0} and {1}) where ({2})", "({0} where ({2})) seq {1}", "({0} seq {1}) check ({2})",
    "({0} seq {1}) event_multiply ({2})",
)  # fmt: skip
FLAGS = ":- set_flag(max_goal_steps, 20000).\n"


def program(author: GoalAuthor, random: Random) -> str:
    """Write a rule with a goal, over events with attributes of the types that the goal's inputs have."""
    types = {name: "any" if kind == "number" else kind for name, kind in author.types.items()}
    first, second = (
        f"{event}({', '.join(f'{name.lower()}: {types[name]}' for name in names)})" for event, names in EVENTS.items()
    )
    names = {variable: name for name, variable in author.variables.items()}
    goal = print_term(author.goal.term, Style(names=names))
    pattern = random.choice(PARTS).format("e(A, B)", "g(C, D)", goal)
    used = sorted({names[variable] for variable in variables(author.goal.term)}.intersection("XYZ"))
    head = f"r({', '.join(['A', 'C', *(used if random.random() < 0.7 else ())])})"
    return f"{FLAGS}:- event({first}).\n:- event({second}).\n{head} <- {pattern}.\n{CLAUSES}{RELATIONS}"


def stream(author: GoalAuthor, random: Random) -> list[Event]:
    """Draw events, the first of which have the values that the goal was written with."""
    held = [real(x) if isinstance(x, float) else x for x in author.values]
    events = [("e", held[:2]), ("g", held[2:])]
    for _ in range(6):
        kind = random.choice(list(EVENTS))
        drawn = [random.choice(VALUES[author.types[name]]) for name in EVENTS[kind]]
        events.append((kind, [real(x) if isinstance(x, float) else x for x in drawn]))
    return [Event.make(kind, tuple(values), i * 500_000, i * 500_000) for i, (kind, values) in enumerate(events)]


def reasons(errors: Sequence[EtalisError]) -> list[str]:
    """Return why conditions were not judged, without the words of either side around it."""
    raised = [error.problems[0].message.partition(" raised")[2].lstrip(": ") for error in errors]
    return sorted(re.sub(r"(, with | \()[A-D] = .*$", "", text, flags=re.DOTALL) for text in raised)


@pytest.mark.property
@by_day(4)
@given(st.integers(0, 1 << 40))
def test_conditions_over_declared_attributes(seed: int) -> None:
    check(seed)


def check(seed: int) -> Any:
    author = RelationAuthor(seed) if seed % 2 else GoalAuthor(seed, deepest=1)
    random = Random(seed)
    text, events = program(author, random), stream(author, random)
    policy = random.choice(["unrestricted", "chronological", "recent", "snoop_recent"])
    note(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            engine = etalis.compile(text).engine(policy=policy)
    except ProgramError:
        return None
    failures: list[EtalisError] = []
    expected = run(parse(text), events, policy=policy, errors=failures)
    found = [match for event in events for match in engine.push(event)]
    assert found == expected
    if policy == "unrestricted":  # others need not look at every pair
        assert reasons(engine.errors) == reasons(failures)
    return bool(found), bool(failures)
