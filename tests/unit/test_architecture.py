"""The walks of docs/architecture.md pass through the modules that they name, in that order."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import etalis
from etalis.spark.stream.worker import live_shards
from etalis.temporal.event import Event
from helpers.micro_batches import END_OF_TIME, plan_stream
from helpers.spark_shuffle import plan_events, run_shuffled
from helpers.walks import PAGE, Walk, check_walk

ROOT = Path(__file__).parents[2]
TEXT = """
:- event(a(x: int)).
:- event(b(x: int, y: int)).
d(X, Y) <- (a(X) seq b(X, Y)) within 10.
e(X) <- (a(X) seq b(X, _)) within 10.
"""
TABLE = pa.table({"event": ["a", "b"], "at": [1.5, 2.5], "x": [1, 1], "y": [None, 2]})
EVENTS = [Event.make("a", (1,), 1_500_000, 1_500_000), Event.make("b", (1, 2), 2_500_000, 2_500_000)]


def compile_and_plan() -> Walk:
    return lambda: etalis.compile(TEXT).engine().push  # written when it is first asked for


def push_two() -> Walk:
    engine = etalis.compile(TEXT).engine(policy="unrestricted")
    engine.on("d", lambda match: None)
    assert engine.push is not None  # written before the walk

    def push() -> None:
        engine.push("a", 1, at=1.5)
        assert len(engine.push("b", 1, 2, at=2.5)) == 2

    return push


def detect() -> Walk:
    program = etalis.compile(TEXT)
    return lambda: program.detect(TABLE, policy="unrestricted")


def spark_batch() -> Walk:
    program = etalis.compile(TEXT)

    def run() -> None:
        plan = plan_events(program, EVENTS, policy="unrestricted", shards=2, ordered=True, staged=True)
        assert plan is not None
        assert len(run_shuffled(plan, EVENTS, ordered=True)) == 2

    return run


def spark_stream() -> Walk:
    folder = tempfile.mkdtemp()
    stream = plan_stream(etalis.compile(TEXT), EVENTS, folder, policy="unrestricted", lateness=1)
    assert stream is not None
    late = Event.make("a", (1,), 0, 0)

    def run() -> None:
        found = [*stream.run(0, stream.rows(enumerate(EVENTS))), *stream.run(1, [], clock=END_OF_TIME)]
        assert len(found) == 2
        stream.run(2, stream.rows([(2, late)]))
        live_shards.cache_clear()
        stream.run(3, [])
        shutil.rmtree(folder)

    return run


WALKS: dict[str, Callable[[], Walk]] = {
    "Text to code": compile_and_plan, "One event": push_two, "One table": detect, "One Spark row": spark_batch,
    "One row of a stream": spark_stream,
}  # fmt: skip


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_passes_through_the_modules_that_it_names(title: str) -> None:
    check_walk(title, WALKS[title])


def named_paths() -> Iterator[Path]:
    for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py)?)`", PAGE):
        if name.startswith("tests/"):
            yield ROOT / name
        elif "/" in name or name.endswith(".py"):
            yield ROOT / "src" / "etalis" / name


def test_the_page_names_what_there_is() -> None:
    paths = list(named_paths())
    assert len(paths) > 20
    assert [str(path) for path in paths if not path.exists()] == []


def test_the_drawing_shows_every_package() -> None:
    drawing = PAGE.split("```")[1]
    folders = {path.name for path in (ROOT / "src" / "etalis").iterdir() if (path / "__init__.py").exists()}
    assert {name for name in folders if not re.search(rf"\b{name}\b", drawing)} == set()
