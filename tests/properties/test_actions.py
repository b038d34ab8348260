"""Random actions that change facts which conditions ask: engine and meaning agree, in matches and in reports."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import etalis
from etalis.errors import EtalisError, ProgramError
from etalis.language.read.parser import parse
from etalis.logic.inline.scope import normal
from etalis.logic.terms.write import Style, print_term
from etalis.semantics.steps import run
from etalis.temporal.event import Event
from helpers.examples import by_day
from helpers.random_changes import FACTS, PREDICATES, ChangeAuthor

FLAGS = ":- set_flag(max_goal_steps, 20000).\n"
CONDITIONS = ("stock(A, N)", "at(A, N)", "total(N)", "\\+ mark(B), N = none", "(count(A, N, _), N \\= B)", "free(A, N)")
PATTERNS = ("e(A, B, C)", "(e(A, B, C) seq e(D, A, B)) within 20", "(e(A, B, C) where (mark(A) ; stock(A, _)))")
DECLARED = "".join(f":- dynamic {name}/{arity}.\n" for name, arity in PREDICATES.items())


def program(author: ChangeAuthor, random: Random) -> str:
    """Write a rule with an action, and one that asks what is known, in either order."""
    names = {variable: name for name, variable in author.variables.items()}
    action = print_term(author.goal.term, Style(names=names))
    acting = f"d(A) <- {random.choice(PATTERNS)} do ({action}).\n"
    asking = f"r(A, N) <- {random.choice(('e(A, B, _)', 'd(A)'))} where {random.choice(CONDITIONS)}.\n"
    asking = asking.replace("B", "A") if "d(A)" in asking else asking
    rules = [acting, asking] if random.random() < 0.5 else [asking, acting]
    return f"{FLAGS}{DECLARED}{''.join(rules)}{FACTS}"


def reasons(errors: Sequence[EtalisError]) -> list[str]:
    """Return what was reported, without the words of either side around it."""
    texts = [re.sub(r"(, with | \()[A-D] = .*$", "", error.problems[0].message, flags=re.DOTALL) for error in errors]
    return sorted(
        "failure" if text.endswith(" failed") else text.partition(" raised")[2].lstrip(": ") for text in texts
    )


def check(seed: int) -> tuple[bool, bool]:
    author, random = ChangeAuthor(seed), Random(seed)
    text = program(author, random)
    policy = random.choice(["unrestricted", "chronological", "recent"])
    events = [
        Event.make("e", tuple("none" if x is None else normal(x) for x in row), i * 1_000_000, i * 1_000_000)
        for i, row in enumerate(author.rows)
    ]
    failures: list[EtalisError] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            engine = etalis.compile(text).engine(policy=policy)
            expected = run(parse(text), events, policy=policy, errors=failures)
    except ProgramError:
        return False, False
    found = [match for event in events for match in engine.push(event)]
    assert found == expected
    assert reasons(engine.errors) == reasons(failures)
    return bool(found), bool(failures)


@pytest.mark.property
@by_day(4)
@given(st.integers(0, 1 << 40))
def test_actions_that_change_facts(seed: int) -> None:
    check(seed)


def test_many_actions_succeed_and_many_fail() -> None:
    came = [check(seed) for seed in range(120)]
    assert sum(found for found, _ in came) > 40
    assert sum(failed for _, failed in came) > 40
