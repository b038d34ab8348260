"""What a restart means: by the state that a query has left, which of its parts a program keeps, drops and begins.

Read on the driver, before the query starts, where the caller says which checkpoint it has; the shards look again when
they take over their state. Law: nothing that waits is dropped unless the caller allows it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from etalis.errors import InputError, Problem, SnapshotError
from etalis.runtime.core import Core, EngineOptions
from etalis.runtime.snapshot.file import read_images
from etalis.runtime.snapshot.snapshot import Restored, compare_program
from etalis.spark.batch.job import load
from etalis.spark.stream.pending_rows import read_held, waiting_rows
from etalis.spark.stream.state_store import ShardPlace, ShardState, Store, open_folder, read_whole

if TYPE_CHECKING:
    from etalis.spark.stream.admission import Stream
    from etalis.spark.stream.worker import Task

_LOG = logging.getLogger("etalis.spark")


@dataclass(frozen=True, slots=True)
class Restart:
    """Where a query goes on, and what of its state a program keeps and drops; `new` are parts that begin empty."""

    query: str
    batch: int
    kept: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    new: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"query {self.query} goes on after batch {self.batch}"]
        if not self.dropped and not self.new:
            return f"{lines[0]}, with the same rules"
        rows = (("kept", self.kept), ("dropped", self.dropped), ("new", self.new))
        lines += [f"  {title}: {part}" for title, parts in rows for part in parts or ("nothing",)]
        return "\n".join(lines)


def refuse_dropped(where: str, dropped: Sequence[str], *, allowed: bool) -> None:
    """Refuse to drop what waits; where that is allowed, say so in the log."""
    what = f"{where}: the changed rules have no place for {', '.join(dropped)}"
    if not allowed:
        hint = "go on with the rules as they were, drain the query first, or drop what waits: allow_dropped=True"
        raise SnapshotError(Problem("E628", what, hint=hint))
    _LOG.warning("%s", what)


def query_of(checkpoint: str) -> str | None:
    """Return the id of the query of a checkpoint; None if there is no such query yet, or it cannot be read here."""
    try:
        files, folder = open_folder(checkpoint)
        found = read_whole(files, f"{folder}/metadata")
    except (InputError, OSError):
        return None
    return None if found is None else str(json.loads(found)["id"])


def check_restart(tasks: Sequence[Task], query: str, *, allowed: bool = False) -> Restart | None:
    """Compare the program of every stage with what a query has left; None if it has left nothing.

    What cannot go on is refused. Of shards that the same program has left nothing but a few numbers is read.
    """
    store = Store(tasks[0].root)
    found: list[tuple[int, Restored]] = []
    for task in tasks:
        store.compare(query, task.stage, task.manifest)
        for shard in range(task.manifest["shards"]):
            place = ShardPlace(query, task.stage, shard)
            batch = store.latest(place)
            if batch is not None:
                found.append((batch, changes_of(_read(store, place, batch, task.stream), task.stream)))
    if not found:
        return None
    restart = _sum_up(query, found)
    _LOG.log(logging.WARNING if restart.dropped or restart.new else logging.INFO, "%s", restart)
    if restart.dropped:
        refuse_dropped(f"query {query}", restart.dropped, allowed=allowed)
    return restart


def warn_of_restart(tasks: Sequence[Task]) -> None:
    """Say in the log what will not fit if the only query of a folder goes on: its checkpoint was not named."""
    store = Store(tasks[0].root)
    queries = store.queries()
    if len(queries) == 1:
        try:
            for task in tasks:
                store.compare(queries[0], task.stage, task.manifest)
        except SnapshotError as error:
            _LOG.warning("if this goes on with the checkpoint of query %s, it will fail: %s", queries[0], error)


def _read(store: Store, place: ShardPlace, batch: int, stream: Stream) -> ShardState:
    """Return the version of a batch, without its state if the same program has left it."""
    header = store.header(place, batch)
    is_same = header.get("program") == stream.job.fingerprint
    return ShardState(header, b"", b"") if is_same else store.load(place, batch)


def changes_of(version: ShardState, stream: Stream) -> Restored:
    """Say what the program of a stage takes of a version, and what it drops: parts of rules, and rows that wait."""
    if version.header.get("program") == stream.job.fingerprint or version.header.get("ended"):
        return Restored(True, (), ())
    found = compare_program(Core(load(stream.job), EngineOptions()), read_images([version.snapshot]))
    return replace(found, dropped=(*found.dropped, *waiting_rows(read_held(version.held), stream.layouts)))


def _sum_up(query: str, found: Sequence[tuple[int, Restored]]) -> Restart:
    kept, dropped, new = (
        tuple(dict.fromkeys(text for _, part in found for text in getattr(part, name)))
        for name in ("taken", "dropped", "new")
    )
    return Restart(query, min(batch for batch, _ in found), kept, dropped, new)
