"""The sections of a pipeline file, as data; `spec` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from etalis.errors import Problem
from etalis.pipeline.places import Path as Key
from etalis.pipeline.places import Places
from etalis.pipeline.values import ONCE, START


@dataclass(frozen=True, slots=True)
class ProgramPart:
    """Which program: its files, and what is set from outside."""

    files: tuple[str, ...]
    policy: str | None = None
    name: str | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourcePart:
    """Where events come from, and which columns play which part."""

    format: str
    keys: Mapping[str, Any] = field(default_factory=dict)  # those of its connector
    schema: str | None = None
    event: str | None = None
    event_column: str | None = None
    time: tuple[str, ...] = ()
    order: str | None = None
    select: tuple[str, ...] = ()
    where: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnowledgePart:
    """A table of facts."""

    name: str
    path: str
    columns: tuple[str | int, ...] = ()
    refreshed: str = START

    @property
    def is_fixed(self) -> bool:
        return self.refreshed == START


@dataclass(frozen=True, slots=True)
class SinkPart:
    """Where complex events go: of all kinds, or of one."""

    format: str
    keys: Mapping[str, Any] = field(default_factory=dict)  # those of its connector
    event: str | None = None
    envelope: bool = False
    mode: str = "error"
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LatePart:
    """Where rows go that cannot be taken."""

    path: str


@dataclass(frozen=True, slots=True)
class RunPart:
    """When it runs, and how."""

    trigger: str = ONCE
    checkpoint: str | None = None
    lateness: Any = None
    reporting: str | None = None
    idle: Any = None
    clock: bool = False
    unit: str = "s"
    shards: int | None = None
    ahead: Any = None
    max_rejected: int | float | None = None
    allow_dropped: bool = False

    @property
    def is_stream(self) -> bool:
        return self.trigger != ONCE


@dataclass(frozen=True, slots=True)
class SparkPart:
    """Which Spark."""

    master: str | None = None
    cores: int | None = None
    memory: str | None = None
    jars: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MetricsPart:
    """Where figures about the run go."""

    file: str | None = None
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A whole pipeline file, and the places of its keys."""

    path: Path
    places: Places
    program: ProgramPart
    sources: tuple[SourcePart, ...]
    knowledge: tuple[KnowledgePart, ...]
    sinks: tuple[SinkPart, ...]
    dead_letters: LatePart | None
    run: RunPart
    spark: SparkPart
    metrics: MetricsPart

    @property
    def has_intervals(self) -> bool:
        """Whether any source tells start and end."""
        return any(len(source.time) == 2 for source in self.sources)

    @property
    def name(self) -> str:
        """By which the keys of effects and outboxes know it, wherever its files are."""
        return self.program.name or self.path.stem

    def problem(self, code: str, message: str, key: Key, hint: str | None = None) -> Problem:
        """Return a finding about a key of the file."""
        return Problem(code, message, self.places.find(key), hint)
