"""Rows of a shard that cannot be taken: found among the others, and told apart by what is wrong with them.

For batches and streams alike. Law: what is wrong with a row depends on the row alone, so every stage that reads it, and
every task that is run again, finds the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from etalis.spark.stream.dead_letters import Cause, Letters
from etalis.tables.read.rejected_rows import find_refused
from etalis.tables.sorting import END, START, TAG
from etalis.temporal.time_columns import read_times

if TYPE_CHECKING:
    from etalis.spark.batch.job import Job

Layouts: TypeAlias = Sequence[tuple[str, Sequence[tuple[str, int]]]]  # tag -> its columns and their slots


def last_column(rows: Any) -> str:
    """Return the column of the ends of rows."""
    return END if END in rows.schema.names else START


def refuse_wrong(rows: Any, job: Job, layouts: Layouts) -> tuple[Any, list[Letters]]:
    """Return the rows that can be taken, and those without event or time, or with values of a wrong type."""
    columns = {tag: {f"s{slot}": name for name, slot in places} for tag, places in layouts}
    parts = [replace(x, names=tuple(columns[x.tag][name] for name in x.columns)) for x in job.parts]
    wrong = find_refused(rows, (START, last_column(rows)), job.unit, parts, TAG, job.made)
    if not len(wrong):
        return rows, []
    found = rows.take(pa.array(wrong.rows))
    causes = np.array(_causes(found, job.unit, {part.tag for part in parts}))
    letters = []
    for cause in dict.fromkeys(causes.tolist()):
        mine = causes == cause
        reasons = [reason for reason, is_mine in zip(wrong.reasons, mine, strict=True) if is_mine]
        letters.append(Letters(found.filter(pa.array(mine)), reasons, cause))
    return rows.filter(wrong.others(rows.num_rows)), letters


def _causes(rows: Any, unit: str, known: set[str]) -> list[Cause]:
    """Say of rows that are refused what it is that is wrong: the event, the time, or a value."""
    start, end = read_times(rows[START], unit), read_times(rows[last_column(rows)], unit)
    wrong = start.micros > end.micros
    for times in (start, end):
        wrong = wrong if times.bad is None else wrong | times.bad
    pairs = zip(rows[TAG].to_pylist(), wrong.tolist(), strict=True)
    return ["event" if tag not in known else "time" if is_wrong else "value" for tag, is_wrong in pairs]


def leave_to_others(letters: Letters, told: frozenset[str] | None, layouts: Layouts) -> Letters | None:
    """Return dead letters without the rows that another stage tells; None if none is left."""
    if told is None:
        return letters
    known = {tag for tag, _ in layouts}  # only the first stage is given rows of others
    mine = [tag not in known or tag in told for tag in letters.rows[TAG].to_pylist()]
    reasons = [reason for reason, is_mine in zip(letters.reasons, mine, strict=True) if is_mine]
    return Letters(letters.rows.filter(pa.array(mine)), reasons, letters.cause) if reasons else None
