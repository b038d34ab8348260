"""A source of Spark's, in Python, whose offsets are the versions of tables of facts.

Law: which version a batch sees is in Spark's log of offsets, so it is the same when the batch is run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from etalis.spark.knowledge.refresh import TableWatch, read_tables

FORMAT = "etalis_facts"
COLUMN = "version"


class Version(InputPartition):  # type: ignore[misc]
    """The version that a batch sees."""

    def __init__(self, digest: str) -> None:
        self.digest = digest


class FactsSource(DataSource):  # type: ignore[misc]
    """Versions of `tables`, written below `root`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return f"{COLUMN} string"

    def streamReader(self, schema: Any) -> FactsReader:  # noqa: ARG002, N802
        return FactsReader(TableWatch(read_tables(self.options["tables"]), self.options["root"]))


class FactsReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Versions as they come; offsets are {"version": digest}."""

    def __init__(self, watch: TableWatch) -> None:
        self.watch = watch
        self.ends = False
        self.last: dict[str, str] | None = None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Note that the run takes what there is and ends: it sees one version."""
        self.ends = True

    def initialOffset(self) -> dict[str, str]:  # noqa: N802
        return {COLUMN: ""}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:  # noqa: ARG002, N802
        """Return the version that the next batch sees."""
        if self.last is None or not self.ends:
            self.last = {COLUMN: self.watch.look(start[COLUMN])}
        return self.last

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> list[Version]:
        """Return the version that a batch begins to see; none if it stays as it was."""
        return [] if start == end else [Version(end[COLUMN])]

    def read(self, partition: Version) -> Iterator[pa.RecordBatch]:
        """Yield the version."""
        yield pa.RecordBatch.from_arrays([pa.array([partition.digest], pa.string())], names=[COLUMN])
