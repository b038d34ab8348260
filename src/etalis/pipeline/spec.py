"""A pipeline file as data: sections and keys by tables, each value checked, all problems with their places.

Relative paths are taken from the folder of the file. What needs more than the file itself (other files, the program,
columns) is the task of `check`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from etalis.errors import InputError, Problem, Source
from etalis.formats.row import UNITS
from etalis.language.check.spelling import suggest
from etalis.pipeline.places import Path as Key
from etalis.pipeline.places import Places
from etalis.spark.durations import to_duration
from etalis.spark.knowledge.refresh import BATCH
from etalis.spark.stream.lateness import NONE
from etalis.spark.stream.rejection_limit import read_bound
from etalis.spark.stream.streaming import REPORTING
from etalis.tables.schema import refuse
from etalis.temporal.policy import POLICIES

FILES = ("parquet", "orc", "json", "csv", "text")
ONCE, AVAILABLE_NOW = "once", "available_now"
START = "start"  # knowledge that is read once
MODES = ("error", "append", "overwrite")


@dataclass(frozen=True, slots=True)
class ProgramPart:
    """Which program: its files, and what is set from outside."""

    files: tuple[str, ...]
    policy: str | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourcePart:
    """Where events come from, and which columns play which part."""

    format: str
    path: str | None = None
    table: str | None = None
    host: str | None = None
    port: int | None = None
    servers: str | None = None
    topic: str | None = None
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
    path: str | None = None
    table: str | None = None
    servers: str | None = None
    topic: str | None = None
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

    def problem(self, code: str, message: str, key: Key, hint: str | None = None) -> Problem:
        """Return a finding about a key of the file."""
        return Problem(code, message, self.places.find(key), hint)


# what values may be


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: what it is called, and how it is read; reading raises ValueError where it is none."""

    called: str
    read: Callable[[Any, Path], Any]


def _text(value: Any, _: Path) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError
    return value


def _texts(value: Any, folder: Path) -> tuple[str, ...]:
    return tuple(_text(item, folder) for item in (value if isinstance(value, list) and value else [value]))


def _place(value: Any, folder: Path) -> str:
    text = _text(value, folder)
    return text if "://" in text else str(folder / text)


def _options(value: Any, _: Path) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(v, str | int | float) for v in value.values()):
        raise ValueError
    return {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in value.items()}


def _flags(value: Any, _: Path) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(v, str | int | float) for v in value.values()):
        raise ValueError
    return {name: {True: "on", False: "off"}[v] if isinstance(v, bool) else v for name, v in value.items()}


def _columns(value: Any, _: Path) -> tuple[str | int, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str | int) and not isinstance(v, bool) for v in value):
        raise ValueError
    return tuple(value)


def _times(value: Any, folder: Path) -> tuple[str, ...]:
    names = _texts(value, folder)
    if len(names) > 2:
        raise ValueError
    return names


def _number(least: int, most: int) -> Callable[[Any, Path], int]:
    def read(value: Any, _: Path) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise ValueError
        return value

    return read


def _flag(value: Any, _: Path) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _duration(value: Any, _: Path) -> Any:
    try:
        to_duration("it", value)
    except InputError:
        raise ValueError from None
    return value


def _ahead(value: Any, folder: Path) -> Any:
    return value if value == NONE else _duration(value, folder)


def _bound(value: Any, _: Path) -> int | float:
    try:
        read_bound(value)
    except InputError:
        raise ValueError from None
    assert isinstance(value, int | float)
    return value


def _trigger(value: Any, folder: Path) -> str:
    text = _text(value, folder)
    if text not in (ONCE, AVAILABLE_NOW):
        _duration(text, folder)
    return text


def _refreshed(value: Any, folder: Path) -> str:
    text = _text(value, folder)
    if text not in (START, BATCH):
        _duration(text, folder)
    return text


def _one_of(*names: str) -> Kind:
    def read(value: Any, _: Path) -> str:
        if value not in names:
            raise ValueError
        return str(value)

    return Kind(f"one of {', '.join(names)}", read)


TEXT = Kind("a text", _text)
TEXTS = Kind("a text or a list of texts", _texts)
PLACE = Kind("a path or an address", _place)
PLACES = Kind(
    "a path or a list of paths", lambda value, folder: tuple(_place(v, folder) for v in _texts(value, folder))
)
OPTIONS = Kind("a table of texts, numbers, true or false", _options)
FLAGS = Kind("a table of flags", _flags)
COUNT = Kind("a whole number above 0", _number(1, 1 << 31))
PORT = Kind("the number of a port", _number(0, 65_535))
YES_NO = Kind("true or false", _flag)
DURATION = Kind('seconds, or a text such as "10 min"', _duration)

