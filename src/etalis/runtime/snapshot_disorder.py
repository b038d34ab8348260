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
from etalis.runtime.order import Stamp
from etalis.runtime.replay import Content
from etalis.runtime.snapshot_book import Book
from etalis.runtime.snapshot_stores import form_of, pair_columns, pair_content, table_columns, table_content
from etalis.runtime.state import Tag
from etalis.runtime.tables import fifos_of, logs_of, tables_of

Parts = Mapping[tuple[str, str], Any]
Place = tuple[str, Any]  # a part of the history by name, and the key of a partition
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


# partitions


def _name_part(history: History, part: Part) -> str:
    """Return the name of a part of the history: the events it takes, and by what they are parted."""
    kinds = sorted(kind for kind, own in history.parts.items() if own is part)
    shown = [f"{name}/{arity}@{'' if part.positions is None else part.positions[name, arity]}" for name, arity in kinds]
    return " ".join(shown) if part is not history.together else f"together {' '.join(shown)}"


def _find_part(history: History, name: str) -> Part:
    for part in history.all_parts():
        if _name_part(history, part) == name:
            return part
    hint = "restore it with rules that part events as the old ones did"
    raise SnapshotError(Problem("E426", f"the snapshot parts events in another way: {name}", hint=hint))


def tag_place(disorder: Disorder | None, tag: Tag | None) -> Place | None:
    """Return the partition of a timer, as data."""
    if tag is None or disorder is None or disorder.history is None:
        return None
    return _name_part(disorder.history, tag.part), (tag.key, tag.alive)


def read_tag(disorder: Disorder | None, place: Place | None) -> Tag | None:
    """Return the partition of a timer."""
    if place is None or disorder is None or disorder.history is None:
        return None
    part, (key, alive) = _find_part(disorder.history, place[0]), place[1]
    if alive:
        return disorder._tag(part, key)
    gone = Tag(part, key)
    gone.alive = False
    return gone


# all of it


def save_disorder(disorder: Disorder, parts: Parts, owner: Owner, book: Book) -> None:
    """Write down what late events and corrections need."""
    scalars = [("ranked", disorder._ranked), ("settled", disorder._settled)]
    if disorder.watermark is not None:
        mark = disorder.watermark
        scalars.append(("reached", mark.reached))
        book.put_rows(("sources",), [(name, end, int(name in mark.idle)) for name, end in mark.latest.items()])
    if disorder.held is not None:
        held = [(*row[:3], *row[3][:2], _apart(row[3][2])) for row in disorder.held]
        book.put_rows(("held",), held)
        book.put_rows(("held ids",), list(disorder.held_ids.items()))
    if disorder.history is not None:
        scalars.append(("next rank", disorder.history.next_rank()))
        _save_history(disorder.history, book)
        _save_bases(disorder.history, parts, owner, book)
    book.put_rows(("disorder",), scalars)


def load_disorder(disorder: Disorder, parts: Parts, owners: Mapping[str, Hashable], book: Book) -> None:
    """Put back what late events and corrections need."""
    scalars = dict(book.rows(("disorder",)))
    disorder._ranked, disorder._settled = scalars["ranked"], scalars["settled"]
    if disorder.watermark is not None:
        mark = disorder.watermark
        mark.reached = scalars["reached"]
        for name, end, idle in book.rows(("sources",)):
            mark.latest[name] = end
            if idle:
                mark.idle.add(name)
    if disorder.held is not None:
        for end, start, rank, name, values, stamp in book.rows(("held",)):
            disorder.held.rows.append((end, start, rank, (name, values, None if stamp is None else Stamp(*stamp))))
        disorder.held_ids.update(book.rows(("held ids",)))
    if disorder.history is not None:
        _load_history(disorder.history, book)
        disorder.history.first_rank += scalars["next rank"] - disorder.history.next_rank()
        _load_bases(disorder.history, parts, owners, book)


