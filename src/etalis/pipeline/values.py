"""Kinds of values in a pipeline file: what each is called in messages, and how it is read and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etalis.errors import InputError
from etalis.spark.durations import to_duration
from etalis.spark.knowledge.refresh import BATCH
from etalis.spark.stream.lateness import NONE
from etalis.spark.stream.rejection_limit import read_bound

ONCE, AVAILABLE_NOW = "once", "available_now"
START = "start"  # knowledge that is read once


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


def one_of(*names: str) -> Kind:
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
TIMES = Kind("a column, or two in a list: start and end", _times)
COLUMNS = Kind("a list of columns", _columns)
REFRESHED = Kind('"start", "batch", or a text such as "30 seconds"', _refreshed)
TRIGGER = Kind('"once", "available_now", or a text such as "10 seconds"', _trigger)
AHEAD = Kind('seconds, a text such as "10 min", or "none"', _ahead)
BOUND = Kind("a number of rows, or a share of all such as 0.01", _bound)
