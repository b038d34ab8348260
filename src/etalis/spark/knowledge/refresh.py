"""Facts that change while a stream runs: tables that are read again, kept in versions by what they hold.

The driver looks at the tables before a micro-batch; what they hold then is a version, written under its digest where
the shards keep their state. Spark notes the digest with the offsets of the batch, and every shard is told it. Law: a
batch sees one version in all its shards, the same one when it is run again.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from time import monotonic
from typing import Any

import pyarrow as pa
from pyarrow import fs

from etalis.errors import EtalisError, InputError, Problem, SnapshotError
from etalis.logic.knowledge.loaders import load_rows
from etalis.spark.durations import to_duration
from etalis.spark.knowledge.shipped import Facts, make_facts, write_relation
from etalis.spark.stream.state_store import open_folder, read_whole, remove, write_whole
from etalis.tables.knowledge import Columns, read_facts
from etalis.tables.schema import refuse
from etalis.temporal.interval import MICROSECONDS

BATCH = "batch"  # read again before every batch
KEPT = 50  # versions
FOLDER = "facts"
_SUFFIX = ".arrow"
_LOG = logging.getLogger("etalis.spark")


@dataclass(frozen=True, slots=True)
class FactTable:
    """A table of facts: its predicate, where it is, its columns, and how many seconds go by before it is read again."""

    name: str
    path: str
    columns: tuple[str | int, ...] | None
    arity: int
    every: float


def asked_tables(knowledge: Mapping[str, Any], refreshed: Any) -> dict[str, float]:
    """Return which tables are read again, all or those that `refreshed` names, and after how many seconds at least."""
    if refreshed is None:
        return {}
    asked = refreshed if isinstance(refreshed, Mapping) else dict.fromkeys(knowledge, refreshed)
    unknown = [name for name in asked if name not in knowledge]
    if unknown or not asked:
        which = f"{', '.join(unknown)}, not in knowledge" if unknown else "no table"
        hint = 'give the tables: knowledge={"near": "near.csv"}, refreshed="batch"'
        raise refuse("E605", f"refreshed names {which}", hint)
    return {
        name: 0.0 if when == BATCH else to_duration("refreshed", when) / MICROSECONDS for name, when in asked.items()
    }


def find_tables(knowledge: Mapping[str, Any], refreshed: Any) -> tuple[FactTable, ...]:
    """Return the tables that are read again."""
    return tuple(_table(name, knowledge[name], every) for name, every in asked_tables(knowledge, refreshed).items())


def _table(name: str, source: Any, every: float) -> FactTable:
    if not isinstance(source, Columns | str | os.PathLike):
        hint = "give the path of a file, a DataFrame, or a function that returns one"
        raise refuse("E605", f"{name} is {type(source).__name__}, which cannot be read again", hint)
    found = source if isinstance(source, Columns) else Columns(str(source), None)
    return FactTable(name, os.path.abspath(found.path), found.columns, read_facts(found).arity, every)


def write_tables(tables: Sequence[FactTable]) -> str:
    """Return tables as text."""
    return json.dumps([asdict(table) for table in tables])


def read_tables(text: str) -> tuple[FactTable, ...]:
    """Return tables from text.

    >>> table = FactTable("near", "near.csv", ("a", "b"), 2, 0.0)
    >>> read_tables(write_tables([table])) == (table,)
    True
    """
    found = []
    for each in json.loads(text):
        columns = each.pop("columns")
        found.append(FactTable(columns=None if columns is None else tuple(columns), **each))
    return tuple(found)


class TableWatch:
    """Looks at tables again and again, and writes down what they hold."""

    def __init__(self, tables: Sequence[FactTable], root: str, clock: Callable[[], float] = monotonic) -> None:
        self.tables = tables
        self.root = root
        self.clock = clock
        self._looked: dict[str, float] = {}
        self._signs: dict[str, Any] = {}
        self._relations: dict[str, tuple[str, int, bytes]] = {}
        self._written: str | None = None  # the version of what was read, None where that is not written yet
        self._last: str | None = None  # the last version

    def look(self, before: str) -> str:
        """Return the digest of the version that is there now; that of `before` where tables cannot be read."""
        try:
            for table in self.tables:
                self._read(table)
        except EtalisError as error:
            if not before:
                raise
            _say_once(f"{error}\nthe facts stay as they were (E625)")
            return self._last or before
        if self._written is None:
            facts = make_facts(tuple(self._relations[table.name] for table in self.tables))
            write_version(self.root, facts)
            self._last = self._written = facts.digest.hex()
        return self._written

    def _read(self, table: FactTable) -> None:
        """Read a table that is due and may have changed."""
        now = self.clock()
        if table.name in self._relations and now - self._looked[table.name] < table.every:
            return
        sign = _sign(table.path)
        if table.name in self._relations and sign is not None and sign == self._signs[table.name]:
            return
        rows = load_rows(table.path, table.columns)
        if rows.arity != table.arity:
            message = f"{table.path} has {rows.arity} columns now, {table.name}/{table.arity} was read before"
            raise InputError(Problem("E625", message, hint="say which columns are meant, or restart the query"))
        self._relations[table.name] = (table.name, rows.arity, write_relation(rows.rows, rows.arity))
        self._looked[table.name], self._signs[table.name] = now, sign
        self._written = None


def _sign(path: str) -> Any:
    """Return what changes when a file is replaced or written; None if nothing tells."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


@lru_cache(maxsize=64)
def _say_once(text: str) -> None:
    _LOG.warning("%s", text)


# versions


def write_version(root: str, facts: Facts) -> None:
    """Write a version under its digest; the oldest ones go."""
    names, arities, data = zip(*facts.relations, strict=True)
    table = pa.table({"name": names, "arity": arities, "data": pa.array(data, pa.large_binary())})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    files, folder = open_folder(root)
    write_whole(files, _path(folder, facts.digest.hex()), sink.getvalue().to_pybytes())
    found = [info for info in files.get_file_info(fs.FileSelector(f"{folder}/{FOLDER}")) if _is_version(info)]
    for info in sorted(found, key=lambda info: info.mtime_ns or 0)[:-KEPT]:
        remove(files, info.path)


def _is_version(info: Any) -> bool:
    return bool(info.type == fs.FileType.File and info.base_name.endswith(_SUFFIX))


def _path(folder: str, digest: str) -> str:
    return f"{folder}/{FOLDER}/{digest}{_SUFFIX}"


@lru_cache(maxsize=4)
def read_version(root: str, digest: str) -> Facts:
    """Return the facts of a version, checked."""
    files, folder = open_folder(root)
    data = read_whole(files, _path(folder, digest))
    if data is None:
        raise _lost(root, digest, "is not there")
    try:
        table = pa.ipc.open_stream(data).read_all()
        facts = make_facts(tuple(zip(*(column.to_pylist() for column in table.columns), strict=True)))
    except (pa.ArrowException, OSError):
        raise _lost(root, digest, "is damaged") from None
    if facts.digest.hex() != digest:
        raise _lost(root, digest, "is damaged")
    return facts


def _lost(root: str, digest: str, what: str) -> SnapshotError:
    hint = "put the file back, or begin anew with another checkpointLocation"
    return SnapshotError(Problem("E626", f"version {digest} of the facts in {root} {what}", hint=hint))
