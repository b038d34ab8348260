"""Rewrites change no match: a rewritten plan gives what the program means, and what the plan as written gives."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from random import Random

import pytest
from hypothesis import event, given, note
from hypothesis import strategies as st

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.data.values import Value, real
from etalis.errors import LimitError, ProgramError
from etalis.plan import algebra as p
from etalis.plan import rewrite
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from helpers.examples import by_day
from helpers.programs import SECOND
from properties.test_engine import MOST, meaning, moment

pytestmark = pytest.mark.property

OPERATORS = (*["seq"] * 6, "and", "and", "par", "meets", "during", "forall_seq", "follows")
LEAVES = ("a({0})", "a({0})", "b({0})", "b({0})", "c({0}, {1})", "n")
SIMPLE = ("{0} > 0", "{0} < 2", "{0} \\= 1", "{0} == 0", "{0} =:= 1", "\\+ {0} =< 0")
TESTS = (
    *SIMPLE, "({0} = 0 ; {0} > 1)", "{0} < {1}", "({0} = 0 -> true)", "({0} > 1 -> {0} < 3 ; true)", "{0} \\== {1}",
    "T is {0} + 1, T < 3", "T is {0} + {1}, T > 1, T \\= {2}", "{0} + 1 =< {1} * 2", "{0} = {1}", "q({0})", "p({0}, _)",
    "!", "member(V, [0, 1]), V =< {0}", "1 < 2", "number({0})", "\\+ atom({0})", "{0} @> {1}",
    "atom_length({0}, L), L > 0", "({0} = s(_) ; {0} @< 2)",
)  # fmt: skip
FRAMES = (
    *["{0} {op} {1}"] * 7, *["({0}) {kind} ({goal})"] * 3, "{0} or {1}", "({0}) within {n}", "({0}) cnot {leaf}",
    "({0}) fnot {leaf}", "({0}) seq (not {leaf} within {n})", "({0}) seq ({leaf} ntimes {n})", "({leaf}) star_times",
    "({0}) seq aggregate({fold}, {leaf}, R)", "({0}) do q(1)", "{0} seq {1} seq {leaf}",
    "({0}) seq ({leaf} ntimes (X, 3))", "iso(({0}) seq {leaf})", "({0}) seq ({leaf} star_times) seq {leaf}",
)  # fmt: skip
KINDS = ("where", "where", "where", "check", "event_multiply")
KNOWLEDGE = "p(0, 1). p(1, 2). p(1, 0). q(1). q(x).\n"
VALUES: tuple[Value, ...] = (*[0] * 6, *[1] * 5, *[2] * 3, 3, "x", "null", real(1.0))
NUMBERS: tuple[Value, ...] = (0, 0, 1, 1, 2, 3)
SEEDS = st.integers(0, 1 << 40)


class Author:
    """Writes programs at random: half of them nested operators alone, each part with variables of its own."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.is_plain = self.random.random() < 0.5
        self.fresh = iter("XYZUVW" * 9)

    def pick(self, options: Sequence[str]) -> str:
        return self.random.choice(options)

    def leaf(self) -> str:
        names = [next(self.fresh) if self.random.random() < 0.7 else self.pick("XYZ") for _ in range(2)]
        return self.pick(LEAVES).format(*names)

    def goal(self, pattern: str) -> str:
        """A conjunction over what a pattern names, most of the time."""
        named = [*sorted(set(re.findall(r"\b[XYZUVW]\b", pattern))) * 6, *"XYZ"]
        tests = SIMPLE if self.random.random() < 0.5 else TESTS
        several = range(self.random.choice((1, 1, 2, 3)))
        return ", ".join(self.pick(tests).format(*(self.pick(named) for _ in range(3))) for _ in several)

    def pattern(self, depth: int) -> str:
        if depth == 0:
            return self.leaf()
        frame = "{0} {op} {1}" if self.is_plain else self.pick(FRAMES)
        deep = self.random.random() < 0.5
        parts = [f"({self.pattern(depth - 1 if deep == bool(place) else 0)})" for place in range(2)]
        return frame.format(
            *parts, op=self.pick(OPERATORS), kind=self.pick(KINDS), goal=self.goal(parts[0]), leaf=self.leaf(),
            n=self.random.randint(1, 4), fold=self.pick(("count", "sum(X)", "max(Y)", "list(Z)")),
        )  # fmt: skip

    def program(self) -> str:
        """A rule with a condition on the whole pattern, perhaps one that reads what it makes."""
        pattern = self.pattern(self.random.choice((1, 2, 2, 3)))
        body = f"({pattern}) {self.pick(KINDS)} ({self.goal(pattern)})"
        head = [v if re.search(rf"\b{v}\b", body) else "0" for v in self.random.sample("XYZ", 2)]
        rules = [f"d({', '.join(head)}) <- {body}."]
        if self.random.random() < 0.3:
            rules.append(f"e(Z) <- (d(X, Z) {self.pick(OPERATORS)} b(Y)) where ({self.goal('X Y Z')}).")
        return KNOWLEDGE + "\n".join(rules)

    def stream(self, values: Sequence[Value]) -> list[Event]:
        """Events at moments that few share, most of them instants."""
        events = []
        for _ in range(self.random.randint(4, 16)):
            name = self.pick("aaabbbbccn")
            end = self.random.randint(0, 12)
            start = end - self.random.choice((0, 0, 0, 0, 1, 3))
            args = tuple(self.random.choice(values) for _ in range({"a": 1, "b": 1, "c": 2, "n": 0}[name]))
            events.append(Event.make(name, args, start * SECOND, end * SECOND))
        return sorted(events, key=lambda e: (e.end_time, e.start_time))


