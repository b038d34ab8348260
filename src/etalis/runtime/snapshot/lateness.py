"""Late events and corrections in a snapshot: events that wait, the history, and its base states.

Rows of the history are written in order of arrival, without those that were taken back, and are put into their
partitions anew. The states before them are written as the engine's own are, table by table, with the partition first.
"""

from __future__ import annotations

from typing import Any

from etalis.errors import Problem, SnapshotError
from etalis.runtime.deadlines.timers import Tag
from etalis.runtime.lateness.lateness import Disorder
from etalis.runtime.lateness.watermark import PLAIN, Stamp, atom_of
from etalis.runtime.revision.history import History, RulePartitions
from etalis.runtime.snapshot.bases import load_bases, save_bases
from etalis.runtime.snapshot.rule_epochs import save_epochs
from etalis.runtime.snapshot.sections import Book

Place = tuple[str | None, Any, int]  # a part of the history by name, the key of a partition, whether it lives


def way_of(disorder: Disorder | None) -> tuple[str, ...]:
    """Return in which way events may be out of order."""
    if disorder is None:
        return ()
    ways = {"lateness": disorder.watermark, "held": disorder.held, "history": disorder.history}
    return tuple(name for name, there in ways.items() if there is not None)


def refuse_other_way(theirs: tuple[str, ...], ours: tuple[str, ...]) -> None:
    """Refuse a snapshot of an engine that takes events in another order."""
    if theirs != ours:
        shown = [", ".join(way) or "none" for way in (theirs, ours)]
        message = f"the snapshot keeps for late and corrected events: {shown[0]}; this program needs: {shown[1]}"
        hint = "set out_of_order, reporting and revision_flag as they were"
        raise SnapshotError(Problem("E426", message, hint=hint))


class Partitions:
    """The parts of an engine's history by name: the events each one takes, and by what they are parted."""

    def __init__(self, disorder: Disorder | None) -> None:
        self._revision = None if disorder is None else disorder.revision
        history = None if disorder is None else disorder.history
        found = [] if history is None else [(_name_part(history, part), part) for part in history.all_parts()]
        self._parts = dict(found)
        self._names = {id(part): name for name, part in found}

    def place(self, tag: Tag | None) -> Place:
        """Return the partition of a timer, as data."""
        return (None, None, 1) if tag is None else (self.name(tag.part), tag.key, int(tag.alive))

    def tag(self, name: str | None, key: Any, alive: int) -> Tag | None:
        """Return the partition of a timer."""
        if name is None:
            return None
        assert self._revision is not None
        if alive:
            return self._revision.tag(self.part(name), key)
        gone = Tag(self.part(name), key)
        gone.alive = False
        return gone

    def name(self, part: RulePartitions) -> str:
        return self._names[id(part)]

    def part(self, name: str) -> RulePartitions:
        """Return the part that takes the same events, parted by the same."""
        if name not in self._parts:
            hint = "restore it with rules that partition events as the old ones did"
            raise SnapshotError(Problem("E426", f"the snapshot partitions events otherwise: {name}", hint=hint))
        return self._parts[name]


def _name_part(history: History, part: RulePartitions) -> str:
    kinds = sorted(kind for kind, own in history.parts.items() if own is part)
    keys = [f"{name}/{arity}@{'' if part.positions is None else part.positions[name, arity]}" for name, arity in kinds]
    return " ".join(["together", *keys] if part is history.together else keys)


# all of it


def save_disorder(disorder: Disorder, partitions: Partitions, book: Book) -> None:
    """Write down what late events and corrections need."""
    scalars = [("ranked", disorder.ranked)]
    if disorder.watermark is not None:
        mark = disorder.watermark
        scalars.append(("reached", mark.reached))
        book.put_rows(("sources",), [(name, end, int(name in mark.idle)) for name, end in mark.latest.items()])
    if disorder.held is not None:
        held = [(*row[:3], *atom_of(row), _apart(row[3])) for row in disorder.held]
        book.put_rows(("held",), held)
    if disorder.revision is not None:
        history = disorder.revision.history
        scalars += [("settled", disorder.revision.settled), ("next rank", history.next_place())]
        _save_history(history, book)
        save_epochs(disorder.revision, book)
        save_bases(disorder.revision, partitions.name, book)
    book.put_rows(("disorder",), scalars)


def load_disorder(disorder: Disorder, partitions: Partitions, book: Book) -> None:
    """Put back what late events and corrections need."""
    scalars = dict(book.rows(("disorder",)))
    disorder.ranked = scalars["ranked"]
    if disorder.watermark is not None:
        mark = disorder.watermark
        mark.reached = scalars["reached"]
        for name, end, idle in book.rows(("sources",)):
            mark.latest[name] = end
            if idle:
                mark.idle.add(name)
    if disorder.held is not None:
        for end, start, rank, name, values, stamp in book.rows(("held",)):
            disorder.held.rows.append((end, start, rank, None if stamp is None else Stamp(*stamp), name, *values))
        disorder.held_ids.update(row[3].id for row in disorder.held if row[3] is not None and row[3].id is not None)
    if disorder.revision is not None:
        disorder.revision.settled = scalars["settled"]
        _load_history(disorder.revision.history, book, scalars["next rank"])
        load_bases(disorder.revision, partitions.part, book)


def _apart(stamp: Stamp | None) -> tuple[Any, ...] | None:
    """Return a stamp as data; its time stands with the event."""
    return None if stamp is None or stamp is PLAIN else (0, stamp.id, stamp.rank, stamp.source)


def _save_history(history: History, book: Book) -> None:
    """Write the rows in order of arrival, kind by kind, so that their attributes are columns."""
    ids = {place: name for name, places in history.ids.items() for place in places}
    by_kind: dict[int, list[tuple[Any, ...]]] = {}
    for place, row, number in history.items():
        by_kind.setdefault(number, []).append((place, ids.get(place), *row))
    for number, rows in by_kind.items():
        name, arity = history.kinds[number]
        book.put_rows(("history", name, str(arity)), rows)


def _load_history(history: History, book: Book, next_place: int) -> None:
    found = []
    for section in book.names("history"):
        kind = (section[1], int(section[2]))
        if kind in history.parts:
            found += [(arrival, name, kind, tuple(row)) for arrival, name, *row in book.rows(section)]
    history.rows.begin(next_place - len(found))
    for _, name, kind, row in sorted(found, key=lambda item: item[0]):
        history.add(kind, row, name)
    history.trim_at = max(history.trim_at, 2 * len(history.rows))
    history.is_sorted = False
