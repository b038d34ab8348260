"""Which rows a question about an event needs: by their kinds, the key that the question fixes, and time.

Law: an engine over these rows makes the event that is asked for as an engine over all rows does. What is not sure to be
superfluous is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.data.values import Value
from etalis.language.syntax import Const, EventPattern
from etalis.plan import algebra as p
from etalis.plan.keys import find_partitioning
from etalis.plan.reach import find_reach, needed_heads
from etalis.spark.batch.job import Job
from etalis.spark.batch.rejections import screened
from etalis.spark.batch.screening import last_column
from etalis.spark.plan.detection import DetectionPlan
from etalis.tables.sorting import ID, TAG
from etalis.temporal.time_columns import read_times

_PLAIN: Mapping[str, type] = {"int": int, "float": float, "string": str}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows that are read: of some tags, by id, by end (in microseconds, closed), by the value of a slot.

    `ids` are those of rows; one without id is known by its time. Without `ids` all rows of the tags, in time.
    """

    tags: frozenset[str]
    ids: frozenset[str] | None = None
    after: int | None = None
    until: int | None = None
    keys: tuple[tuple[str, str, Value], ...] = ()  # tag, slot, value


def wanted_rows(
    plan: DetectionPlan, heads: Collection[p.Head], question: EventPattern, first: int | None, last: int | None,
    times: int = 1,
) -> Wanted:  # fmt: skip
    """Return the rows that events ending from `first` to `last` depend on, so many times as far back as they reach."""
    kind = (question.name, len(question.args))
    obstacles = plan.stages[0].sharding.reasons if len(plan.stages) == 1 else ()
    if any(reason.rule is None for reason in obstacles):  # facts, effects or corrections: all that came counts
        return Wanted(frozenset(rows.tag for rows in plan.job.rows))
    needed = needed_heads([*heads], kind)
    read = {x for head in needed for x in p.read_kinds(head.body)} | {kind}
    reach = find_reach(needed, kind)
    after = None if first is None or reach is None else first - times * reach
    tags = frozenset(rows.tag for rows in plan.job.rows if rows.kind in read)
    return Wanted(tags, None, after, last, tuple(_keys(plan, needed, question)))


def _keys(plan: DetectionPlan, heads: Collection[p.Head], question: EventPattern) -> Iterator[tuple[str, str, Value]]:
    """Yield the slots of rows that must have a value that the question fixes, where both are plain."""
    asked = (question.name, len(question.args))
    found = find_partitioning([*heads])
    if found.obstacles:
        return
    for group in found.groups:
        for key in group.keys:
            term = question.args[key.positions[asked]] if asked in key.positions else None
            if not isinstance(term, Const) or term.value == "null" or not set(group.kinds) <= set(key.positions):
                continue
            for rows in plan.job.rows:
                place = key.positions.get(rows.kind)
                if rows.kind in group.kinds and place is not None and _PLAIN.get(rows.types[place]) is type(term.value):
                    yield rows.tag, f"s{rows.slots[place]}", term.value


def keep_rows(job: Job, wanted: Wanted, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the rows that are wanted, of those that can be taken."""
    for batch in screened(job, batches):
        end = read_times(batch[last_column(batch)], job.unit).micros
        kept = np.asarray(pc.is_in(batch[TAG], pa.array(sorted(wanted.tags), pa.string())))
        if wanted.after is not None:
            kept = kept & (end >= wanted.after)
        if wanted.until is not None:
            kept = kept & (end <= wanted.until)
        for tag, slot, value in wanted.keys:
            others = np.asarray(pc.not_equal(batch[TAG], tag))
            kept = kept & (others | _is_equal(batch[slot], value))
        if wanted.ids is not None:
            kept = _is_named(batch, wanted.ids, kept)
        yield batch.filter(pa.array(kept))


def _is_equal(column: Any, value: Value) -> Any:
    """Tell which cells are a value; of a column of another type any may be."""
    try:
        wanted = pa.scalar(value, column.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return np.ones(len(column), bool)
    return np.asarray(pc.fill_null(pc.equal(column, wanted), False))


def _is_named(batch: Any, ids: Collection[str], in_time: Any) -> Any:
    """Tell which rows have one of some ids; those without id that lie in time may have one."""
    if ID not in batch.schema.names:
        return in_time
    named = pc.is_in(batch[ID], pa.array(sorted(ids), pa.string()))
    return np.asarray(named) | (np.asarray(pc.is_null(batch[ID])) & in_time)
