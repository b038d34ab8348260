"""One shard: Arrow batches of rows in, sorted, through the engine, Arrow batches of complex events out.

Runs inside Spark's Python workers, without pyspark. What travels is a `Job`: the program's text and plain data. The
program is read again once per process, the engine is fresh per shard. Law: rows are taken in the order of language.md
section 2: (end, start, order column), and where these are equal in the standard order of the atoms.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from etalis.errors import EventError, InputError, Problem
from etalis.formats.row import UNITS
from etalis.language.attributes import convert
from etalis.language.flags import Settings
from etalis.language.parser import parse
from etalis.logic.term import order_key, real
from etalis.runtime.engine import Engine
from etalis.runtime.program import Program
from etalis.spark.output import Output, encode
from etalis.temporal.event import Event, Kind
from etalis.temporal.interval import MICROSECONDS, to_seconds

BATCH = 10_000
FEW = 4  # kinds of event for which whole columns are zipped, also for rows of other kinds
TAG, START, END, ORDER = "_event", "_start", "_end", "_order"
NO_EVENT = "\0"  # the tag of a row that only makes a shard exist
_LATEST = 1 << 62  # microseconds: beyond, sums of times could leave 64 bits
_LOG = logging.getLogger("etalis.spark")
ERROR_COLUMNS = "code string, message string"


@dataclass(frozen=True, slots=True)
class Rows:
    """How rows of one tag become events: the event's name, and the slots of its attributes."""

    tag: str
    name: str
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """All that a shard needs to know."""

    text: str
    settings: Settings
    rows: tuple[Rows, ...]
    made: tuple[str, ...]
    unit: str
    output: Output


@lru_cache(maxsize=16)
def load(text: str, settings: Settings) -> Program:
    """Read a program again from its text, once per process."""
    return Program(parse(text), (), settings)


