"""Tables of facts that a program is given with a call, and what is known of the types that facts bind.

Law: a type that is known here holds for the whole run; so nothing is known of facts that events, goals or a refresh
may change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etalis.language.rules import knowledge_changes
from etalis.logic.knowledge.loaders import LoadedRows, load_rows
from etalis.logic.machine.database import Database
from etalis.plan.answers import Answers
from etalis.plan.lattice import NUMBER
from etalis.runtime.reporting.unknown_names import check_facts
from etalis.runtime.state import NEVER

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram
    from etalis.runtime.engine import RuntimeEngine


@dataclass(frozen=True, slots=True)
class Columns:
    """A file, and which of its columns, in which order."""

    path: str
    columns: tuple[str | int, ...] | None


def read_facts(source: Any) -> LoadedRows:
    """Read a table as facts; it may be a DataFrame of Spark."""
    if isinstance(source, Columns):
        return load_rows(source.path, source.columns)
    is_spark = hasattr(source, "toArrow") and hasattr(source, "mapInArrow")
    return load_rows(source.toArrow() if is_spark else source, None)


def with_facts(program: CompiledProgram, knowledge: Mapping[str, Any]) -> CompiledProgram:
    """Return a program that knows some tables more; one of them may be a DataFrame of Spark."""
    if not knowledge:
        return program
    known = copy(program)
    known.knowledge = program.knowledge.copied()
    for name, source in knowledge.items():
        rows = read_facts(source)
        check_facts(program.tree, name, rows.arity)
        known.knowledge.load((name, rows))
    return known


def program_answers(
    program: CompiledProgram, database: Database | None = None, refreshed: Collection[str] = ()
) -> Answers:
    """Return what goals of a program bind, over its knowledge or the database of an engine; tables are `refreshed`."""

    def known() -> Database | None:
        if program.called.changes_facts:
            return None
        return program.knowledge.database() if database is None else database

    changed = knowledge_changes(program.tree)
    changing = {(name, arity) for (_, arity), changes in changed.items() for name, _ in changes}
    changing.update(key for key in program.knowledge.facts if key[0] in refreshed)
    return Answers(known, changing=changing, columns=program.knowledge.types, moments=NUMBER)


def engine_answers(engine: RuntimeEngine) -> Answers:
    """Return what goals bind in an engine, if it has known the same all along: what waits may be of older facts."""
    database = engine.core.rules.conditions.solver.database
    if engine.core.changes.next < NEVER or database.generation != engine.core.generation:
        return Answers(moments=NUMBER)
    return program_answers(engine.core.program, database)
