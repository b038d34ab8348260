"""RDF as knowledge: graphs loaded into a program, and replaced while an engine runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from etalis.errors import InputError, Problem
from etalis.language.lower import new_database
from etalis.logic.knowledge.loaders import LoadedRows
from etalis.logic.machine.database import Database, Key
from etalis.logic.rdf.load import RdfFacts, RdfOptions, load_graph
from etalis.runtime.changes import Change
from etalis.runtime.knowledge import Knowledge, unfit


@dataclass(slots=True)
class Graphs:
    """What was loaded: with which options, as which relations, with how many blank nodes."""

    options: RdfOptions = field(default_factory=RdfOptions)
    keys: dict[Key, None] = field(default_factory=dict)
    blanks: int = 0

    def copied(self) -> Graphs:
        """Return the same for an engine, which may go on by itself."""
        return Graphs(self.options, dict(self.keys), self.blanks)

    def load(self, knowledge: Knowledge, source: Any, options: RdfOptions) -> int:
        """Add a graph to what a program knows; return the number of its triples."""
        if self.keys and _naming(options) != _naming(self.options):
            hint = f"give terms={_naming(self.options)!r} here too"
            raise InputError(Problem("E407", "graphs of one program have one naming of terms", hint=hint))
        found = load_graph(source, blanks=self.blanks, **options)
        _check_names(new_database(), found, options)
        count = knowledge.load(*found.relations)
        self.options, self.blanks = options, found.blanks
        self.keys.update(dict.fromkeys((name, rows.arity) for name, rows in found.relations))
        return count

    def reload(self, database: Database, source: Any, options: RdfOptions) -> list[Change]:
        """Return the changes that put a graph in the place of all that there were, that of `rdf` the first.

        Options that are not given stay as they are. A relation that the program does not mention may be asked for.
        """
        merged: RdfOptions = {**self.options, **options}
        found = load_graph(source, complete=False, **merged)
        _check_names(database, found, merged)
        relations = {(name, rows.arity): rows for name, rows in found.relations}
        for key in self.keys:
            relations.setdefault(key, LoadedRows(found.source, key[1], []))
        for key in relations:
            if not database.is_replaceable(*key):
                raise _unfit(found, key, "is built in, registered, or has rules")
            database.own(*key)
        self.options = merged
        self.keys.update(dict.fromkeys(relations))
        return [Change("replace", name, rows) for (name, _), rows in relations.items()]


def _naming(options: RdfOptions) -> str:
    return options.get("terms", "short")


def _check_names(database: Database, found: RdfFacts, options: RdfOptions) -> None:
    """Refuse names that nobody chose and that would hide a predicate of the library."""
    if options.get("relations") is True:
        for name, rows in found.relations:
            if database.provides(name, rows.arity):
                raise _unfit(found, (name, rows.arity), "is built in")


def _unfit(found: RdfFacts, key: Key, reason: str) -> InputError:
    hint = "name the relations you want: relations={'name': 'prefix:rest'}"
    return unfit(key, found.relations[0][1], reason, hint)
