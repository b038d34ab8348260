"""Late events and corrections in a snapshot: what is held, the history, and the states that it begins with.

Rows of the history are written in order of arrival, without those that were taken back, and are put into their
partitions anew. The states before them are written as the engine's own are, table by table, with the partition first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from etalis.errors import Problem, SnapshotError
from etalis.runtime.disorder import Disorder
from etalis.runtime.history import History, Part
from etalis.runtime.order import PLAIN, Stamp, atom_of
from etalis.runtime.replay import Content
from etalis.runtime.snapshot_book import Book
from etalis.runtime.snapshot_file import Name
from etalis.runtime.snapshot_stores import form_of, pair_columns, pair_content, table_columns, table_content
from etalis.runtime.state import Tag
from etalis.runtime.tables import fifos_of, logs_of, tables_of

Parts = Mapping[tuple[str, str], Any]
Place = tuple[str | None, Any, int]  # a part of the history by name, the key of a partition, whether it lives
Base = tuple[int, Any]  # the number of a part of the history, and the key of a partition
Owner = Callable[[Hashable], str]


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

    def name(self, part: Part) -> str:
        return self._names[id(part)]

    def part(self, name: str) -> Part:
        """Return the part that takes the same events, parted by the same."""
        if name not in self._parts:
            hint = "restore it with rules that part events as the old ones did"
            raise SnapshotError(Problem("E426", f"the snapshot parts events in another way: {name}", hint=hint))
        return self._parts[name]


def _name_part(history: History, part: Part) -> str:
    kinds = sorted(kind for kind, own in history.parts.items() if own is part)
    keys = [f"{name}/{arity}@{'' if part.positions is None else part.positions[name, arity]}" for name, arity in kinds]
    return " ".join(["together", *keys] if part is history.together else keys)


# all of it


def save_disorder(disorder: Disorder, partitions: Partitions, parts: Parts, owner: Owner, book: Book) -> None:
    """Write down what late events and corrections need."""
    scalars = [("ranked", disorder.ranked)]
    if disorder.watermark is not None:
        mark = disorder.watermark
        scalars.append(("reached", mark.reached))
        book.put_rows(("sources",), [(name, end, int(name in mark.idle)) for name, end in mark.latest.items()])
    if disorder.held is not None:
        held = [(*row[:3], *atom_of(row), _apart(row[3])) for row in disorder.held]
        book.put_rows(("held",), held)
        book.put_rows(("held ids",), list(disorder.held_ids.items()))
    if disorder.revision is not None:
        history = disorder.revision.history
        scalars += [("settled", disorder.revision.settled), ("next rank", history.next_place())]
        _save_history(history, book)
        _save_bases(history, partitions, parts, owner, book)
    book.put_rows(("disorder",), scalars)


def load_disorder(
    disorder: Disorder, partitions: Partitions, parts: Parts, owners: Mapping[str, Hashable], book: Book
) -> None:
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
        disorder.held_ids.update(book.rows(("held ids",)))
    if disorder.revision is not None:
        disorder.revision.settled = scalars["settled"]
        _load_history(disorder.revision.history, book, scalars["next rank"])
        _load_bases(partitions, parts, owners, book)


def _apart(stamp: Stamp | None) -> tuple[Any, ...] | None:
    """Return a stamp as data; its time stands with the event."""
    return None if stamp is None or stamp is PLAIN else (0, stamp.id, stamp.rank, stamp.source)


def _save_history(history: History, book: Book) -> None:
    """Write the rows in order of arrival, kind by kind, so that their attributes are columns."""
    ids = {place: name for name, place in history.ids.items()}
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


# the states that histories begin with: all in one table per store, by partition and key


def _save_bases(history: History, partitions: Partitions, parts: Parts, owner: Owner, book: Book) -> None:
    bases: dict[Base, Content] = {}
    for number, part in enumerate(history.all_parts()):
        bases |= {(number, key): base for key, base in part.bases.items()}
        if part.bases:
            book.put_rows(("base part", str(number)), [(partitions.name(part),)])
    book.put_rows(("bases",), [(*place, base.now) for place, base in bases.items()])
    timers = [
        (*place, due, since, owner(o), payload) for place, b in bases.items() for due, since, o, payload in b.timers
    ]
    book.put_rows(("base timers",), timers)
    for place, (where, i, form) in enumerate(_stores(parts, tables_of)):
        table = {(*base, key): group for base, b in bases.items() for key, group in b.tables[place].items()}
        note, columns = table_columns(table, form)
        book.put(("base table", *where, i), columns, note)
    for place, (where, i, _) in enumerate(_stores(parts, fifos_of)):
        note, columns = pair_columns([(end, (*base, key)) for base, b in bases.items() for end, key in b.fifos[place]])
        book.put(("base fifo", *where, i), columns, note)
    for place, (where, i, _) in enumerate(_stores(parts, logs_of)):
        rows = [(*base, *row) for base, b in bases.items() for row in b.logs[place]]
        book.put_rows(("base log", *where, i), rows)


def _stores(parts: Parts, of: Callable[[Any], Sequence[Any]]) -> list[tuple[tuple[str, str], str, str]]:
    """Return name, number and form of all stores of a kind, in the order in which a content has them."""
    return [(where, str(i), form_of(part, i)) for where, part in parts.items() for i in range(len(of(part)))]


def _load_bases(partitions: Partitions, parts: Parts, owners: Mapping[str, Hashable], book: Book) -> None:
    tables = [_by_base(book, ("base table", *where, i)) for where, i, _ in _stores(parts, tables_of)]
    fifos = [_by_base(book, ("base fifo", *where, i)) for where, i, _ in _stores(parts, fifos_of)]
    logs = [_by_base(book, ("base log", *where, i)) for where, i, _ in _stores(parts, logs_of)]
    timers: dict[Base, list[Any]] = {}
    for number, key, due, since, owner, payload in book.rows(("base timers",)):
        if owner in owners:
            timers.setdefault((number, key), []).append((due, since, owners[owner], payload))
    found = {int(name[1]): partitions.part(book.rows(name)[0][0]) for name in book.names("base part")}
    for number, key, now in book.rows(("bases",)):
        base = (number, key)
        content = Content(
            tuple(dict(table.get(base, ())) for table in tables),
            tuple(tuple(fifo.get(base, ())) for fifo in fifos),
            tuple(log.get(base, []) for log in logs),
            tuple(timers.get(base, ())),
            now,
        )
        found[number].bases[key] = content


def _by_base(book: Book, name: Name) -> dict[Base, list[Any]]:
    """Return what a store holds, by the state that it belongs to."""
    section = book.image.sections.get(name)
    found: dict[Base, list[Any]] = {}
    if section is None:
        return found
    note, columns = dict(section.note), book.columns(name)
    match name[0]:
        case "base table":
            for (number, base, key), group in table_content(note, columns, book.tokens):
                found.setdefault((number, base), []).append((key, group))
        case "base fifo":
            for end, (number, base, key) in pair_content(note, columns):
                found.setdefault((number, base), []).append((end, key))
        case _:
            for number, base, *row in zip(*columns, strict=True):
                found.setdefault((number, base), []).append(tuple(row))
    return found
