"""Effects of reactions on Spark: rows with their keys, which a shard writes beside its results and makes none of.

Law: what a batch writes depends on the state before it and on its rows alone, keys included; so rows that are written
again have the same keys, and who takes them in by the key takes each in once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyarrow import fs

from etalis.language import syntax as s
from etalis.language.traversal import actions_of, walk_action
from etalis.reactive.effects.rehearsal import as_row
from etalis.reactive.effects.transaction import Transaction
from etalis.spark.stream.growing_files import write_table
from etalis.spark.stream.state_store import open_folder

EFFECTS = pa.schema(
    [
        ("key", pa.string()), ("transaction", pa.string()), ("position", pa.int32()), ("reaction", pa.string()),
        ("name", pa.string()), ("args", pa.string()), ("start", pa.float64()), ("end", pa.float64()),
        ("batch", pa.int64()),
    ]
)  # fmt: skip


class ShardEffects:
    """Takes the effects of a shard's reactions as rows, until they are written."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def perform(self, transaction: Transaction) -> Transaction:
        """Keep the effects of a transaction; they count as made."""
        self._rows += [as_row(transaction, place) for place in range(len(transaction.rows))]
        return replace(transaction, rows=tuple(replace(row, state="made") for row in transaction.rows), state="done")

    def undo(self, transaction: Transaction) -> Transaction:
        """Refuse: on Spark no match is taken back to which a reaction has reacted."""
        raise AssertionError(f"{transaction.label} cannot be undone on Spark")

    def take(self, batch: int) -> Any:
        """Return the rows that were kept as a table, and keep them no more."""
        rows, self._rows = self._rows, []
        return pa.Table.from_pylist([_cells(row) | {"batch": batch} for row in rows], schema=EFFECTS)


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "args": json.dumps(row["args"], ensure_ascii=False)}


def has_effects(program: s.Tree) -> bool:
    """Tell whether a program's actions name effects."""
    nodes = (node for item in program.items for action in actions_of(item) for node in walk_action(action))
    return any(isinstance(node, s.Effect) for node in nodes)


def write_shard(folder: str, shard: int, table: Any) -> None:
    """Write the effects of one shard of a batch job, in the place of those of a run before."""
    files, root = open_folder(folder)
    write_table(files, f"{root}/shard-{shard}.parquet", table)


def clear_shards(folder: str) -> None:
    """Remove what a batch job has left, whose shards may be others the next time."""
    files, root = open_folder(folder)
    for path in _files(files, root, "shard-"):
        files.delete_file(path)


def read_batch(folder: str, begin: str, batch: int) -> Sequence[dict[str, Any]]:
    """Return the effects of one batch, as `read_effects` does, of files whose names begin in some way."""
    files, root = open_folder(folder)
    paths = _files(files, root, begin)
    return _read(files, paths, batch) if paths else []


def read_effects(folder: str) -> Sequence[dict[str, Any]]:
    """Return all effects in a folder, each key once, in the order of transactions and of their paths."""
    files, root = open_folder(folder)
    return _read(files, root)


def _files(files: Any, root: str, begin: str) -> list[str]:
    """Return the files of a folder, which need not be there, whose names begin in some way."""
    found = files.get_file_info(fs.FileSelector(root, allow_not_found=True))
    return sorted(each.path for each in found if each.base_name.startswith(begin) and each.extension == "parquet")


def _read(files: Any, paths: str | list[str], batch: int | None = None) -> Sequence[dict[str, Any]]:
    from pyarrow import dataset

    table = dataset.dataset(paths, filesystem=files, format="parquet", schema=EFFECTS)
    rows = table.to_table(filter=None if batch is None else dataset.field("batch") == batch).to_pylist()
    found = {row["key"]: row for row in rows}
    return sorted(found.values(), key=lambda row: (row["end"], row["start"], row["transaction"], row["position"]))
