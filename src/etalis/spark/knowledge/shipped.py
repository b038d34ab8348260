"""What the host told a program, on its way to the workers: facts as Arrow bytes, functions as Spark sends them.

Facts are read once per process; only functions that the host registered travel, by Spark's own serialiser, as those of
any user function do. Law: a fact that was written and read again is the same, type by type.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from etalis.logic.knowledge.foreign import Function
from etalis.logic.knowledge.loaders import LoadedRows
from etalis.logic.terms.unify import Term
from etalis.runtime.snapshot.cells import read_column, unkept, write_column

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram

_FORMS = b"forms"


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Relations as bytes: name, arity, table; equal if their contents are."""

    relations: tuple[tuple[str, int, bytes], ...]
    digest: bytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Facts) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def read(self) -> list[tuple[str, LoadedRows]]:
        """Return the relations."""
        return [(name, LoadedRows(name, arity, _read(data))) for name, arity, data in self.relations]


@dataclass(frozen=True, slots=True)
class HostKnowledge:
    """Everything that the host added to a program's text."""

    facts: Facts | None = None
    functions: tuple[Function, ...] = ()


NOTHING = HostKnowledge()


def pack(program: CompiledProgram) -> HostKnowledge:
    """Return what the host told a program."""
    known = program.knowledge
    written = tuple((name, arity, write_relation(rows, arity)) for (name, arity), rows in known.facts.items())
    return HostKnowledge(make_facts(written) if written else None, tuple(known.functions.values()))


def make_facts(relations: tuple[tuple[str, int, bytes], ...]) -> Facts:
    """Return relations with the digest of their contents."""
    digest = blake2b()
    for name, arity, data in relations:
        digest.update(f"{len(name)}:{name}/{arity}:{len(data)}:".encode("utf-8", "surrogatepass"))
        digest.update(data)
    return Facts(relations, digest.digest())


def add_facts(told: HostKnowledge, more: Facts) -> HostKnowledge:
    """Return what was told, and some facts behind it."""
    known = () if told.facts is None else told.facts.relations
    return HostKnowledge(make_facts((*known, *more.relations)), told.functions)


def write_relation(rows: list[tuple[Term, ...]], arity: int) -> bytes:
    """Return facts of one relation as bytes."""
    columns = [write_column([row[i] for row in rows], _no_token) for i in range(arity)]
    forms = ",".join(form for form, _ in columns)
    table = pa.table([column for _, column in columns], names=[str(i) for i in range(arity)])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.with_metadata({_FORMS: forms})) as writer:
        writer.write_table(table.replace_schema_metadata({_FORMS: forms}))
    return bytes(sink.getvalue())


def _read(data: bytes) -> list[tuple[Term, ...]]:
    table = pa.ipc.open_stream(data).read_all().combine_chunks()
    forms = table.schema.metadata[_FORMS].decode().split(",")
    columns = [
        read_column(form, column.combine_chunks() if table.num_rows else column, _no_number)
        for form, column in zip(forms, table.columns, strict=True)
    ]
    return list(zip(*columns, strict=True))


def _no_token(token: Any) -> int:
    raise unkept(token)


def _no_number(number: int) -> Any:
    raise AssertionError(f"facts hold no instance {number}")