# section: (its class, whether there may be several, key: kind of value)
_SOURCE = {
    "format": _one_of(*FILES, "rate", "socket", "table", "kafka"), "path": PLACE, "table": TEXT, "host": TEXT,
    "port": PORT, "servers": TEXT, "topic": TEXT, "schema": TEXT, "event": TEXT, "event_column": TEXT,
    "time": Kind("a column, or two in a list: start and end", _times), "order": TEXT, "select": TEXTS, "where": TEXT,
    "options": OPTIONS,
}  # fmt: skip
_SINK = {
    "format": _one_of(*FILES[:-1], "console", "table", "kafka"), "path": PLACE, "table": TEXT, "servers": TEXT,
    "topic": TEXT, "event": TEXT, "envelope": YES_NO, "mode": _one_of(*MODES), "options": OPTIONS,
}  # fmt: skip
_KNOWLEDGE = {
    "name": TEXT, "path": PLACE, "columns": Kind("a list of columns", _columns),
    "refreshed": Kind('"start", "batch", or a text such as "30 seconds"', _refreshed),
}  # fmt: skip
_RUN = {
    "trigger": Kind('"once", "available_now", or a text such as "10 seconds"', _trigger), "checkpoint": PLACE,
    "lateness": DURATION, "reporting": _one_of(*REPORTING), "idle": DURATION, "clock": YES_NO,
    "unit": _one_of(*UNITS), "shards": COUNT,
    "ahead": Kind('seconds, a text such as "10 min", or "none"', _ahead),
    "max_rejected": Kind("a number of rows, or a share of all such as 0.01", _bound), "allow_dropped": YES_NO,
}  # fmt: skip
SECTIONS: Mapping[str, tuple[type, bool, Mapping[str, Kind]]] = {
    "program": (ProgramPart, False, {"files": PLACES, "policy": _one_of(*POLICIES), "flags": FLAGS}),
    "source": (SourcePart, True, _SOURCE),
    "knowledge": (KnowledgePart, True, _KNOWLEDGE),
    "sink": (SinkPart, True, _SINK),
    "dead_letters": (LatePart, False, {"path": PLACE}),
    "run": (RunPart, False, _RUN),
    "spark": (SparkPart, False, {"master": TEXT, "cores": COUNT, "memory": TEXT, "jars": PLACES, "options": OPTIONS}),
    "metrics": (MetricsPart, False, {"file": PLACE, "port": PORT}),
}
_NEEDED = {"program": "[program]", "source": "[[source]]", "sink": "[[sink]]"}


def read_pipeline(path: str | Path) -> Pipeline:
    """Read a pipeline file; an InputError holds all that is wrong with it."""
    pipeline, problems = read_draft(path)
    if problems:
        raise InputError(*problems)
    assert pipeline is not None
    return pipeline


def read_draft(path: str | Path) -> tuple[Pipeline | None, list[Problem]]:
    """Read a pipeline file as far as it can be read: sections that are wrong are left out, None without a program."""
    where = Path(path)
    text = _read_text(where)
    places = Places(Source(str(where), text))
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise refuse("E701", f"{where}: not TOML: {error}", "see docs/pipeline.md for an example") from None
    reader = _Reader(places, where.parent)
    parts = {name: reader.section(name, given.get(name)) for name in SECTIONS}
    reader.names("", given, SECTIONS)
    for name, written in _NEEDED.items():
        if name not in given:
            reader.note("E703", f"{where}: there is no {written}", ())
    if parts["program"] is None:
        return None, reader.problems
    sources, knowledge, sinks = (tuple(filter(None, parts[name])) for name in ("source", "knowledge", "sink"))
    late = parts["dead_letters"] if "dead_letters" in given else None
    others = (parts["run"] or RunPart(), parts["spark"] or SparkPart(), parts["metrics"] or MetricsPart())
    return Pipeline(where, places, parts["program"], sources, knowledge, sinks, late, *others), reader.problems


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise refuse("E701", f"cannot read {path}: {reason}", "check its name") from None


class _Reader:
    """Reads sections, and collects what is wrong with them."""

    def __init__(self, places: Places, folder: Path) -> None:
        self.places = places
        self.folder = folder
        self.problems: list[Problem] = []

    def note(self, code: str, message: str, key: Key, hint: str | None = None) -> None:
        self.problems.append(Problem(code, message, self.places.find(key), hint))

    def section(self, name: str, given: Any) -> Any:
        """Return a section as its class, or all of its name; None where it is wrong."""
        made, several, keys = SECTIONS[name]
        if not several:
            return self._part(made, keys, {} if given is None else given, (name,), given is not None)
        if given is not None and not isinstance(given, list):
            self.note("E704", f"{name} stands once or several times, each under [[{name}]]", (name,))
            given = []
        return tuple(self._part(made, keys, part, (name, i), True) for i, part in enumerate(given or ()))

    def _part(self, made: type, keys: Mapping[str, Kind], given: Any, path: Key, is_there: bool) -> Any:
        if not isinstance(given, dict):
            self.note("E704", f"{path[0]} is a section: [{path[0]}]", path)
            return None
        self.names(f"[{path[0]}]", given, keys, path)
        values = dict(self._values(given, keys, path))
        missing = [f.name for f in fields(made) if _is_needed(f) and f.name not in given]
        if is_there:
            for name in missing:
                self.note("E703", f"[{path[0]}] needs {name}", path, f"{name} is {keys[name].called}")
        wrong = any(_is_needed(f) and f.name not in values for f in fields(made))
        return None if wrong else made(**values)

    def names(self, section: str, given: Mapping[str, Any], known: Mapping[str, Any], path: Key = ()) -> None:
        """Note the keys that are not known."""
        for name in given:
            if name not in known:
                hint = suggest(name, known, f"known are {', '.join(known)}")
                what = f"{section} has no key {name}" if section else f"unknown section or key {name}"
                self.note("E702", what, (*path, name), hint)

    def _values(self, given: Mapping[str, Any], keys: Mapping[str, Kind], path: Key) -> Iterator[tuple[str, Any]]:
        for name, value in given.items():
            if name not in keys:
                continue
            try:
                yield name, keys[name].read(value, self.folder)
            except ValueError:
                shown = "a table" if isinstance(value, dict) else repr(value)
                self.note(
                    "E704", f"{name} is {keys[name].called}, not {shown}", (*path, name), _near(value, keys[name])
                )


def _is_needed(given: Any) -> bool:
    from dataclasses import MISSING

    return given.default is MISSING and given.default_factory is MISSING


def _near(value: Any, kind: Kind) -> str | None:
    """Return the hint which of several words was meant."""
    if isinstance(value, str) and kind.called.startswith("one of "):
        return suggest(value, kind.called.removeprefix("one of ").split(", "))
    return None
