"""The end of a stream: a file beside the checkpoint, one more source of the query, says that nothing more comes.

So the end is a batch like any other: Spark notes it with its offsets, the shards keep what they know under its number,
and the sink gets what is owed once, whatever crashes. A batch that brings rows does not end a stream: more may follow.
"""

from __future__ import annotations

import re
from typing import Any

from etalis.spark.stream.marks import END, Marking, make_mark

_FOLDER = "etalis-end"


def end_stream(spark: Any, checkpoint: str) -> None:
    """Say that nothing more comes; the query that has this checkpoint ends the stream when it has taken all rows."""
    end = spark.createDataFrame([(END,)], "value string").coalesce(1)
    end.write.mode("overwrite").text(f"{checkpoint.rstrip('/')}/{_FOLDER}")  # under a new name each time: read again


def read_ends(spark: Any, checkpoint: str) -> Any:
    """Return the stream of what `end_stream` says; a pattern, since there need not be such a folder."""
    literal = re.sub(r"([\\*?\[\]{}])", r"\\\1", checkpoint.rstrip("/"))
    return spark.readStream.schema("value string").text(f"{literal}/{_FOLDER}/part-*")


def end_tag() -> str:
    """Return the tag of a row that ends a stream."""
    return str(make_mark(Marking(END, 1)).column(0)[0].as_py())
