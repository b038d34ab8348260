"""Base states of histories in a snapshot: all of an epoch in one table per store, by partition and key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from etalis.runtime.deadlines.unmatched import Unmatched, shared_with
from etalis.runtime.operators.partition_state import fifos_of, logs_of, tables_of
from etalis.runtime.revision.history import RulePartitions
from etalis.runtime.revision.revision import Revision
from etalis.runtime.revision.rule_epochs import Content
from etalis.runtime.snapshot.file import Name
from etalis.runtime.snapshot.names import Names
from etalis.runtime.snapshot.sections import Book
from etalis.runtime.snapshot.stores import form_of, pair_columns, pair_content, table_columns, table_content

Base = tuple[int, Any]  # the number of a part of the history, and the key of a partition


def save_bases(revision: Revision, name: Callable[[RulePartitions], str], book: Book) -> None:
    """Write the states of all epochs."""
    bases: dict[Base, Content] = {}
    for number, part in enumerate(revision.history.all_parts()):
        bases |= {(number, key): base for key, base in part.bases.items()}
        if part.bases:
            book.put_rows(("base part", str(number)), [(name(part),)])
    book.put_rows(("bases",), [(*place, base.now, base.epoch, base.expires) for place, base in bases.items()])
    for epoch in revision.replayer.epochs:
        own = {place: base for place, base in bases.items() if base.epoch == epoch.number}
        if own:
            _save_epoch(str(epoch.number), own, Names(epoch.rules), book)


def _save_epoch(epoch: str, bases: dict[Base, Content], names: Names, book: Book) -> None:
    timers = [
        (*place, due, since, names.owner(o), payload)
        for place, b in bases.items()
        for due, since, o, payload in b.timers
    ]
    book.put_rows(("base timers", epoch), timers)
    for place, (where, i, form) in enumerate(_stores(names, tables_of)):
        table = {(*base, key): group for base, b in bases.items() for key, group in b.tables[place].items()}
        note, columns = table_columns(table, form)
        book.put(("base table", epoch, *where, i), columns, note)
    for place, (where, i, _) in enumerate(_stores(names, fifos_of)):
        note, columns = pair_columns([(end, (*base, key)) for base, b in bases.items() for end, key in b.fifos[place]])
        book.put(("base fifo", epoch, *where, i), columns, note)
    for place, (where, i, _) in enumerate(_stores(names, logs_of)):
        rows = [(*base, *row) for base, b in bases.items() for row in b.logs[place]]
        book.put_rows(("base log", epoch, *where, i), rows)


def _stores(names: Names, of: Callable[[Any], Sequence[Any]]) -> list[tuple[tuple[str, str], str, str]]:
    """Return name, number and form of all stores of a kind, in the order in which a content has them."""
    return [(where, str(i), form_of(part, i)) for where, part in names.parts.items() for i in range(len(of(part)))]


def load_bases(revision: Revision, part: Callable[[str], RulePartitions], book: Book) -> None:
    """Put back the states of all epochs."""
    found = {int(name[1]): part(book.rows(name)[0][0]) for name in book.names("base part")}
    rows = book.rows(("bases",))
    for epoch in revision.replayer.epochs:
        own = [row for row in rows if row[3] == epoch.number]
        if own:
            for (number, key), content in _load_epoch(str(epoch.number), own, Names(epoch.rules), book):
                revision.history.rebase(found[number], key, content)


def _load_epoch(epoch: str, rows: list[tuple[Any, ...]], names: Names, book: Book) -> list[tuple[Base, Content]]:
    tables = [_by_base(book, ("base table", epoch, *where, i)) for where, i, _ in _stores(names, tables_of)]
    fifos = [_by_base(book, ("base fifo", epoch, *where, i)) for where, i, _ in _stores(names, fifos_of)]
    logs = [_by_base(book, ("base log", epoch, *where, i)) for where, i, _ in _stores(names, logs_of)]
    owners = {names.owner(place): place for place in names.owners}
    timers: dict[Base, list[Any]] = {}
    for number, key, due, since, owner, payload in book.rows(("base timers", epoch)):
        if owner in owners:
            timers.setdefault((number, key), []).append((due, since, owners[owner], payload))
    stores = dict(zip([where for where, _, _ in _stores(names, tables_of)], tables, strict=True))
    for place, part in names.owners.items():
        if isinstance(part, Unmatched):
            _share_instances(timers, place, stores[names.owner(place), part.side])
    return [
        (
            (number, key),
            Content(
                tuple(dict(table.get((number, key), ())) for table in tables),
                tuple(tuple(fifo.get((number, key), ())) for fifo in fifos),
                tuple(log.get((number, key), []) for log in logs),
                tuple(timers.get((number, key), ())),
                *times,
            ),
        )
        for number, key, *times in rows
    ]


def _share_instances(timers: dict[Base, list[Any]], owner: Hashable, store: dict[Base, list[Any]]) -> None:
    """Let what waits for a partner be the instances of the store of its side."""
    for base, several in timers.items():
        mine = [number for number, timer in enumerate(several) if timer[2] == owner]
        payloads = shared_with(dict(store.get(base, ())), [several[number][3] for number in mine])
        for number, payload in zip(mine, payloads, strict=True):
            several[number] = (*several[number][:3], payload)


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