def written(seed: int) -> Author:
    """An author whose next program is valid."""
    for number in count():
        text = Author(seed + number).program()
        try:
            etalis.compile(text)
        except ProgramError:
            continue
        return Author(seed + number)
    raise AssertionError


@contextmanager
def as_written() -> Iterator[None]:
    """Plan without rewrites."""
    rewrites, rewrite.REWRITES = rewrite.REWRITES, ()
    try:
        yield
    finally:
        rewrite.REWRITES = rewrites


def prefilters(program: etalis.Program, policy: str) -> list[p.Prefilter]:
    nodes = [node for head in program.compiled.plans(policy) for node in p.walk(head.body)]
    return [test for node in nodes for test in p.tests(node) if isinstance(test, p.Prefilter)]


def pushed(program: etalis.Program, stream: list[Event], policy: str) -> tuple[list[Event], Counter[str]] | None:
    """What an engine gives, and what it reports; None if one input causes too much."""
    engine = program.engine(policy=policy)
    try:
        found = [e for x in stream for e in engine.push(x.name, *x.args, at=moment(x))]
        return [*found, *engine.close()], Counter(map(str, engine.errors))
    except LimitError:
        return None


@by_day(4)
@given(SEEDS, st.sampled_from(sorted(POLICIES)))
def test_the_engine_gives_the_meaning_and_what_the_plan_as_written_gives(seed: int, policy: str) -> None:
    author = written(seed)
    text = author.program()
    with as_written():
        plain = etalis.compile(text, max_derivations=MOST)
        plain.compiled.plans(policy)
    program = etalis.compile(text, max_derivations=MOST)
    filters = prefilters(program, policy)
    event("prefilters" if filters else "none")
    for stream in (author.stream(VALUES), author.stream(NUMBERS), author.stream(NUMBERS)):
        note(f"{policy}\n{text}\n{stream}")
        expected, found, before = meaning(text, stream, policy), *(pushed(x, stream, policy) for x in (program, plain))
        assert (found is None) == (before is None)
        if found is None or before is None:
            continue
        assert expected is None or found[0] == expected
        assert found[0] == before[0]
        assert found[1] <= before[1], "what is reported, the plan as written reports, too"
        assert filters or found[1] == before[1]


@by_day(10)
@given(SEEDS, st.sampled_from(sorted(POLICIES)))
def test_snapshots_go_on(seed: int, policy: str) -> None:
    author = written(seed)
    text = author.program()
    program = etalis.compile(text, max_derivations=MOST)
    stream = author.stream(VALUES)
    note(f"{policy}\n{text}\n{stream}")
    expected = pushed(program, stream, policy)
    cut = author.random.randint(0, len(stream))
    engine = program.engine(policy=policy)
    try:
        found = [e for x in stream[:cut] for e in engine.push(x.name, *x.args, at=moment(x))]
        engine = program.restore(engine.snapshot())
        found += [e for x in stream[cut:] for e in engine.push(x.name, *x.args, at=moment(x))]
        found += engine.close()
    except LimitError:
        assert expected is None
        return
    assert expected is not None
    assert found == expected[0]


@by_day(8)
@given(SEEDS, st.sampled_from(sorted(POLICIES)))
def test_columns_give_the_meaning(seed: int, policy: str) -> None:
    author = written(seed)
    text = author.program()
    program = etalis.compile(text, max_derivations=MOST)
    for values in (NUMBERS, NUMBERS, VALUES):
        stream = author.stream(values)
        note(f"{policy}\n{text}\n{stream}")
        expected, types = meaning(text, stream, policy), find_types(stream)
        cut = author.random.randint(0, len(stream))
        run = ColumnRun(program.compiled, types, policy=policy)
        event(f"{'over columns' if run.components else 'at a time'}, {bool(prefilters(program, policy))}")
        try:
            found = [e for part in (stream[:cut], stream[cut:]) for e in run.process(gather(part, types))]
            found += run.close()
        except LimitError:
            continue
        assert expected is None or Counter(found) == Counter(expected)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_prefilters_are_met(policy: str) -> None:
    """That the properties above look at what they are about."""
    programs = [etalis.compile(written(seed << 10).program()) for seed in range(60)]
    met = [program for program in programs if prefilters(program, policy)]
    assert len(met) > len(programs) * (0.2 if policy == "snoop_recent" else 0.4)
