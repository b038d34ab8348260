"""Knowledge in a snapshot: the predicates that have changed since the engine was created, and changes that wait.

What the program's text and the host's facts say is not written: a restored engine has it from its program. A predicate
that differs from that is written whole, clause by clause, and takes the place of what the program says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from etalis.logic.errors import LogicError
from etalis.logic.knowledge.loaders import LoadedRows
from etalis.logic.knowledge.version_data import (
    PredicateVersion,
    has_changed,
    read_versions,
    set_generations,
    write_versions,
)
from etalis.logic.knowledge.versions import Versions
from etalis.logic.machine.database import Database
from etalis.logic.machine.predicate import Predicate
from etalis.runtime.changes import Change
from etalis.runtime.snapshot.cells import CellWriter
from etalis.runtime.snapshot.file import Name
from etalis.runtime.snapshot.sections import Book

if TYPE_CHECKING:
    from etalis.runtime.core import Core


def save_knowledge(core: Core, book: Book) -> None:
    """Write down what is known otherwise than from the program."""
    database = core.rules.conditions.solver.database
    changed = database.generation != core.generation
    if changed or database.memory:
        fresh = core.program.knowledge.database()
        if database.versions is None:
            _save_predicates(database, fresh, book)
        else:
            _save_versions(database, database.versions, core.generation, book)
        if database.memory != fresh.memory:
            book.put_rows(("memory",), [(*name, value) for name, value in database.memory.items()])
    waiting = [(time, count, c.what, c.name, c.rows.source, c.rows.arity, tuple(c.rows.rows))
               for time, count, c in sorted(core.changes._waiting, key=lambda item: item[:2])]  # fmt: skip
    book.put_rows(("changes",), waiting)
    if core.graphs != core.program.graphs:
        graphs = core.graphs
        book.put_rows(("graphs",), [(dict(graphs.options), tuple(graphs.keys), graphs.blanks)])


def _save_predicates(database: Database, fresh: Database, book: Book) -> None:
    for predicate in database.defined():
        if predicate.fixed:
            continue
        key = (predicate.name, str(predicate.arity))
        known = fresh.own(predicate.name, predicate.arity)
        if predicate.relation is not None and predicate.arity:
            rows = [row for row, _ in predicate.live()]
            if known.relation is None or not known.defined or rows != [row for row, _ in known.live()]:
                book.put_rows(("facts", *key), rows)
                book.put_rows(("predicate", *key), [("facts",)])
        elif not known.defined or _cells(predicate) != _cells(known):
            book.put(("clauses", *key), [list(predicate.live())])  # one cell each: variables belong to a clause
            book.put_rows(("predicate", *key), [("clauses",)])


def _save_versions(database: Database, versions: Versions, first: int, book: Book) -> None:
    """Write predicates with all that they were, where old knowledge can be asked for."""
    book.put_rows(("generations",), [(first, database.generation, versions.oldest)])
    book.put_rows(("moments",), list(zip(versions._times, versions._before, strict=True)))
    for predicate in database.defined():
        if not predicate.fixed and has_changed(predicate, first):
            key = (predicate.name, str(predicate.arity))
            found = read_versions(predicate)
            book.put_rows(("versions", *key), [(version.until, int(version.is_relation)) for version in found])
            for place, version in enumerate(found):
                rows = [(born, died, (args, body)) for born, died, args, body in version.entries]
                book.put_rows(("version", *key, str(place)), rows)


def _load_versions(database: Database, book: Book) -> list[str]:
    """Make predicates what they are and were; return those that can have no clauses here."""
    unfit = []
    ((first, generation, oldest),) = book.rows(("generations",))
    now = database.generation

    def shift(old: int) -> int:
        return old - first + now if old >= first else 0

    for section in book.names("versions"):
        predicate = _writable(database, section)
        if predicate is None:
            unfit.append(f"facts of {section[1]}/{section[2]}")
            continue
        found = []
        for place, (until, is_relation) in enumerate(book.rows(section)):
            rows = book.rows(("version", *section[1:], str(place)))
            entries = [(born, died, args, body) for born, died, (args, body) in rows]
            found.append(PredicateVersion(until, bool(is_relation), entries))
        write_versions(predicate, found, shift)
    moments = [(time, shift(before)) for time, before in book.rows(("moments",))]
    keys = [(name, int(arity)) for _, name, arity in book.names("versions")]
    set_generations(database, keys, shift(generation), shift(oldest), moments)
    return unfit


def _writable(database: Database, section: Name) -> Predicate | None:
    """Return the predicate of a section, if it can have clauses here."""
    try:
        return database.writable(section[1], int(section[2]))
    except LogicError:
        return None


def _cells(predicate: Predicate) -> list[bytes]:
    writer = CellWriter(lambda token: token.number)
    return [writer.write(clause) for clause in predicate.live()]


def load_knowledge(core: Core, book: Book) -> list[str]:
    """Make known what the original knew; return the predicates that can have no clauses here."""
    database = core.rules.conditions.solver.database
    unfit = _load_versions(database, book) if book.names("generations") else []
    for section in book.names("predicate"):
        name, arity = section[1], int(section[2])
        predicate = _writable(database, section)
        if predicate is None:
            unfit.append(f"facts of {name}/{arity}")
            continue
        database.begin_change()
        predicate.clear()
        predicate.defined = True
        ((form,),) = book.rows(section)
        if form == "facts":
            database.add_rows(name, arity, book.rows(("facts", *section[1:])))
        else:
            for args, body in (clause for (clause,) in book.rows(("clauses", *section[1:]))):
                predicate.add(args, body)
    memory = book.rows(("memory",))
    if memory:
        database.memory.clear()
        database.memory.update({(kind, name): value for kind, name, value in memory})
    for options, keys, blanks in book.rows(("graphs",)):
        core.graphs.options, core.graphs.blanks = options, blanks
        core.graphs.keys.update(dict.fromkeys(keys))
    _load_changes(core, book)
    return unfit


def _load_changes(core: Core, book: Book) -> None:
    waiting: list[tuple[int, int, Any]] = [
        (time, count, Change(what, name, LoadedRows(source, arity, list(rows))))
        for time, count, what, name, source, arity, rows in book.rows(("changes",))
    ]
    if waiting:
        changes = core.changes
        changes._waiting[:] = waiting
        changes._count = max(count for _, count, _ in waiting)
        changes.next = waiting[0][0]
        core.state.hold()
