"""Random programs in layers: every rule joins by one of two attributes, and reads what the layers below it make.

Small patterns over few keys and moments, so that nearly all programs derive events at every layer, many of them at
equal times: what stages, rounds and ties are made of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES

Draw = Callable[[st.SearchStrategy[Any]], Any]

SECOND = 1_000_000
RECEIVED = ("a", "b", "c")
PATTERNS = (
    ("{0}", 1), ("{0}", 1), ("{0} seq {1}", 2), ("{0} seq {1}", 2), ("{0} and {1}", 2), ("{0} and {1}", 2),
    ("{0} or {1}", 1), ("{0} par {1}", 2), ("{0} meets {1}", 2), ("{0} seq {1} seq {2}", 3),
    ("({0} seq {1}) cnot {2}", 2),
    ("({0} and {1}) cnot {2}", 2), ("{0} fnot {1}", 1), ("{0} seq (not {1} within 1)", 1),
    ("{0} seq (not {1} within 2)", 1), ("aggregate(count, {0}, R)", 1), ("aggregate(list(V0), {0}, R) within 2", 0),
    ("aggregate(list(V0), {0}, R) last 2", 0), ("{0} seq aggregate(last(V1), {1}, R)", 1),
    ("{0} seq aggregate(count, {1}, R)", 1),
    ("{0} ntimes 2", 0), ("{0} seq {1} ntimes 2", 1), ("{0} seq {1} star_times seq {2}", 1), ("{0} forall_seq {1}", 2),
    ("({0} and {1}) within 1", 2), ("{0} event_multiply member(R, [0, 1])", 1), ("{0} where V0 \\= 1", 1),
)  # fmt: skip


@st.composite
def layered_programs(draw: Draw) -> str:
    """The text of a program of two or three layers."""
    rules: list[str] = []
    below: list[str] = []
    for layer in range(draw(st.integers(2, 3))):
        heads = draw(st.lists(st.sampled_from((f"d{layer}", f"e{layer}")), min_size=1, max_size=3))
        own = [heads[0]] if not draw(st.integers(0, 5)) else []
        rules += [_rule(draw, head, [*RECEIVED, *below, *below, *below, *own]) for head in heads]
        below += heads
    return "\n".join(f"r{i}([property(policy, {draw(_POLICIES)})]) rule: {r}." for i, r in enumerate(rules))


_POLICIES = st.sampled_from(tuple(POLICIES))


def _rule(draw: Draw, head: str, names: list[str]) -> str:
    pattern, bound = draw(st.sampled_from(PATTERNS))
    joined = draw(st.sampled_from((0, 0, 0, 1, 1, 2)))

    def atom(place: int) -> str:
        args = [f"V{place}", f"V{place}"]
        if joined == 2:
            args[draw(st.integers(0, 1))] = "_"
        else:
            args[joined] = "K"
        return f"{draw(st.sampled_from(names))}({', '.join(args)})"

    values = ["0", *(f"V{i}" for i in range(bound))] + (["R"] * 3 if "R" in pattern else [])
    keys = [*(["K"] * 4 if joined < 2 else []), *values]
    args = [draw(st.sampled_from(keys)), draw(st.sampled_from(values))]
    if draw(st.booleans()):
        args.reverse()
    made = f"{head}({', '.join(args)})"
    if not draw(st.integers(0, 7)):
        made = f"exceptionAlarm({made}, {draw(st.integers(1, 2))})"
    return f"{made} <- {pattern.format(*map(atom, range(3)))}"


@st.composite
def layered_streams(draw: Draw) -> list[Event]:
    """Streams of few keys and moments, in no order."""
    return draw(st.lists(_events(), min_size=3, max_size=14))  # type: ignore[no-any-return]


@st.composite
def _events(draw: Draw) -> Event:
    name = draw(st.sampled_from(RECEIVED))
    end = draw(st.integers(0, 4))
    length = draw(st.sampled_from((0, 0, 0, 1, 2)))
    values = (draw(st.integers(0, 2)), draw(st.integers(0, 2)))
    return Event.make(name, values, (end - length) * SECOND, end * SECOND)
