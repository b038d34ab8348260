"""One program over one stream in every back end that needs no JVM; as a command, for an `etalis` elsewhere.

Standard input has a list of [text, policy, events], each event [name, value, start, end] in seconds; standard output
has what each back end finds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

import etalis
from etalis.columnar.data.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.language.read.modules import load
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event
from helpers.spark_shuffle import plan_events, run_shuffled

SECOND = 1_000_000
BACK_ENDS = ("meaning", "push", "run", "columns", "detect", "spark")
Row = tuple[str, int, int, int]


def outcomes(text: str, policy: str | None, rows: Sequence[Row]) -> dict[str, Any]:
    """Return what each back end finds, sorted, and how `explain` says that the rules run over columns."""
    events = [Event.make(name, (x,), SECOND * start, SECOND * end) for name, x, start, end in rows]
    program = etalis.compile(text)
    pushing, running = program.engine(policy=policy), program.engine(policy=policy)
    pushed = [e for event in events for e in pushing.push(event.name, *event.args, at=(event.start, event.end))]
    ran = list(running.run((event.name, *event.args, (event.start, event.end)) for event in events))
    types = find_types(events)
    columns = ColumnRun(program.compiled, types, policy=policy)
    taken = list(columns.process(gather(events, types)))
    model = semantics.run(load(text), events, policy=policy)
    plan = plan_events(program, events, policy=policy, shards=1, ordered=True, staged=False)
    assert plan is not None
    tables = _tables(rows)
    detected = program.detect(tables, time=("t1", "t2"), policy=policy, envelope=True).to_pylist()
    found = {
        "meaning": list(map(_show, semantics.reported(load(text), model))),
        "push": list(map(_show, [*pushed, *pushing.close()])),
        "run": list(map(_show, [*ran, *running.close()])),
        "columns": list(map(_show, [*taken, *columns.close()])),
        "detect": [_write(r["event"], json.loads(r["args"]), SECOND * r["start"], SECOND * r["end"]) for r in detected],
        "spark": [_write(*row[:4]) for row in run_shuffled(plan, events, ordered=True)],
    }
    explained = program.explain(tables, time=("t1", "t2"), policy=policy)
    return {name: sorted(some) for name, some in found.items()} | {"explain": explained}


def _tables(rows: Sequence[Row]) -> dict[str, pa.Table]:
    return {
        name: pa.Table.from_pylist([{"t1": start, "t2": end, "x": x} for n, x, start, end in rows if n == name])
        for name in dict.fromkeys(row[0] for row in rows)
    }


def _show(event: Event) -> str:
    return _write(event.name, event.args, event.start_time, event.end_time)


def _write(name: str, args: Sequence[Any], start: int, end: int) -> str:
    return f"{name}({', '.join(map(str, args))}) [{start / SECOND:g}, {end / SECOND:g}]"


if __name__ == "__main__":
    json.dump([outcomes(*each) for each in json.load(sys.stdin)], sys.stdout)
