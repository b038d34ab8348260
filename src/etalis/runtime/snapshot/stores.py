"""The stores of operators as columns: a row per waiting item, the key of its group first.

Rows of one key stand together, in the order of the group. A table here says per kind of item how it is taken apart into
columns and put together again; stores of plain instances go through no loop of ours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from etalis.runtime.operators.aggregate import Folder, Opener, Slider
from etalis.runtime.operators.blockers import LatestBlockers
from etalis.runtime.operators.gathering import ArrivalStore
from etalis.runtime.operators.mixed_window import window_of
from etalis.runtime.operators.partition_state import Table
from etalis.runtime.operators.repetition.chains import RunLog
from etalis.runtime.operators.repetition.counted import Left, Noted, Run
from etalis.runtime.operators.repetition.repeater import Repeater
from etalis.runtime.operators.repetition.runner import Runner
from etalis.runtime.operators.running import Running
from etalis.runtime.operators.store import LONG, Newest, Token
from etalis.runtime.snapshot.file import Columns
from etalis.runtime.snapshot.pieces import RopeList, RopePieces
from etalis.temporal.aggregate import FOLDS, AggregateFunction

Note = dict[str, Any]
Flat = tuple[Any, ...]


class Tokens:
    """Tokens by number: numbered when they are first written, found again when they are read.

    Pieces of ropes have numbers below zero.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.pieces = RopePieces()
        self._known: dict[int, Token] = {}

    def number(self, x: Any) -> int:
        """Return the number of a piece, or of a token; those of its origin and its parents are known then, too."""
        if not isinstance(x, Token):
            return self.pieces.number(x)
        waiting = [x]
        while waiting:
            found = waiting.pop()
            if self._known.get(found.number) is not found:
                if found.number == 0 or found.number in self._known:
                    self.count += 1
                    found.number = self.count
                self._known[found.number] = found
                waiting += (*found.parents, found.origin)
        return x.number

    def rows(self) -> Columns:
        """Return all tokens that have been asked for."""
        known = sorted(self._known.items())
        return [
            [number for number, _ in known],
            [int(token.alive) for _, token in known],
            [token.origin.number for _, token in known],
            [tuple(parent.number for parent in token.parents) for _, token in known],
        ]

    def find(self, number: int) -> Any:
        """Return the token, or the piece, of a number."""
        return self._known[number] if number >= 0 else self.pieces.find(number)

    def load(self, columns: Sequence[Sequence[Any]]) -> None:
        """Make the tokens that were written; what they come from is told later."""
        for number, alive, *_ in zip(*columns, strict=True):
            token = self._known[number] = Left((), 0, 0)  # what it is of, if anything waits, is told with that
            token.number, token.alive = number, bool(alive)
        for number, _, _, parents in zip(*columns, strict=True):
            self._known[number].parents = tuple(map(self.find, parents))

    def settle(self, columns: Sequence[Sequence[Any]]) -> None:
        """Say what every token comes from; of what is gone, only that it was one and the same."""
        for number, _, origin, _ in zip(*columns, strict=True):
            self.find(number).of = None if origin == number else self.find(origin)


class Form(NamedTuple):
    """How one kind of item is taken apart and put together, and items of one key become a group."""

    apart: Callable[[Any], Flat]
    together: Callable[[Flat, Tokens], Any]
    gather: Callable[[list[Any]], Any] = list


def _left(flat: Flat, tokens: Tokens) -> Left:
    start, end, token, replaced, counts, chains, elements, logs, *values = flat
    left: Left = tokens.find(token)
    left.values, left.start, left.end = tuple(values), start, end
    left.replaced_by, left.counted = replaced, counts or None
    if chains or elements or logs:
        left.notes.chains, left.notes.elements = chains, elements
        left.notes.logs = {key: RunLog.of(*log) for key, log in logs.items()}
    return left


def _apart_opener(x: Opener) -> Flat:
    return x.start, x.end, {key: _apart_total(total) for key, total in x.totals.items()}, *x.values


def _fold_forms(row: AggregateFunction) -> dict[str, Form]:
    """Return the forms of what an aggregate holds: openers, windows, and what all elements have come to."""

    def opener(flat: Flat, tokens: Tokens) -> Opener:
        del tokens
        start, end, totals, *values = flat
        found = Opener(tuple(values), start, end)
        found.totals = {key: Running.of(row, *state) for key, state in totals.items()}
        return found

    return {
        f"opener of {row.name}": Form(_apart_opener, opener),
        f"window of {row.name}": Form(lambda x: x, lambda flat, _: flat, partial(window_of, row)),
        f"total of {row.name}": Form(_apart_total, lambda flat, _: Running.of(row, *flat), itemgetter(0)),
    }


def _run(flat: Flat, tokens: Tokens) -> Run:
    start, end, number, token, ids, log = flat
    run = Run(start, end)
    run.number, run.ids, run.log = number, ids, None if log is None else RunLog.of(*log)
    run.tied = tokens.find(token)
    return run


def _apart_left(x: Left) -> Flat:
    noted = x.noted or Noted()
    logs = {key: _apart_log(log) for key, log in noted.logs.items()}
    return (
        x.start,
        x.end,
        x,
        x.replaced_by,
        x.counts if x.counted else {},
        noted.chains,
        noted.elements,
        logs,
        *x.values,
    )


def _apart_run(x: Run) -> Flat:
    return x.start, x.end, x.number, x.token, x.ids, None if x.log is None else _apart_log(x.log)


def _apart_log(log: RunLog) -> Flat:
    elements, before = log.state()
    return RopeList(elements), before


def _apart_total(x: Running) -> Flat:
    *rest, log = x.state()
    return *rest, None if log is None else (log[0], RopeList(log[1]))


