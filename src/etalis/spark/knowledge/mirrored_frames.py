"""DataFrames as tables that are read again: what they give is kept in a file on the driver, which a source watches.

Between the batches of any query they are evaluated again (Spark tells a listener when one has ended, or found nothing).
Law: a file holds what its DataFrame gave once, whole; rows in another order are no change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import pyarrow as pa

from etalis.spark.knowledge.refresh import asked_tables
from etalis.spark.stream.state_store import open_folder, write_whole
from etalis.tables.schema import refuse

_LOG = logging.getLogger("etalis.spark")


class Mirror:
    """What a DataFrame gives, or a function that returns one, in a file."""

    def __init__(self, source: Any, path: str, every: float, clock: Callable[[], float] = monotonic) -> None:
        self.source = source
        self.path = path
        self.every = every
        self.clock = clock
        self.looked = 0.0
        self.rows: list[str] | None = None

    def look(self) -> None:
        """Evaluate the DataFrame, if it is due, and write what it gives, if that has changed."""
        if self.rows is not None and self.clock() - self.looked < self.every:
            return
        df = self.source() if callable(self.source) else self.source
        table = df.toArrow()
        self.looked = self.clock()
        rows = sorted(map(repr, table.to_pylist()))
        if rows == self.rows:
            return
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        files, path = open_folder(self.path)
        write_whole(files, path, sink.getvalue().to_pybytes())
        self.rows = rows

    def look_again(self) -> None:
        """Look; what cannot be evaluated is told, and the file stays as it is."""
        try:
            self.look()
        except Exception as error:  # noqa: BLE001  # whatever a user's DataFrame raises
            _LOG.warning("a DataFrame of knowledge cannot be evaluated: %s\nthe facts stay as they were (E625)", error)


def is_frame(source: Any) -> bool:
    """Tell whether something is a DataFrame of Spark, or a function that is to return one."""
    return callable(source) or (hasattr(source, "toArrow") and hasattr(source, "mapInArrow"))


def mirror_frames(spark: Any, knowledge: Mapping[str, Any], refreshed: Any) -> dict[str, Any]:
    """Return knowledge with files in the place of DataFrames that are to be read again."""
    asked = asked_tables(knowledge, refreshed)
    frames = {name: knowledge[name] for name in asked if is_frame(knowledge[name])}
    if not frames:
        return dict(knowledge)
    if getattr(spark, "_sc", None) is None:
        hint = "give a file that the server can read"
        raise refuse("E605", "DataFrames behind Spark Connect cannot be read again between batches", hint)
    folder = TemporaryDirectory(prefix="etalis-")
    mirrors = {name: Mirror(x, f"{folder.name}/{i}.arrow", asked[name]) for i, (name, x) in enumerate(frames.items())}
    for mirror in mirrors.values():
        mirror.look()
    follow(spark, list(mirrors.values()), folder)
    return {**knowledge, **{name: mirror.path for name, mirror in mirrors.items()}}


def follow(spark: Any, mirrors: Sequence[Mirror], folder: TemporaryDirectory[str]) -> None:
    """Look at DataFrames between batches, as long as the session lives; the folder lives as long."""
    from pyspark.sql.streaming import StreamingQueryListener

    class Follower(StreamingQueryListener):  # type: ignore[misc]
        """Looks when a batch has ended, or there was nothing to do."""

        kept = folder

        def onQueryStarted(self, event: Any) -> None:  # noqa: N802
            """Do nothing: they were looked at before."""

        def onQueryProgress(self, event: Any) -> None:  # noqa: ARG002, N802
            """Look."""
            for mirror in mirrors:
                mirror.look_again()

        def onQueryIdle(self, event: Any) -> None:  # noqa: ARG002, N802
            """Look."""
            for mirror in mirrors:
                mirror.look_again()

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
            """Do nothing: the same DataFrame may be run again."""

    spark.streams.addListener(Follower())
