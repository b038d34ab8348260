"""Questions on Spark: over the rows that are fetched for a match, the process makes it of the same rows."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import etalis
from etalis.errors import LimitError
from etalis.spark.asking import FetchedRows, MatchRow
from etalis.spark.batch.rejecting import leave_out
from etalis.spark.plan.question import Wanted, keep_rows
from etalis.temporal.event import Event, sort_key
from helpers.layers import layered_programs, layered_streams
from helpers.spark_shuffle import make_table, plan_events, run_rows

pytestmark = pytest.mark.property

MOST, ASKED = 200, 6
WINDOWS = ("", "", " within 1", " within 2")


@st.composite
def windowed_programs(draw: Any) -> str:
    """Programs in layers whose patterns have windows, so that questions reach back a while only."""
    rules = [rule for rule in draw(layered_programs()).split("\n") if rule]
    found = []
    for rule in rules:
        head, _, body = rule.rstrip(".").partition(" <- ")
        window = draw(st.sampled_from(WINDOWS))
        found.append(f"{head} <- ({body}){window}." if window else f"{head} <- {body}.")
    return "\n".join(found)


@settings(max_examples=settings.default.max_examples // 20)
@given(st.one_of(layered_programs(), windowed_programs()), layered_streams().filter(bool), st.booleans())
def test_a_match_is_made_of_the_same_rows(text: str, stream: list[Event], is_told: bool) -> None:
    note(f"{text}\n{stream}")
    stream = sorted(stream, key=sort_key)
    with suppress(etalis.ProgramError, LimitError):
        program = etalis.compile(text, max_derivations=MOST)
        plan = plan_events(program, stream, policy=None, shards=1, ordered=True, staged=False, contributors=True)
        if plan is None:
            return
        ids = [f"r{number:03}" for number in range(len(stream))]
        table = make_table(plan, stream, ordered=True, ids=ids)
        plan = leave_out(plan)

        def fetch(wanted: Wanted) -> Any:
            return pa.Table.from_batches([*keep_rows(plan.job, wanted, table.to_batches(4))])

        asked = FetchedRows(plan, fetch)
        for row in run_rows(plan, stream, ordered=True, ids=ids)[-ASKED:]:
            given = row if is_told else {"match_id": row["match_id"]}
            found = json.loads(asked.why(MatchRow.of(given)).to_json())["nodes"]
            atoms = {(x["atom"], x["start"], x["end"]) for x in found if x["kind"] == "received"}
            rows = [stream[int(name[1:])] for name in row["contributors"]]
            assert atoms == {(event.atom, event.start, event.end) for event in rows}
