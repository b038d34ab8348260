"""A pipeline file as data: sections and keys by tables, each value checked, all problems with their places.

Relative paths are taken from the folder of the file. What needs more than the file itself (other files, the program,
columns) is the task of `check`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeAlias

from etalis.errors import InputError, Problem, Source
from etalis.formats.row import UNITS
from etalis.language.check.spelling import suggest
from etalis.pipeline import values as v
from etalis.pipeline.connectors import CONNECTORS
from etalis.pipeline.connectors.connector import Connector
from etalis.pipeline.parts import (
    KnowledgePart,
    LatePart,
    MetricsPart,
    Pipeline,
    ProgramPart,
    RunPart,
    SinkPart,
    SourcePart,
    SparkPart,
)
from etalis.pipeline.places import Path as Key
from etalis.pipeline.places import Places
from etalis.pipeline.values import ValueKind
from etalis.spark.stream.streaming import REPORTING
from etalis.tables.schema import refuse
from etalis.temporal.policy import POLICIES

MODES = ("error", "append", "overwrite")


Section: TypeAlias = tuple[type, bool, Mapping[str, ValueKind]]  # its class, whether there may be several, its keys


def sections() -> Mapping[str, Section]:
    """Return what a pipeline file may say; keys that say where rows are come with the connectors."""
    readable = [connector for connector in CONNECTORS.values() if connector.read is not None]
    writable = [connector for connector in CONNECTORS.values() if connector.write is not None]
    source = {
        "format": v.one_of(*(each.name for each in readable)), **_keys(readable), "schema": v.TEXT, "event": v.TEXT,
        "event_column": v.TEXT, "time": v.TIMES, "order": v.TEXT, "select": v.TEXTS, "where": v.TEXT,
        "options": v.OPTIONS,
    }  # fmt: skip
    sink = {
        "format": v.one_of(*(each.name for each in writable)), **_keys(writable), "event": v.TEXT, "envelope": v.YES_NO,
        "mode": v.one_of(*MODES), "options": v.OPTIONS,
    }  # fmt: skip
    run = {
        "trigger": v.TRIGGER, "checkpoint": v.PLACE, "lateness": v.DURATION, "reporting": v.one_of(*REPORTING),
        "idle": v.DURATION, "clock": v.YES_NO, "unit": v.one_of(*UNITS), "shards": v.COUNT, "ahead": v.AHEAD,
        "max_rejected": v.BOUND, "allow_dropped": v.YES_NO,
    }  # fmt: skip
    knowledge = {"name": v.TEXT, "path": v.PLACE, "columns": v.COLUMNS, "refreshed": v.REFRESHED}
    program = {"files": v.PLACES, "policy": v.one_of(*POLICIES), "name": v.TEXT, "flags": v.FLAGS}
    spark = {"master": v.TEXT, "cores": v.COUNT, "memory": v.TEXT, "jars": v.PLACES, "options": v.OPTIONS}
    return {
        "program": (ProgramPart, False, program),
        "source": (SourcePart, True, source),
        "knowledge": (KnowledgePart, True, knowledge),
        "sink": (SinkPart, True, sink),
        "dead_letters": (LatePart, False, {"path": v.PLACE}),
        "run": (RunPart, False, run),
        "spark": (SparkPart, False, spark),
        "metrics": (MetricsPart, False, {"file": v.PLACE, "port": v.PORT}),
    }


def _keys(connectors: Iterable[Connector]) -> dict[str, ValueKind]:
    return {name: kind for connector in connectors for name, kind in connector.keys.items()}


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
    known = sections()
    parts = {name: reader.section(name, section, given.get(name)) for name, section in known.items()}
    reader.names("", given, known)
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

    def section(self, name: str, section: Section, given: Any) -> Any:
        """Return a section as its class, or all of its name; None where it is wrong."""
        made, several, keys = section
        if not several:
            return self._part(made, keys, {} if given is None else given, (name,), given is not None)
        if given is not None and not isinstance(given, list):
            self.note("E704", f"{name} is a list of tables, each under [[{name}]]", (name,))
            given = []
        return tuple(self._part(made, keys, part, (name, i), True) for i, part in enumerate(given or ()))

    def _part(self, made: type, keys: Mapping[str, ValueKind], given: Any, path: Key, is_there: bool) -> Any:
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
        if wrong:
            return None
        own = {f.name: values.pop(f.name) for f in fields(made) if f.name in values}
        return made(**own, keys=values) if values else made(**own)

    def names(self, section: str, given: Mapping[str, Any], known: Mapping[str, Any], path: Key = ()) -> None:
        """Note the keys that are not known."""
        for name in given:
            if name not in known:
                hint = suggest(name, known, f"known are {', '.join(known)}")
                what = f"{section} has no key {name}" if section else f"unknown section or key {name}"
                self.note("E702", what, (*path, name), hint)

    def _values(self, given: Mapping[str, Any], keys: Mapping[str, ValueKind], path: Key) -> Iterator[tuple[str, Any]]:
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
    return given.default is MISSING and given.default_factory is MISSING


def _near(value: Any, kind: ValueKind) -> str | None:
    """Return the hint which of several words was meant."""
    if isinstance(value, str) and kind.called.startswith("one of "):
        return suggest(value, kind.called.removeprefix("one of ").split(", "))
    return None
