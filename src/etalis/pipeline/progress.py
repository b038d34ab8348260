"""Follows a run: progress of Spark's batches, counters of the shards, matches by rule.

Matches are counted by Spark where they pass (`observe`); rows, late rows, the watermark and the size of the state are
those that the shards keep with their state, since a source that is read twice is counted twice by Spark.
"""

from __future__ import annotations

import threading
import time as clock
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyarrow import dataset, fs

from etalis.pipeline.figures import (
    FINISHED,
    Figures,
    MetricsServer,
    begin,
    read_figures,
    write_figures,
    write_metrics,
)
from etalis.pipeline.parts import Pipeline
from etalis.spark.stream.state_store import Store, open_folder
from etalis.tables.results.output import ID, RULE
from etalis.temporal.interval import MICROSECONDS

OBSERVED = "etalis_matches"
_FIRST_STAGE = "stage-1"
_FAR = 1 << 62  # times beyond are no moments of the stream


class Progress:
    """The figures of a run; written to files, served, and handed to whoever shows them."""

    def __init__(self, pipeline: Pipeline, status: Path | None, show: Callable[[Figures], object]) -> None:
        self._status = status
        self._metrics = None if pipeline.metrics.file is None else Path(pipeline.metrics.file)
        self._show = show
        self.lock = threading.RLock()
        before = read_figures(status) if status is not None and pipeline.run.is_stream else None
        self.figures = begin(str(pipeline.path), clock.time(), before)
        port = pipeline.metrics.port
        self.server = None if port is None else MetricsServer(port, lambda: self.figures)

    def update(self, **changes: Any) -> None:
        """Change figures, and tell all who want to know."""
        with self.lock:
            self.figures = replace(self.figures, updated=clock.time(), **changes)
            self.tell()

    def tell(self) -> None:
        """Write and show the figures as they are."""
        if self._status is not None:
            write_figures(self.figures, self._status)
        if self._metrics is not None:
            write_metrics(self.figures, self._metrics)
        self._show(self.figures)

    def count(self, matches: Mapping[str, int], **changes: Any) -> None:
        """Add matches by rule, and change figures."""
        with self.lock:
            known = dict(self.figures.matches)
            for rule, number in matches.items():
                known[rule] = known.get(rule, 0) + number
            self.update(matches=known, **changes)

    def close(self, state: str = FINISHED, error: str | None = None) -> None:
        """Say how the run has ended."""
        self.update(state=state, error=error)
        if self.server is not None:
            self.server.close()


def observe_rules(df: Any, rules: Iterable[str], name: Any = OBSERVED) -> Any:
    """Return results with a count of those of every rule, told when they have passed; less those taken back."""
    from pyspark.sql import functions as f

    weight = f.lit(1)
    for column in df.columns[df.columns.index(ID) + 1 :]:  # behind the match stands what is done with it, + or -
        weight = f.when(f.col(column) == "-", -1).otherwise(1)
    counts = [f.sum(f.when(f.col(RULE) == rule, weight)).alias(f"r{i}") for i, rule in enumerate(rules)]
    return df.observe(name, *counts) if counts else df


def counted_rules(observed: Mapping[str, Any], rules: Iterable[str]) -> dict[str, int]:
    """Return how many matches each rule made, of what `observe_rules` has told."""
    found = {rule: int(observed.get(f"r{i}") or 0) for i, rule in enumerate(rules)}
    return {rule: number for rule, number in found.items() if number}


def shard_figures(root: str, query: str, batch: int) -> dict[str, Any]:
    """Return what the shards of a query have written down with the state of a batch."""
    headers = list(Store(root).headers(query, batch))
    first = [header for stage, header, _ in headers if stage == _FIRST_STAGE]
    latest = [time for header in first for time in header["latest"] if abs(time) < _FAR]
    reached = [header["reached"] for header in first if abs(header["reached"]) < _FAR]
    causes: Counter[str] = Counter()
    for _, header, _ in headers:
        causes.update(header.get("causes", {}))
    return {
        "rows": sum(header["counts"]["rows"] for _, header, _ in headers),
        "late": sum(header["counts"]["late"] for _, header, _ in headers),
        "causes": dict(causes),
        "held": sum(header["held"] for header in first),
        "state_bytes": sum(size for _, _, size in headers),
        "latest": max(latest) / MICROSECONDS if latest else None,
        "watermark": min(reached) / MICROSECONDS if reached else None,
    }


def count_letters(folder: str | None) -> Counter[str]:
    """Return how many dead letters a folder holds, by cause."""
    if folder is None:
        return Counter()
    files, path = open_folder(folder)
    if files.get_file_info(path).type == fs.FileType.NotFound:
        return Counter()
    found = dataset.dataset(path, filesystem=files, format="parquet").to_table(columns=["cause"])
    return Counter(found["cause"].to_pylist())


def make_listener(progress: Progress, root: str, rules: tuple[str, ...]) -> Any:
    """Return a listener of Spark's that follows one query."""
    from pyspark.sql.streaming import StreamingQueryListener

    class Listener(StreamingQueryListener):  # type: ignore[misc]
        def onQueryStarted(self, event: Any) -> None:  # noqa: ARG002, N802
            progress.tell()

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            take_progress(progress, event.progress, root, rules)

        def onQueryIdle(self, event: Any) -> None:  # noqa: ARG002, N802
            progress.update(rows_per_second=0.0)

        def onQueryTerminated(self, event: Any) -> None:  # noqa: ARG002, N802
            progress.tell()

    return Listener()


def take_progress(progress: Progress, told: Any, root: str, rules: tuple[str, ...]) -> None:
    """Take what Spark says of a batch; one that was told before, or did not run, is not counted."""
    with progress.lock:
        before = progress.figures
        if "addBatch" not in told.durationMs or (before.batch is not None and told.batchId <= before.batch):
            return
        seconds = told.durationMs.get("triggerExecution", 0) / 1000
        found = shard_figures(root, str(told.id), told.batchId)
        taken = found["rows"] + found["late"] - before.rows - before.late
        observed = told.observedMetrics.get(OBSERVED)
        counts = {} if observed is None else counted_rules(observed.asDict(), rules)
        rate = taken / seconds if seconds else 0.0
        progress.count(counts, batch=told.batchId, batch_seconds=seconds, rows_per_second=rate, **found)