def run_shard(job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    """Run one shard and yield its complex events; errors of conditions go to the log."""
    engine = load(job.text, job.settings).engine(on_error=_log)
    kinds = dict(job.output.kinds)
    found = (e for e in run_rows(engine, job, batches) if (e.kind.name, e.kind.arity) in kinds)
    while part := list(islice(found, BATCH)):
        yield encode(part, job.output)


def _log(error: Exception) -> None:
    _LOG.warning("%s", error)


def run_errors(job: Job, batches: Iterable[Any]) -> Iterator[Any]:
    """Run one shard and yield what its conditions and actions raised."""
    problems: list[Problem] = []
    engine = load(job.text, job.settings).engine(on_error=lambda error: problems.extend(error.problems))
    for _ in run_rows(engine, job, batches):
        if len(problems) >= BATCH:
            yield _report(problems)
            problems.clear()
    if problems:
        yield _report(problems)


def _report(problems: Sequence[Problem]) -> Any:
    columns = [[p.code for p in problems], [str(p) for p in problems]]
    return pa.RecordBatch.from_arrays([pa.array(c, pa.string()) for c in columns], names=["code", "message"])


def run_rows(engine: Engine, job: Job, batches: Iterable[Any]) -> Iterator[Event]:
    """Take all rows of a shard in order, close the stream, and yield what that caused."""
    parts = [batch for batch in batches if batch.num_rows]
    if parts:
        feed = Feed(pa.Table.from_batches(parts), job, engine.program)
        try:
            yield from engine.run(feed)
        except EventError as error:
            first = error.problems[0]
            message = f"{feed.place()}: {first.message}"
            raise InputError(Problem(first.code, message, hint=first.hint)) from error
    yield from engine.close()


class Feed:
    """The rows of a table as the engine takes them, in order; knows where it is, for messages."""

    def __init__(self, table: Any, job: Job, program: Program) -> None:
        tags = table[TAG]
        if tags.null_count:
            raise _refuse(f"{tags.null_count} rows name no event", "fill in the column that names the event")
        real_rows = pc.not_equal(tags, NO_EVENT)
        self.table = table if pc.all(real_rows).as_py() else table.filter(real_rows)
        self.rows = {rows.tag: rows for rows in job.rows}
        self.made = job.made
        self.signatures = program.signatures
        self.kinds = {rows.tag: Kind(rows.name, len(rows.slots)) for rows in job.rows}
        self.ranks = _rank_kinds(self.kinds)
        self.current: tuple[str, int | None] = ("a row", None)
        start, end = self._times(job.unit)
        self.places = np.lexsort((self._ranks(), start, end))
        self.start, self.end = start[self.places], end[self.places]
        self.ties = self._tied()

    def place(self) -> str:
        """Say which row was taken last."""
        tag, time = self.current
        return tag if time is None else f"{tag} at {to_seconds(time)} s"

    def _times(self, unit: str) -> tuple[Any, Any]:
        names = self.table.column_names
        start = to_micros(self.table[START], unit)
        end = to_micros(self.table[END], unit) if END in names else start
        if (start > end).any():
            first = int(np.argmax(start > end))
            raise _refuse(f"{self.table[TAG][first]}: a row ends before it starts", "swap start and end")
        return start, end

    def _ranks(self) -> Any:
        if ORDER not in self.table.column_names:
            return np.zeros(self.table.num_rows, np.int8)
        ranks = pc.rank(self.table[ORDER].combine_chunks(), sort_keys="ascending", tiebreaker="dense")
        return ranks.to_numpy(zero_copy_only=False)

    def _tied(self) -> Any:
        """Return which rows have the time and rank of the row before."""
        ranks = self._ranks()[self.places]
        same = np.zeros(len(self.places), bool)
        same[1:] = (self.end[1:] == self.end[:-1]) & (self.start[1:] == self.start[:-1]) & (ranks[1:] == ranks[:-1])
        return same

    def __iter__(self) -> Iterator[Any]:
        count = len(self.places)
        low = 0
        while low < count:
            high = min(low + BATCH, count)
            while high < count and self.ties[high]:
                high += 1
            yield from self._chunk(low, high)
            low = high

    def _chunk(self, low: int, high: int) -> Iterator[Any]:
        """Yield the rows of a stretch that ends no run of equal times in the middle."""
        part = self.table.take(pa.array(self.places[low:high]))
        starts, ends = self.start[low:high].tolist(), self.end[low:high].tolist()
        tags = _to_list(part[TAG])
        values = self._values(part, tags)
        for row in self._order(tags, values, self.ties[low:high]):
            tag, start, end = tags[row], starts[row], ends[row]
            self.current = (tag, end)
            if start == end and not end % MICROSECONDS:
                yield (self.rows[tag].name, *values[row], end // MICROSECONDS)
            else:
                yield Event((end, start, self.kinds[tag], *values[row]))

    def _values(self, part: Any, tags: list[str]) -> list[tuple[Any, ...]]:
        """Return the attributes of every row of a stretch."""
        slots = [_to_list(part[name]) for name in part.column_names if name[0] == "s"]
        kinds = {tag: self._of(tag).slots for tag in dict.fromkeys(tags)}
        if len(kinds) > FEW:
            return [tuple([slots[i][row] for i in kinds[tag]]) for row, tag in enumerate(tags)]
        empty = [()] * len(tags)
        rows = {tag: list(zip(*(slots[i] for i in used), strict=True)) or empty for tag, used in kinds.items()}
        return [rows[tag][row] for row, tag in enumerate(tags)]

    def _of(self, tag: str) -> Rows:
        rows = self.rows.get(tag)
        if rows is None:
            hint = f"rules make {tag}; to receive it as well, declare it: `:- event({tag}(attribute: type, ...)).`"
            raise _refuse(f"rows name the event {tag}, which is not declared", hint)
        return rows

    def _order(self, tags: list[str], values: list[tuple[Any, ...]], ties: Any) -> Sequence[int]:
        """Return the rows in order: those of equal times in the standard order of their atoms."""
        if not ties.any():
            return range(len(tags))
        ordered: list[int] = []
        for low, high in pairwise([*np.flatnonzero(~ties).tolist(), len(tags)]):
            ordered.extend((low,) if high - low == 1 else self._sorted(range(low, high), tags, values))
        return ordered

    def _sorted(self, run: range, tags: list[str], values: list[tuple[Any, ...]]) -> list[int]:
        """Sort rows of equal times; a column has one type, so plain comparison is the standard order but for nulls."""
        ranks = self.ranks
        if ranks is not None:
            try:
                return sorted(run, key=lambda i: (ranks[tags[i]], values[i]))
            except TypeError:
                pass
        return sorted(run, key=lambda i: self._atom(tags[i], values[i]))

    def _atom(self, tag: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
        name = self.rows[tag].name
        self.current = (tag, None)
        known = convert(name, self.signatures.get(name, ()), values)
        return (len(known), name, tuple(map(order_key, known)))


def _rank_kinds(kinds: Mapping[str, Kind]) -> dict[str, int] | None:
    """Return the rank of each tag in the standard order; None where two tags are of one kind, and perhaps two types."""
    if len(set(kinds.values())) < len(kinds):
        return None
    return {tag: i for i, (tag, _) in enumerate(sorted(kinds.items(), key=lambda item: item[1]))}


def to_micros(column: Any, unit: str) -> Any:
    """Turn a column of time into microseconds, or refuse it.

    >>> to_micros(pa.chunked_array([[1, 2]]), "ms").tolist()
    [1000, 2000]
    """
    if column.null_count:
        raise _refuse(f"{column.null_count} rows have no time", "fill in the column of time, or leave the rows out")
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_numpy()
    scale = UNITS[unit]
    numbers = column.to_numpy()
    if numbers.dtype.kind == "f":
        if not np.isfinite(numbers).all():
            raise _refuse("a time is not a finite number", "leave such rows out")
        numbers = np.rint(numbers * float(scale))
        if (np.abs(numbers) > _LATEST).any():
            raise _too_far(unit)
        return numbers.astype(np.int64)
    if scale.denominator > 1:
        return _round(numbers, scale.denominator)
    if (np.abs(numbers) > _LATEST // scale.numerator).any():
        raise _too_far(unit)
    return numbers.astype(np.int64) * scale.numerator


def _round(numbers: Any, by: int) -> Any:
    """Divide, to the nearest whole number, of two to the even one."""
    whole, rest = np.divmod(numbers.astype(np.int64), by)
    return whole + ((2 * rest > by) | ((2 * rest == by) & (whole % 2 == 1)))


def _too_far(unit: str) -> InputError:
    return _refuse(f"a time is outside 64 bits of microseconds, counted in {unit}", 'say another unit: unit="us"')


def _to_list(column: Any) -> list[Any]:
    """Return a column as Python objects; a time stamp as seconds, whole ones as integers."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return [None if t is None else _seconds(t) for t in column.cast(pa.int64()).to_pylist()]
    # The way through NumPy is several times as fast; a null among numbers would become a NaN there.
    if pa.types.is_string(kind) or (not column.null_count and (pa.types.is_int64(kind) or pa.types.is_float64(kind))):
        return column.to_numpy().tolist()  # type: ignore[no-any-return]
    return column.to_pylist()  # type: ignore[no-any-return]


def _seconds(time: int) -> Any:
    return time // MICROSECONDS if not time % MICROSECONDS else real(time / MICROSECONDS)


def _refuse(message: str, hint: str) -> InputError:
    return InputError(Problem("E606", message, hint=hint))
