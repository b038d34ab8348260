"""The library: predicates defined by clauses, shared by all databases; a program may define its own in their place.

The clauses are the text of `library.pl`. A section of it is read when one of its predicates is first called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from pkgutil import get_data
from threading import Lock

from etalis.logic.machine.compiler import COMPILER
from etalis.logic.machine.database import Database, Key
from etalis.logic.terms.unify import Term


@cache
def library(read: Callable[[str], Iterable[Term]]) -> Database:
    """Return the library, whose text is read by a reader of clauses."""
    database, lock = Database(COMPILER), Lock()

    def add(section: str, keys: tuple[Key, ...]) -> None:
        with lock:  # the library is shared by threads: a section is there as a whole, or unread
            if keys[0] in database.unread:
                for clause in read(section):
                    database.add(clause)
                for key in keys:
                    del database.unread[key]

    for section, keys in sections():
        database.unread.update(dict.fromkeys(keys, partial(add, section, keys)))
    return database


@cache
def sections() -> tuple[tuple[str, tuple[Key, ...]], ...]:
    """Return the sections of the library's text, each with name and arity of the predicates it defines."""
    text = get_data(__package__, "library.pl")
    assert text is not None
    _, *parts = text.decode().split("\n\n")
    return tuple((part, tuple(_defined(part))) for part in parts)


def _defined(section: str) -> Iterable[Key]:
    for line in section.splitlines():
        if line.startswith("%! "):
            for indicator in line.split()[1:]:
                name, _, arity = indicator.partition("/")
                yield name, int(arity)
