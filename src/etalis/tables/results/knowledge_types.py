"""What is known of the types that facts bind, when the columns of results are chosen.

Law: a type that is told here holds for the whole run; so nothing is told of facts that events, goals or a refresh may
change.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from etalis.language.check.effects import changes_facts
from etalis.language.rules import knowledge_changes
from etalis.logic.machine.clauses import Database
from etalis.plan.answers import Answers
from etalis.plan.lattice import NUMBER
from etalis.runtime.state import NEVER

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram
    from etalis.runtime.engine import RuntimeEngine


def program_answers(
    program: CompiledProgram, database: Database | None = None, refreshed: Collection[str] = ()
) -> Answers:
    """Return what goals of a program bind, over its knowledge or the database of an engine; tables are `refreshed`."""

    def known() -> Database | None:
        if changes_facts(program.tree):
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
