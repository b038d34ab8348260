"""Streams on Spark, as its workers run them: whatever the shards and batches, the meaning of all rows but late ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import etalis
from etalis.errors import InputError, LimitError
from etalis.language import syntax as s
from etalis.language.check.effects import find_unplanned
from etalis.language.printer import print_program
from etalis.plan.keys import find_partitioning
from etalis.plan.rules import plan_rules
from etalis.spark import execution_mode as way
from etalis.temporal.event import Event, sort_key
from etalis.temporal.json_values import to_plain
from helpers.layers import layered_programs, layered_streams
from helpers.micro_batches import plan_stream, run_whole, standing
from helpers.programs import Shape, policies, programs, streams
from properties.test_engine import MOST, meaning

pytestmark = pytest.mark.property

FLAT = Shape(values=(0, 0, 0, 1, 1, 2))
KEYED = Shape(values=(0, 0, 0, 1, 1, 2), kinds=("event", "binary", "chain", "chain", "cnot", "within", "not_within"))


def run(text: str, stream: Sequence[Event], policy: str, random: Random, **options: Any) -> tuple[Any, Any] | None:
    """Run a stream in micro-batches; return the results and the rows that came too late."""
    program = etalis.compile(text, max_derivations=MOST)
    events = read_by(program, stream)
    if not events or find_unplanned(program.compiled.tree) is not None:
        return None
    options |= {"order": False, **options}
    over_columns = patch.multiple(way, MANY=random.choice((1, way.MANY)), WORTH=1000)
    with TemporaryDirectory() as folder, over_columns:
        try:
            planned = plan_stream(program, events, folder, policy=policy, **options)
        except InputError as error:
            if error.code != "E608":  # several shards might disagree
                raise
            return None
        assert planned is not None
        rows = run_whole(planned, events, random)
        late = Path(folder, "late")
        found = told(rows) if options.get("contributors") else standing(rows)
        return found, Counter(map(spell, pq.read_table(late).to_pylist())) if late.exists() else Counter()


def read_by(program: etalis.Program, stream: Sequence[Event]) -> list[Event]:
    """Return the events of a stream that rules read."""
    found = find_partitioning(plan_rules(program.compiled.rules, program.compiled.settings))
    read = {kind for group in found.groups for kind in group.kinds}
    return [event for event in stream if (event.name, len(event.args)) in read]


def told(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return results with the rows they are made of."""
    return sorted((r["event"], r["args"], r["start"], r["end"], tuple(r["contributors"])) for r in rows)


def spell(letter: dict[str, Any]) -> tuple[Any, ...]:
    return letter["event"], letter["args"], letter["start"], letter["end"]


def in_time(stream: Sequence[Event], late: Counter[Any]) -> list[Event]:
    """Leave out of a stream what came too late; equal rows are interchangeable."""
    left = Counter(late)
    kept = []
    for event in stream:
        key = (event.name, json.dumps(list(event.args)), float(event.start), float(event.end))
        if left[key]:
            left[key] -= 1
        else:
            kept.append(event)
    assert not +left
    return kept


def check(tree: s.Tree, stream: list[Event], policy: str, random: Random, **options: Any) -> None:
    text = print_program(tree)
    stream = sorted(stream, key=sort_key)  # rows have no other order
    note(f"{policy} {options}\n{text}\n{stream}")
    if meaning(text, stream, policy) is None:
        return
    found = run(text, stream, policy, random, **options)
    if found is None:
        return
    rows, late = found
    expected = meaning(text, in_time(stream, late), policy)
    if expected is not None:
        assert rows == sorted(map(spelled, expected))


def spelled(event: Event) -> tuple[Any, ...]:
    return event.name, json.dumps([to_plain(a) for a in event.args]), event.start_time, event.end_time


REPORTING = st.sampled_from(("on_watermark", "on_watermark", "on_arrival"))
RANDOM = st.randoms(use_true_random=False)


@settings(max_examples=settings.default.max_examples // 40)
@given(programs(FLAT), streams(FLAT).filter(bool), policies(), RANDOM, st.integers(0, 6), REPORTING)
def test_any_program_in_one_shard(tree, stream, policy, random, lateness, reporting) -> None:
    check(tree, stream, policy, random, lateness=lateness, reporting=reporting)


@settings(max_examples=settings.default.max_examples // 40)
@given(programs(KEYED), streams(KEYED).filter(bool), policies(), RANDOM, st.integers(0, 6), REPORTING)
def test_programs_in_several_shards(tree, stream, policy, random, lateness, reporting) -> None:
    check(tree, stream, policy, random, shards=random.choice((2, 7)), lateness=lateness, reporting=reporting)


@settings(max_examples=settings.default.max_examples // 40)
@given(layered_programs(), layered_streams().filter(bool), RANDOM, st.integers(0, 3))
def test_programs_in_stages(text, stream, random, lateness) -> None:
    note(f"{text}\n{stream}")
    stream = sorted(stream, key=sort_key)
    program = etalis.compile(text, max_derivations=MOST)
    with suppress(LimitError):
        found = run(text, stream, None, random, shards=random.choice((2, 7)), lateness=lateness)
        if found is not None:
            rows, late = found
            engine = program.engine()
            expected = [*engine.run(in_time(stream, late)), *engine.close()]
            assert rows == sorted(map(spelled, expected))


@settings(max_examples=settings.default.max_examples // 40)
@given(layered_programs(), layered_streams().filter(bool), RANDOM, st.booleans())
def test_contributors(text, stream, random, is_staged) -> None:
    """Ids travel with the state: a match lists those that one engine tells, whatever the batches and the stages."""
    note(f"{text}\n{stream}")
    stream = sorted(stream, key=sort_key)
    shards = random.choice((2, 7)) if is_staged else 1
    with suppress(LimitError):
        found = run(text, stream, None, random, shards=shards, lateness=100, order=True, contributors=True)
        if found is not None:
            program = etalis.compile(text, max_derivations=MOST)
            engine = program.engine(parts=True)
            whole = [*engine.run(read_by(program, stream)), *engine.close()]
            ids = [tuple(f"r{number - 1:03}" for number in e.parts) for e in whole]
            assert found[0] == sorted((*spelled(e), i) for e, i in zip(whole, ids, strict=True))
