"""Which kinds of events a program reads, and which of them it has to be given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from etalis.language.rules import knowledge_changes
from etalis.plan import algebra as p
from etalis.tables.parts import Kind

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram


def kinds_read(program: CompiledProgram) -> tuple[Kind, ...]:
    """Return the kinds that rules read, or that change facts, each once."""
    return tuple(dict.fromkeys(_read(program)))


def kinds_received(program: CompiledProgram) -> tuple[Kind, ...]:
    """Return the kinds that are read and that no rule makes."""
    made = {(head.event.name, len(head.event.args)) for head in program.plans()}
    return tuple(kind for kind in kinds_read(program) if kind not in made)


def _read(program: CompiledProgram) -> Iterator[Kind]:
    for head in program.plans():
        for node in p.walk(head.body):
            if isinstance(node, p.Source):
                yield node.name, len(node.args)
    yield from knowledge_changes(program.tree)