def _apart(stamp: Stamp | None) -> tuple[Any, ...] | None:
    """Return a stamp as data; its time stands with the event."""
    return None if stamp is None else (0, stamp.id, stamp.rank, stamp.source)


def _save_history(history: History, book: Book) -> None:
    """Write the rows in order of arrival, kind by kind, so that their attributes are columns."""
    ids = {place: name for name, place in history.ids.items()}
    by_kind: dict[int, list[tuple[Any, ...]]] = {}
    for place, (row, number) in enumerate(zip(history.rows, history.numbers, strict=True)):
        if row is not None:
            arrival = history.first_rank + place
            by_kind.setdefault(number, []).append((arrival, ids.get(place), *row))
    for number, rows in by_kind.items():
        name, arity = history.kinds[number]
        book.put_rows(("history", name, str(arity)), rows)


def _load_history(history: History, book: Book) -> None:
    found = []
    for section in book.names("history"):
        kind = (section[1], int(section[2]))
        if kind in history.parts:
            found += [(arrival, name, kind, tuple(row)) for arrival, name, *row in book.rows(section)]
    for _, name, kind, row in sorted(found, key=lambda item: item[0]):
        history.add(kind, row, name)
    history.trim_at = max(history.trim_at, 2 * len(history.rows))


# the states that histories begin with


def _save_bases(history: History, parts: Parts, owner: Owner, book: Book) -> None:
    bases = [((_name_part(history, p), key), base) for p in history.all_parts() for key, base in p.bases.items()]
    for number, (place, base) in enumerate(bases):
        tables, fifos, logs = iter(base.tables), iter(base.fifos), iter(base.logs)
        for (node, part_name), part in parts.items():
            where = (str(number), node, part_name)
            for i in range(len(tables_of(part))):
                note, columns = table_columns(next(tables), form_of(part, i))
                book.put(("base table", *where, str(i)), columns, note)
            for i in range(len(fifos_of(part))):
                note, columns = pair_columns(next(fifos))
                book.put(("base fifo", *where, str(i)), columns, note)
            for i in range(len(logs_of(part))):
                book.put_rows(("base log", *where, str(i)), next(logs))
        timers = tuple((due, since, owner(o), payload) for due, since, o, payload in base.timers)
        book.put_rows(("base", str(number)), [(place, base.now, timers)])


def _load_bases(history: History, parts: Parts, owners: Mapping[str, Hashable], book: Book) -> None:
    for section in book.names("base"):
        ((part_name, key), now, timers) = book.rows(section)[0]
        known = tuple((d, s, owners[o], payload) for d, s, o, payload in timers if o in owners)
        content = Content(
            tuple(_base_tables(section[1], parts, book)),
            tuple(tuple(x) for x in _base_lists("base fifo", fifos_of, section[1], parts, book)),
            tuple(list(x) for x in _base_lists("base log", logs_of, section[1], parts, book)),
            known,
            now,
        )
        _find_part(history, part_name).bases[key] = content


def _base_tables(number: str, parts: Parts, book: Book) -> list[dict[Any, Any]]:
    found = []
    for where, part in parts.items():
        for i in range(len(tables_of(part))):
            name = ("base table", number, *where, str(i))
            section = book.image.sections.get(name)
            note = {} if section is None else dict(section.note)
            found.append(dict(table_content(note, book.columns(name), book.tokens)))
    return found


def _base_lists(
    kind: str, of: Callable[[Any], Sequence[Any]], number: str, parts: Parts, book: Book
) -> list[list[Any]]:
    found: list[list[Any]] = []
    for where, part in parts.items():
        for i in range(len(of(part))):
            name = (kind, number, *where, str(i))
            columns = book.columns(name)
            if kind == "base fifo":
                section = book.image.sections.get(name)
                found.append(list(pair_content({} if section is None else dict(section.note), columns)))
            else:
                found.append(list(zip(*columns, strict=True)))
    return found
