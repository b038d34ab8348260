"""Rules that are alike but for constants: over columns as a family, with the same result as each for itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import event, given, note
from hypothesis import strategies as st

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.families.component import FamilyComponent
from etalis.columnar.run import ColumnRun
from etalis.data.values import Value, real
from etalis.errors import ConditionError
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
from helpers.examples import by_day
from properties.test_engine import meaning

pytestmark = pytest.mark.property

TEXTS = ("s1", "s2", "s3", "x y")
WHOLE: tuple[Value, ...] = (0, 1, 2, -3, (1 << 62) + 1)
BROKEN: tuple[Value, ...] = (real(0.0), 0.5, real(1.0), real(2.0), -2.5)
SIGNS = ("<", ">", "=<", ">=", "=:=", "=\\=")
PATTERNS = (
    "a({k}, X, Y)",
    "a(S, {i}, Y)",
    "a({k}, {i}, Y)",
    "a({k}, X, Y) where ({c})",
    "a({k}, X, Y) where (Y {o} {f}, {c})",
    "a({k}, X, _) where (Y is X + 1, Y {o} {i}, X > 0)",
    "a({k}, X, _) where (Y is X + 1, X > 0)",
    "a(S, X, Y) where ({e}, {i} {m} X)",
    "a(S, X, Y) where ({e}, {c})",
    "a(S, X, Y) where (X > {i}, {c})",
    "a(S, X, Y) where (Y {o} {f}, Y {m} {f})",
    "a(S, X, Y) where ({f} {o} Y, {c})",
    "a(S, X, Y) where (X >= {i}, X =< {i}, {c})",
    "(a({k}, X, Y) seq b({k}, Z))",
    "(a({k}, X, Y) seq b({k}, Z)) within 3 where ({c}, Z > X)",
    "((a({k}, X, Y) seq b({k}, Z)) within 3) cnot a({k}, {i}, _)",
    "(a({k}, X, Y) and b(_, {i})) within 4 where ({c})",
    "(a({k}, X, Y) or a(_, {i}, Y)) where ({e2})",
    "((a({k}, X, Y) seq b(_, {i})) seq a({k}, _, Z)) within 5 where (Z > {f}, Y < Z)",
    "((a({k}, X, Y) where (Y > {f})) seq (b({k}, Z) where (Z {o} {i}))) where (X + {i} < Z)",
)
HEADS = ("r{n}(Y)", "r{n}({k}, Y, {f})", "r(Y)", "r({i}, Y)", "r{n}", "r({k})")


@st.composite
def families(draw: st.DrawFn) -> str:
    """Draw rules of one or two shapes, each with its constants."""
    rules = []
    for number in range(draw(st.sampled_from((1, 1, 1, 2)))):
        pattern, head = draw(st.sampled_from(PATTERNS)), draw(st.sampled_from(HEADS))
        signs = {"o": draw(st.sampled_from((">", ">="))), "m": draw(st.sampled_from(("<", "=<", ">")))}
        goals = ["{f} {s} Y", "X {s} {i}", "Y > 0.0", "Y * {i} < {f}", "X \\= {i}", "Y =\\= 0.5", "Y > {f}, X > {i}"]
        shared = draw(st.sampled_from(goals)).replace("{s}", draw(st.sampled_from(SIGNS)))
        few = draw(st.booleans())
        for member in range(draw(st.integers(7, 14))):
            texts, whole, broken = (draw(st.sampled_from(some)) for some in (TEXTS, WHOLE[:4], BROKEN))
            key = TEXTS[0] if few and member % 3 else texts
            said = {"k": f"'{key}'", "i": str(whole), "f": str(broken), "n": f"{number}_{member:02d}", **signs}
            said["e"] = f"S = '{key}'"
            said["e2"] = f"Y > {broken}"
            said["c"] = shared.replace("{i}", said["i"]).replace("{f}", said["f"])
            rules.append(f"{head.format(**said)} <- {pattern.format(**said)}.")
    return "\n".join(draw(st.permutations(rules)) if draw(st.booleans()) else rules)


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    """Draw events of two kinds, at times of which some are equal, with nulls in some columns."""
    nulls: Sequence[tuple[Value, ...]] = [("null",) if draw(st.integers(0, 3)) == 0 else () for _ in range(3)]
    columns = [st.sampled_from(some + null) for some, null in zip((TEXTS, WHOLE, BROKEN), nulls, strict=True)]
    rows = draw(st.lists(st.tuples(st.booleans(), *columns, st.integers(0, 1)), min_size=3, max_size=14))
    found, now = [], 0
    for is_a, text, whole, broken, step in rows:
        now += step * 10**6
        args = (text, whole, broken) if is_a else (text, whole)
        found.append(Event.make("a" if is_a else "b", args, now, now))
    return found


def told(match: Event) -> tuple[str, str | None]:
    """Return a match with its rule, if no other makes its kind of event."""
    return str(match), match.rule if "_" in match.name else None


@by_day(4)
@given(families(), st.sampled_from(sorted(POLICIES)), streams(), st.integers(1, 20))
def test_families(text: str, policy: str, stream: list[Event], size: int) -> None:
    note(f"{policy}, {size} at a time\n{text}\n{stream}")
    program = etalis.compile(text)
    reported: tuple[list[ConditionError], list[ConditionError]] = ([], [])
    engine = program.engine(policy=policy, on_error=reported[0].append)
    expected = [e for row in stream for e in engine.push(row.name, *row.args, at=row.end_time / 10**6)]
    types = find_types(stream)
    run = ColumnRun(program.compiled, types, policy=policy, on_error=reported[1].append, only_points=True)
    event("a family" if any(isinstance(each, FamilyComponent) for each in run.components) else "none")
    pieces = [gather(stream[low : low + size], types) for low in range(0, len(stream), size)]
    found = [e for piece in pieces for e in run.process(piece)]
    found.extend(run.close())
    assert list(map(told, found)) == list(map(told, expected))
    meant = meaning(text, stream, policy)
    assert meant is None or [str(match) for match in meant] == [str(match) for match in expected]
    pushed, asked = (Counter(map(str, each)) for each in reported)
    assert pushed <= asked if POLICIES[policy].select in ("earliest", "latest") else pushed == asked
