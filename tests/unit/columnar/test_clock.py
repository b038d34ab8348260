"""Slots of a batch: those of a plain sort of all that happens, also when steps are told one lot after the other."""

from __future__ import annotations

import random
from typing import Any

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("numba")

from etalis.columnar.clock import AGAIN, DUE, END, LEVEL, SINCE, FixedSteps, arrange, first_turns, moved  # noqa: E402
from etalis.plan import algebra as p  # noqa: E402
from etalis.runtime.deadlines.timers import STAGE  # noqa: E402

LAYOUT = FixedSteps(alarms=2, apart=2, waiting=((False, 1), (False, 3), (True, 2)), most=3)
TICK, ROW, STEP = range(3)  # what happens at one time, in this order


def ints(values: Any) -> Any:
    return np.array(list(values), np.int64)


def drawn_keys(rng: random.Random, count: int) -> list[tuple[int, ...]]:
    """Keys of steps, some of them those of absences."""
    found = []
    for _ in range(count):
        due = rng.randrange(8)
        found.append((due, -(due - rng.randrange(5)), rng.randrange(2), rng.choice((0, 0, 2, 5))))
    return found


def known_keys(moments: list[int]) -> list[tuple[int, ...]]:
    """Alarms, then absences and their alarms, the shorter ones first, and behind them those that look back."""
    steps = [(-END, 0), (-END, 1), *((d + back * STAGE, n) for back, d in LAYOUT.waiting for n in (0, 1))]
    return [(m, since if since == -END else since - m, 0, again) for m in moments for since, again in steps]


@pytest.mark.parametrize("seed", range(30))
def test_slots_are_those_of_a_plain_sort(seed: int) -> None:
    rng = random.Random(seed)
    ends = sorted(rng.randrange(8) for _ in range(rng.randrange(9)))
    ticks = tuple(p.Tick(time, place) for place, time in enumerate(sorted(rng.sample(range(8), rng.randrange(3)))))
    moments, later = ([*range(rng.randrange(4)), *rng.sample(range(4, 8), rng.randrange(3))] for _ in range(2))
    moments.sort()
    clock = arrange(9, ints(ends), ticks, ints(moments), LAYOUT)
    told: list[tuple[int, ...]] = []
    for lot in range(3):
        keys = drawn_keys(rng, rng.randrange(1, 6))
        before = clock
        clock, slots, steps = clock.with_steps(ints(keys).T, ints(sorted(later)) if lot else ints([]))
        told += keys
        every = sorted({*moments, *(later if lot else ())})
        happens = sorted(
            [*((tick.time, TICK, tick.place) for tick in ticks)]
            + [(end, ROW, row) for row, end in enumerate(ends)]
            + [(key[DUE], STEP, *key) for key in {*told, *known_keys(every)}],
            key=lambda each: (each[0], each[1], each[2:]),
        )
        where = {each: slot for slot, each in enumerate(happens)}
        assert clock.rows.tolist() == [where[end, ROW, row] for row, end in enumerate(ends)]
        assert [*clock.ticks.values()] == [where[tick.time, TICK, tick.place] for tick in ticks]
        assert steps.tolist() == [where[key[DUE], STEP, *key] for key in keys]
        assert clock.fixed.reshape(-1).tolist() == [where[key[DUE], STEP, *key] for key in known_keys(every)]
        assert slots[before.rows].tolist() == clock.rows.tolist()
        assert slots[before.told_slots].tolist() == [where[key[DUE], STEP, *key] for key in before.told.T.tolist()]


def test_turns_move_with_their_slots() -> None:
    turns = first_turns(ints([0, 1, 1])) + ints([0, 5, 7])
    assert moved(turns, ints([3, 9])).tolist() == (first_turns(ints([3, 9, 9])) + ints([0, 5, 7])).tolist()


@pytest.mark.parametrize(
    ("cause", "key", "wanted"),
    [
        ((9, -4, 0, 0), (9, -3, 1, 0), (9, -3, 1, 0)),  # blocked from earlier on: in its own place
        ((9, -4, 0, 0), (9, -4, 1, 0), (9, -4, 1, 0)),  # of a higher level: after it
        ((9, -4, 1, 0), (9, -4, 1, 0), (9, -4, 1, 5)),  # the same: it is repeated
        ((9, -4, 1, 5), (9, -4, 1, 0), (9, -4, 1, 10)),
        ((9, -4, 1, 0), (9, -9, 0, 0), (9, -4, 1, 2)),  # its own end alone can block it: at once
        ((9, -4, 1, 2), (9, -9, 0, 0), (9, -4, 1, 3)),
        ((9, -4, 1, 5), (9, -9, 0, 0), (9, -4, 1, 7)),
        ((9, -END, 0, 1), (9, -9, 0, 0), (9, -9, 0, 0)),  # set by an alarm: alarms come first
    ],
)
def test_what_is_set_in_a_step_is_judged_after_it(
    cause: tuple[int, ...], key: tuple[int, ...], wanted: tuple[int, ...]
) -> None:
    assert LAYOUT.width == 5
    assert LAYOUT.following(ints([key]).T, ints([cause]).T)[:, 0].tolist() == list(wanted)
    assert (DUE, SINCE, LEVEL, AGAIN) == (0, 1, 2, 3)