def _gather(items: list[Flat]) -> Any:
    """Return the group of some instances: one is bare, many are a deque."""
    if len(items) == 1:
        return items[0]
    return deque(items) if len(items) >= LONG else items


def _gather_lefts(items: list[Any]) -> Any:
    return deque(items) if len(items) >= LONG else items


FORMS: Mapping[str, Form] = {
    "instances": Form(lambda x: x, lambda flat, _: flat, _gather),
    "plain": Form(lambda x: x, lambda flat, _: flat),
    "latest": Form(lambda x: x, lambda flat, _: flat, lambda items: items[-1][1]),
    "left": Form(_apart_left, lambda flat, t: _left((*flat[:2], flat[2].number, *flat[3:]), t), _gather_lefts),
    "run": Form(_apart_run, lambda flat, t: _run((*flat[:3], flat[3].number, *flat[4:]), t)),
    "first": Form(
        lambda x: (*_apart_run(x[0]), x[1]),
        lambda flat, t: (_run((*flat[:3], flat[3].number, *flat[4:6]), t), flat[6]),
    ),
    **{name: form for row in FOLDS.values() for name, form in _fold_forms(row).items()},
}


def form_of(part: Any, place: int) -> str:
    """Return the form of the items in one table of a part of the state."""
    match part:
        case ArrivalStore():
            return "arrived"
        case dict():
            return "instances"
        case LatestBlockers():
            return "latest"
        case Repeater():
            return ("left", "plain")[place]
        case Folder(fold=row):
            return f"opener of {row.name}"
        case Slider(fold=row, is_running=is_running):
            return f"{'total' if is_running else 'window'} of {row.name}"
        case Runner():
            return ("run", "first", "plain")[place]
    return "plain"


def split_keys(keys: Sequence[Any]) -> tuple[int, Columns]:
    """Return how many parts every key has (0: it is no tuple, or not always of one length), and the keys as columns."""
    if keys and set(map(type, keys)) == {tuple} and len(width := set(map(len, keys))) == 1 and width != {0}:
        return width.pop(), row_columns(keys)
    return 0, [keys]


def join_keys(width: int, columns: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Return the keys that columns hold."""
    return list(zip(*columns[:width], strict=True)) if width else columns[0]


def table_columns(table: Table, form: str) -> tuple[Note, Columns]:
    """Return a table by join key as columns, and what must be known to read them."""
    groups = table.values()
    if form == "instances" and set(map(type, groups)) == {Newest}:
        return _columns("newest", list(table), [(group.event, *group.items[-1]) for group in groups])
    if form == "arrived":
        return _columns(form, *_in_ranks(*table_rows(table, "instances")))
    return _columns(form, *table_rows(table, form))


def _in_ranks(keys: list[Any], items: Collection[Flat]) -> tuple[list[Any], list[Flat]]:
    """Return instances with their ranks among all, counted back from -1, in the place of their arrivals."""
    ranks = {arrival: rank for rank, arrival in enumerate(sorted(item[-3] for item in items), -len(items))}
    return keys, [(*item[:-3], ranks[item[-3]], *item[-2:]) for item in items]


def table_rows(table: Table, form: str) -> tuple[list[Any], Collection[Flat]]:
    """Return the items of a table taken apart, with the key of each, those of a key in order."""
    groups = table.values()
    if form == "instances" and set(map(type, groups)) == {tuple}:
        return list(table), groups
    if form == "latest":  # as (end, start), of which the end is not kept
        return list(table), [(start, start) for start in groups]
    apart = FORMS[form].apart
    found = [(key, apart(x)) for key, group in table.items() for x in (group,) * (type(group) is tuple) or group]
    return [key for key, _ in found], [flat for _, flat in found]


def _columns(form: str, keys: list[Any], items: Collection[Flat]) -> tuple[Note, Columns]:
    width, columns = split_keys(keys)
    return {"form": form, "key": width}, [*columns, *row_columns(items)] if items else []


def table_content(note: Note, columns: Sequence[Sequence[Any]], tokens: Tokens) -> Iterable[tuple[Any, Any]]:
    """Return the keys and groups that columns hold."""
    if not columns:
        return ()
    form, width = note["form"], note["key"]
    keys = join_keys(width, columns)
    items: Iterable[Flat] = zip(*columns[max(width, 1) :], strict=True)
    if form == "newest":
        return ((key, _newest(*flat)) for key, flat in zip(keys, items, strict=True))
    form = "instances" if form == "arrived" else form
    if form == "instances" and len(set(keys)) == len(keys):
        return zip(keys, items, strict=True)
    _, together, gather = FORMS[form]
    pairs = ((key, together(flat, tokens)) for key, flat in zip(keys, items, strict=True))
    return ((key, gather([x for _, x in group])) for key, group in groupby(pairs, key=lambda pair: pair[0]))


def _newest(event: int, *instance: Any) -> Newest:
    return Newest(event, instance)


def pair_columns(items: Sequence[tuple[int, Any]]) -> tuple[Note, Columns]:
    """Return a queue of (end, key) as columns."""
    width, columns = split_keys([key for _, key in items])
    return {"key": width}, [[end for end, _ in items], *columns] if items else []


def pair_content(note: Note, columns: Sequence[Sequence[Any]]) -> Iterable[tuple[int, Any]]:
    """Return the queue that columns hold."""
    return zip(columns[0], join_keys(note["key"], columns[1:]), strict=True) if columns else ()


def row_columns(rows: Collection[Flat]) -> Columns:
    """Return rows of equal width as columns."""
    widths = set(map(len, rows))
    assert len(widths) <= 1, "rows of one store are equally wide"
    # A zip of all rows would hold an iterator per row.
    return [list(map(itemgetter(place), rows)) for place in range(max(widths, default=0))]
