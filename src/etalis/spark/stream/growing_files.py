"""Rows that a shard of a stream writes beside its results, in few files: dead letters, effects.

Every shard writes a file of its own, which grows from batch to batch and is replaced as a whole; at a certain size the
next one is begun. Law: a batch leaves the rows of batches before it as they are and puts its own in the place of any
that an attempt before has left, so every row is there once, whatever fails. Which file it is stands in the state of the
batch before.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from etalis.spark.stream.state_store import ShardPlace, open_folder, read_whole, write_whole

ROLL = 4 << 20  # bytes of a file after which the next one is begun


def append_rows(folder: str, place: ShardPlace, at: tuple[int, int], table: Any, batch: int) -> tuple[int, int]:
    """Add the rows of a batch, which they name, to the file of a shard; return which file it is, and its size.

    `at` is what the batch before has returned.
    """
    number, size = at
    number += size >= ROLL
    files, root = open_folder(folder)
    path = f"{root}/{place.query}-{place.stage}-{place.shard}-{number}.parquet"
    before = read_whole(files, path)
    if before is not None:
        kept = parquet.read_table(pa.BufferReader(before), schema=table.schema)
        if kept.num_rows and pc.max(kept["batch"]).as_py() > batch:
            return number, len(before)  # this is a task that nobody waits for: the query has gone on
        table = pa.concat_tables([kept.filter(pc.less(kept["batch"], batch)), table])
    return number, write_table(files, path, table)


def write_table(files: Any, path: str, table: Any) -> int:
    """Write a table whole or not at all; return how many bytes it has."""
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    data = sink.getvalue().to_pybytes()
    write_whole(files, path, data)
    return len(data)
