"""Why and why not, asked about matches on Spark: the rows in question are fetched, and the process is asked.

A match with `contributors` needs the rows it is made of; any other question those that its rule can depend on. The same
program runs over them in the process, event at a time, and keeps what explanations need.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from etalis.errors import InputError, Problem
from etalis.language.syntax import EventPattern
from etalis.runtime.core import EngineOptions
from etalis.runtime.engine import RuntimeEngine, start_engine
from etalis.spark.batch.build import project
from etalis.spark.batch.feed import Feed
from etalis.spark.batch.job import load
from etalis.spark.plan.detection import DetectionPlan
from etalis.spark.plan.question import Wanted, keep_rows, wanted_rows
from etalis.tables.column_types import NUMBERS
from etalis.tables.results.output import ID as MATCH_ID
from etalis.tables.sorting import Sorter
from etalis.temporal.attribute_names import CONTRIBUTORS
from etalis.temporal.event import Event
from etalis.why.justify import justify, read_question
from etalis.why.search.ask import why_not

if TYPE_CHECKING:
    from etalis.why.justification import Justification
    from etalis.why.why_not import WhyNot

MOST_ROWS = 1_000_000
_INTERVAL = re.compile(r"@(-?\d+)\.\.(-?\d+)$")
Fetch = Callable[[Wanted], Any]  # rows as they travel, as an Arrow table


@dataclass(frozen=True, slots=True)
class MatchRow:
    """A match as a row of results tells it."""

    id: str
    atom: str
    start: int
    end: int
    contributors: tuple[str, ...] | None

    @staticmethod
    def of(row: Any) -> MatchRow:
        """Read a Row of Spark, or a dict."""
        cells = row.asDict() if hasattr(row, "asDict") else row
        found = cells.get(MATCH_ID) if isinstance(cells, Mapping) else None
        interval = _INTERVAL.search(found) if isinstance(found, str) else None
        if interval is None:
            hint = "give a row of the results of detect, with its column match_id"
            raise _refuse("E640", "this is no match: it has no match_id", hint)
        told = cells.get(CONTRIBUTORS)
        parts = None if told is None else tuple(told)
        return MatchRow(str(found), str(found)[: interval.start()], int(interval[1]), int(interval[2]), parts)


class FetchedRows:
    """A program and the rows that questions about it may need, fetched when it is known which."""

    def __init__(self, plan: DetectionPlan, fetch: Fetch) -> None:
        self.plan = plan
        self.program = load(plan.job)
        self.heads = self.program.plans(None)
        self._fetch = fetch

    def why(self, match: MatchRow) -> Justification:
        """Say why a match occurred."""
        found = None if match.contributors is None else self._by_contributors(match, match.contributors)
        return self._by_time(match) if found is None else found

    def _by_contributors(self, match: MatchRow, ids: Collection[str]) -> Justification | None:
        """Run the rows that a match is made of; None if they make it in another way than all rows do."""
        times = [(int(found[1]), int(found[2])) for row_id in ids if (found := _INTERVAL.search(row_id))]
        ends = [end for _, end in times]
        tags = frozenset(rows.tag for rows in self.plan.job.rows)
        rows = self._rows(Wanted(tags, frozenset(ids), min(ends, default=1), max(ends, default=0)))
        mine = [(row_id, row) for row_id, row in rows if row_id in ids]
        missing = set(ids) - {row_id for row_id, _ in mine}
        if missing:
            named = ", ".join(sorted(missing)[:3]) + (", ..." if len(missing) > 3 else "")
            hint = "ask with the rows that the match was found in, and the id= that detect had; of a stream, keep them"
            raise _refuse("E641", f"{len(missing)} of {len(set(ids))} contributors are not there: {named}", hint)
        engine, made = self._run([row for _, row in mine])
        for event in made:
            if event.id == match.id and len(event.parts) == len(mine):
                return justify(engine.core, event, None, None)
        return None

    def _by_time(self, match: MatchRow) -> Justification:
        """Run all rows that a match can depend on."""
        question = read_question(start_engine(self.program).core, match.atom)
        wanted = wanted_rows(self.plan, self.heads, question, match.end, match.end)
        engine, made = self._run([row for _, row in self._rows(wanted)])
        for event in made:
            if event.id == match.id:
                return justify(engine.core, event, None, None)
        hint = "ask with the rows, the program, the policy and the knowledge that the match was found with"
        raise _refuse("E642", f"the rows do not make {match.atom} from {match.start} to {match.end} us", hint)

    def why_not(
        self, question: str, at: int | None, between: tuple[int, int] | None, interval: tuple[int, int] | None,
        **options: int,
    ) -> WhyNot:  # fmt: skip
        """Say why an event did not occur."""
        pattern: EventPattern = read_question(start_engine(self.program).core, question)
        first, last = _range(at, between, interval)
        wanted = wanted_rows(self.plan, self.heads, pattern, first, last, times=2)  # near misses lie beyond a window
        engine, _ = self._run([row for _, row in self._rows(wanted)])
        found = why_not(engine.core, question, at=at, between=between, interval=interval, **options)
        return replace(found, dates=engine.core.evidence.shown.dates)

    def _rows(self, wanted: Wanted) -> list[tuple[str, Any]]:
        """Return rows as engines take them, in their order, each with its id."""
        if not wanted.tags:
            return []  # no rule makes what is asked for
        job = self.plan.job
        sorter = Sorter(job.unit, job.memory)
        for batch in self._fetch(wanted).to_batches():
            sorter.add(batch)
        feed = Feed(sorter.stretches(), job.rows, self.program.signatures)
        return [pair for chunk in feed.chunks() for pair in zip(feed.name(chunk), chunk.rows, strict=True)]

    def _run(self, rows: Sequence[Any]) -> tuple[RuntimeEngine, list[Event]]:
        """Run rows to the end, in an engine that can explain what it made."""
        engine = start_engine(self.program, EngineOptions(on_error=self.plan.job.on_error, justification="full"))
        engine.core.evidence.shown.dates = any(frame.time_types[0] not in NUMBERS for frame in self.plan.frames)
        return engine, [*engine.run(rows), *engine.close()]


def _range(
    at: int | None, between: tuple[int, int] | None, interval: tuple[int, int] | None
) -> tuple[int | None, int | None]:
    """Return from when to when the event that is asked for would have ended."""
    if between is not None:
        return between
    end = at if interval is None else interval[1]
    return end, end


def fetch_rows(frames: Sequence[Any], plan: DetectionPlan, limit: int) -> Fetch:
    """Return what fetches rows of DataFrames, but no more than a limit."""

    def fetch(wanted: Wanted) -> Any:
        both = zip(frames, plan.frames, strict=True)
        parts = [project(df, frame, plan, wanted.tags, is_first=False) for df, frame in both]
        rows = reduce(lambda a, b: a.unionByName(b), [part for part in parts if part is not None])
        found = rows.mapInArrow(partial(keep_rows, plan.job, wanted), rows.schema).limit(limit + 1).toArrow()
        if found.num_rows > limit:
            raise too_many(limit)
        return found

    return fetch


def too_many(limit: int) -> InputError:
    """Return the refusal to collect more rows than a limit."""
    hint = (
        "ask about one key (fraud(c1, _)), a shorter time (at=, between=), rows you have filtered, or a match with its "
        "contributors; rules with `within` reach less far back; or raise limit="
    )
    return _refuse("E643", f"the question needs more than {limit} rows", hint)


def _refuse(code: str, message: str, hint: str) -> InputError:
    return InputError(Problem(code, message, hint=hint))
