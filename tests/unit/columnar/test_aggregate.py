"""Aggregates over columns: every kind, over windows and openers, on values of every flat type, equals the engine."""

from __future__ import annotations

import random
from itertools import product

import pyarrow as pa
import pytest

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.data.values import Value, real
from etalis.errors import EventError
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.event import Event
from helpers.agreement import check

pytestmark = pytest.mark.fast

SECOND = 1_000_000
BODIES = (
    "{0}",
    "{0} within 6",
    "{0} last 3",
    "({0} last 2) within 6",
    "{0} within 6 where R \\= 3",
    "o(G) seq {0}",
    "(o(_) seq {0}) within 9",
    "(o(_) seq {0}) cnot o(_)",
)
VALUES: dict[str, tuple[Value, ...]] = {
    "small integers": (0, 1, 2, 3, -1),
    "large integers": ((1 << 62) - 1, 1 << 61, 1, -(1 << 62), -(1 << 61)),
    "floats": tuple(map(real, (0.1, 0.2, 0.3, 1e16, -1e16, -0.0, 0.0))),
    "texts": ("a", "b", "null", "é", "Z"),
    "values of several types": (1, real(0.5), "x", 1 << 70, real(-0.0), (1, 2)),
}


def stream(values: tuple[Value, ...], seed: int) -> list[Event]:
    rng = random.Random(seed)
    found = []
    for _ in range(40):
        end = rng.randrange(20)
        start = end - rng.choice((0, 0, 0, 1, 4))
        value = "null" if rng.random() < 0.1 else rng.choice(values)
        args = (rng.randrange(2), value) if rng.random() < 0.85 else (rng.randrange(2),)
        found.append(Event.make("e" if len(args) == 2 else "o", args, start * SECOND, end * SECOND))
    return sorted(found, key=lambda event: (event.end_time, event.start_time))


@pytest.mark.parametrize("kind", FOLDS)
def test_equal_to_the_engine(kind: str) -> None:
    value = f"{kind}(X)" if FOLDS[kind].has_value else kind
    over_columns = 0
    for body, values in product(BODIES, VALUES.values()):
        text = f"r(G, R) <- {body.format(f'aggregate({value}, e(G, X), R)')}."
        over_columns += check(text, stream(values, seed=len(body)))
    assert over_columns == len(BODIES) * len(VALUES)


def test_a_sum_beyond_64_bits_is_exact_and_refused_where_a_column_must_hold_it() -> None:
    events = [Event.make("e", (0, (1 << 63) - 1), SECOND, SECOND)] * 2
    types = find_types(events)
    program = etalis.compile("s(S) <- aggregate(sum(X), e(_, X), S).")
    found = list(ColumnRun(program.compiled, types).process(gather(events, types)))
    assert [e.args[0] for e in found] == [(1 << 63) - 1, (1 << 64) - 2]
    table = pa.table({"at": [1, 1], "event": ["e", "e"], "g": [0, 0], "x": [(1 << 63) - 1] * 2})
    with pytest.raises(EventError, match=r"E607: rule 1 derived s.*outside 64 bits"):
        program.detect(table)
    halved = etalis.compile("s(M) <- aggregate(sum(X), e(_, X), S) where M is S // 2.")
    assert halved.detect(table)["M"].to_pylist() == [(1 << 62) - 1, (1 << 63) - 1]


def test_a_mean_of_a_sum_beyond_64_bits_is_exact() -> None:
    program = etalis.compile("m(M) <- aggregate(avg(X), e(_, X), M).")
    events = [Event.make("e", (0, (1 << 63) - 1 - i), SECOND * i, SECOND * i) for i in range(5)]
    types = find_types(events)
    run = ColumnRun(program.compiled, types)
    found = [e.args[0] for event in events for e in run.process(gather([event], types))]
    assert not run.at_a_time
    assert found == [sum((1 << 63) - 1 - i for i in range(n)) / n for n in range(1, 6)]
