"""Programs in stages and shards over the code of Spark's workers give what the meaning gives, row by row."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import etalis
from etalis.errors import EventError, InputError, LimitError
from etalis.language.check.effects import find_unplanned
from etalis.spark.plan.detection import DetectionPlan
from etalis.tables.results.output import args_text
from etalis.temporal.event import Event, sort_key
from etalis.temporal.json_values import to_plain
from helpers.cases import Case, all_cases
from helpers.examples import IS_NIGHT
from helpers.layers import layered_programs, layered_streams
from helpers.spark_shuffle import Found, plan_events, run_rows, run_shuffled

pytestmark = pytest.mark.property

SHARDS = (1, 2, 7)
MOST = 200
POLICIES = (None, "unrestricted", "chronological", "continuous")


def found(events: Any) -> Found:
    """Events as rows of results."""
    rows = [(e.name, [to_plain(a) for a in e.args], e.start_time, e.end_time, e.rule) for e in events]
    return sorted(rows, key=repr)


def agree(
    text: str, stream: list[Event], shards: int, ordered: bool, chance: Any, *, policy: str | None = None,
    staged: bool = True,
) -> int | None:  # fmt: skip
    """Compare a run in shards and stages with one engine; return how many stages there were."""
    program = etalis.compile(text, max_derivations=MOST)
    stream = sorted(stream, key=lambda e: (e.end_time, e.start_time)) if ordered else sorted(stream, key=sort_key)
    engine = program.engine(policy=policy)
    try:
        whole = found([*engine.run(stream), *engine.close()])
        plan = plan_events(program, stream, policy=policy, shards=shards, ordered=ordered, staged=staged)
    except LimitError:
        return None
    if plan is None:
        return None
    shuffled = stream if ordered else chance.sample(stream, len(stream))
    assert run_shuffled(plan, shuffled, ordered=ordered, over_columns=False) == whole
    over = run_shuffled(plan, shuffled, ordered=ordered)
    assert [row[:4] for row in over] == [row[:4] for row in whole]  # alarms of one event may name another of its rules
    return len(plan.stages) if whole else 0


@settings(max_examples=settings.default.max_examples // 10)
@given(layered_programs(), layered_streams(), st.sampled_from(SHARDS), st.booleans(), st.randoms())
def test_programs(text: str, stream: list[Event], shards: int, ordered: bool, chance: Any) -> None:
    note(f"{text}\n{stream}")
    with suppress(etalis.ProgramError):
        agree(text, stream, shards, ordered, chance)


@settings(max_examples=settings.default.max_examples // 10)
@given(
    layered_programs(),
    layered_streams(),
    st.sampled_from(SHARDS),
    st.sampled_from(POLICIES),
    st.booleans(),
    st.randoms(),
)
def test_programs_of_one_stage(
    text: str, stream: list[Event], shards: int, policy: str | None, ordered: bool, chance: Any
) -> None:
    note(f"{text}\n{stream}")
    with suppress(etalis.ProgramError):
        agree(text, stream, shards, ordered, chance, policy=policy, staged=False)


def told(rows: Any) -> list[str]:
    """Matches with their contributors."""
    return sorted(repr((r["event"], r["args"], r["start"], r["end"], r["contributors"])) for r in rows)


@settings(max_examples=settings.default.max_examples // 10)
@given(layered_programs(), layered_streams(), st.sampled_from(SHARDS), st.booleans(), st.randoms())
def test_contributors(text: str, stream: list[Event], shards: int, ordered: bool, chance: Any) -> None:
    """Ids travel from stage to stage: a match lists those that one engine tells, in its order."""
    note(f"{text}\n{stream}")
    with suppress(etalis.ProgramError):
        program = etalis.compile(text, max_derivations=MOST)
        stream = sorted(stream, key=lambda e: (e.end_time, e.start_time)) if ordered else sorted(stream, key=sort_key)
        engine = program.engine(parts=True)
        options: dict[str, Any] = {"policy": None, "shards": shards, "ordered": ordered, "staged": True}
        try:
            whole = [*engine.run(stream), *engine.close()]
            plan = plan_events(program, stream, **options, contributors=True)
        except LimitError:
            return
        if plan is None:
            return
        wanted = sorted(
            repr((e.name, args_text(e), e.start_time, e.end_time, [f"r{n - 1:03}" for n in e.parts])) for e in whole
        )
        rows = [(f"r{number:03}", event) for number, event in enumerate(stream)]
        rows = rows if ordered else chance.sample(rows, len(rows))
        ids, events = [row_id for row_id, _ in rows], [event for _, event in rows]
        assert told(run_rows(plan, events, ordered=ordered, over_columns=False, ids=ids)) == wanted
        assert told(run_rows(plan, events, ordered=ordered, ids=ids)) == wanted


def test_programs_have_stages_and_results() -> None:
    """The law above is tried where it says something."""
    counts: list[int | None] = []

    @settings(max_examples=settings.default.max_examples // 20)
    @given(layered_programs(), layered_streams(), st.randoms())
    def collect(text: str, stream: list[Event], chance: Any) -> None:
        with suppress(etalis.ProgramError):
            counts.append(agree(text, stream, 7, False, chance))

    collect()
    assert sum((count or 0) > 1 for count in counts) > len(counts) / 3


def is_flat(case: Case) -> bool:
    """Tell whether a case is nothing but events whose attributes fit columns."""
    events = [step for step in case.steps if isinstance(step, Event)]
    values = [value for event in events for value in event.args]
    is_plain = not case.errors and case.is_plain and case.is_closed and bool(events) and case.admits("spark")
    return is_plain and all(
        isinstance(v, int | float | str) and (isinstance(v, str) or abs(v) < 1 << 63) for v in values
    )


def planned(
    program: etalis.Program, case: Case, policy: str | None, shards: int
) -> tuple[DetectionPlan, list[Event]] | None:
    events = [step for step in case.steps if isinstance(step, Event)]
    if find_unplanned(program.compiled.tree) is not None or any(program.compiled.refuse_taking_back("on Spark")):
        return None
    try:
        plan = plan_events(program, events, policy=policy, shards=shards, ordered=True, staged=True)
    except InputError as error:
        if error.problems[0].code != "E608":  # goals with effects run in one shard only
            raise
        return None
    return None if plan is None else (plan, events)


@pytest.mark.parametrize("shards", SHARDS)
def test_cases(shards: int) -> None:
    wrong, ran, several = [], 0, 0
    part = slice(None) if IS_NIGHT else slice(SHARDS.index(shards), None, len(SHARDS))
    for case in filter(is_flat, all_cases()[part]):
        program = etalis.compile(case.program, read=dict(case.files).get, **dict(case.options))
        for policy in case.policies:
            run = planned(program, case, policy, shards)
            if run is None:
                continue
            plan, events = run
            if shards > 1 and all(stage.sharding.shards == 1 for stage in plan.stages):
                continue  # no key parts the rows: it is the run in one shard again
            ran += 1
            several += len(plan.stages) > 1
            wanted = sorted(
                map(
                    repr, ([e.name, [to_plain(a) for a in e.args], e.start_time, e.end_time] for e in case.expect or ())
                )
            )
            try:
                got = sorted(repr(list(row[:4])) for row in run_shuffled(plan, events, ordered=True))
            except EventError as error:
                if error.problems[0].code != "E607":  # an integer of more than 64 bits
                    raise
                continue
            if got != wanted:
                wrong.append(f"{case.id} ({policy}): {got} instead of {wanted}")
    assert not wrong, "\n".join(wrong)
    assert ran > (300 if IS_NIGHT else 150)
    assert several > (10 if IS_NIGHT else 5) or shards == 1
