"""Columns that stay behind: texts that no rule looks at, where nothing could tell."""

from __future__ import annotations

import random

import pytest

import etalis
from etalis.spark.plan.detection import plan_detection
from etalis.spark.plan.spared import spare_columns
from etalis.tables.plan import ResultForm
from etalis.tables.schema import Options, TableSchema

CLICK = ":- event(click(user: string, number: int, page: string, agent: string))."
COLUMNS = {"event": "string", "at": "bigint", "user": "string", "number": "bigint", "page": "string", "agent": "string"}
IDLE = "idle(U) <- click(U, N, _, _) seq (not click(U, _, _, _) within 1800) where N > 1."


def spared(text: str, *, contributors: bool = False, types: dict[str, str] | None = None) -> set[str]:
    program = etalis.compile(text).compiled
    form = ResultForm(contributors=contributors)
    options = Options("at", "event", id="id" if contributors else None)
    plan = plan_detection(
        program, [TableSchema({**(types or COLUMNS), "id": "string"})], options, form, policy=None, shards=None, usual=2
    )
    (frame,) = spare_columns(plan, program).frames
    return set(frame.spared)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{CLICK} {IDLE}", {"page", "agent"}),
        (f"{CLICK} seen(U, P) <- click(U, _, P, _).", {"agent"}),
        (f"{CLICK} seen(A) <- click(_, _, _, A).", set()),  # the order of equal times is that of all before
        (f"{CLICK} {IDLE} home(U) <- click(U, _, 'home', _).", {"agent"}),
        (f"{CLICK} twice(U) <- click(U, _, _, A) seq click(U, _, _, A).", set()),
        (f"{CLICK} {IDLE} click(U, 1, 'a', 'b') <- idle(U).", set()),  # made here as well
        (f"{CLICK} {IDLE} seen(U) <- click(U, _, _, _) do event(idle(U)).", set()),
        (f"{CLICK} alone(U) <- iso(click(U, _, _, _) seq click(U, _, _, _)).", set()),
    ],
)  # fmt: skip
def test_texts_after_all_that_rules_look_at_stay_behind(text: str, expected: set[str]) -> None:
    assert spared(text) == expected


def test_numbers_travel_because_they_may_be_refused() -> None:
    text = ":- event(click(user: string, number: int)). idle(U) <- click(U, _) seq (not click(U, _) within 9)."
    assert spared(text, types={name: COLUMNS[name] for name in ("event", "at", "user", "number")}) == set()


def test_contributors_are_told_with_all_that_they_are() -> None:
    assert spared(f"{CLICK} {IDLE}", contributors=True) == set()


@pytest.mark.parametrize("policy", ["unrestricted", "recent", "chronological", "cumulative"])
@pytest.mark.parametrize("seed", range(8))
def test_matches_are_the_same_without_them(policy: str, seed: int) -> None:
    text = f"{CLICK} two(U, N, M) <- click(U, N, _, _) seq click(U, M, _, _). {IDLE}"
    program, draw = etalis.compile(text), random.Random(seed)
    rows = [("click", draw.choice("uv"), draw.randrange(3), draw.choice("pq"), draw.choice("ab")) for _ in range(25)]
    rows = [(*row, number // 4 * 700) for number, row in enumerate(rows)]

    def found(stream: list[tuple[object, ...]]) -> list[str]:
        in_order = sorted(stream, key=lambda row: (row[-1], *row[1:-1]))
        engine = program.engine(policy=policy)
        return [str(event) for event in [*engine.run(in_order), *engine.close()]]

    assert found([(*row[:3], "null", "null", row[-1]) for row in rows]) == found(list(rows))
