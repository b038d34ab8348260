"""Kinds of values in a pipeline file: what each is called in messages, and how it is checked and read."""

from __future__ import annotations

from collections.abc import Callable, Collection
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
class ValueKind:
    """A kind of value: what it is called, which values are of it, and what they become in the folder of the file."""

    called: str
    fits: Callable[[Any], bool]
    convert: Callable[[Any, Path], Any] = lambda value, _: value

    def read(self, value: Any, folder: Path) -> Any:
        """Return what a value becomes; ValueError if it is none of this kind."""
        if not self.fits(value):
            raise ValueError(value)
        return self.convert(value, folder)


def one_of(*names: str) -> ValueKind:
    """Return the kind of some names."""
    return ValueKind(f"one of {', '.join(names)}", lambda value: value in names)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _are_texts(value: Any) -> bool:
    return all(map(_is_text, _listed(value)))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) and value else [value]


def _place(text: str, folder: Path) -> str:
    return text if "://" in text else str(folder / text)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(v, str | int | float) for v in value.values())


def _are_columns(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str | int) and not isinstance(v, bool) for v in value)


def _is_taken(read: Callable[..., object], *given: Any) -> bool:
    """Tell whether a function takes some arguments."""
    try:
        read(*given)
    except InputError:
        return False
    return True


def _number(called: str, least: int, most: int) -> ValueKind:
    return ValueKind(called, lambda v: isinstance(v, int) and not isinstance(v, bool) and least <= v <= most)


def _duration(called: str, others: Collection[str] = (), *, only_text: bool = False) -> ValueKind:
    """Return the kind of durations, and of some words."""

    def fits(value: Any) -> bool:
        is_word = isinstance(value, str) and value in others
        return is_word or ((_is_text(value) or not only_text) and _is_taken(to_duration, "it", value))

    return ValueKind(called, fits)


TEXT = ValueKind("a text", _is_text)
TEXTS = ValueKind("a text or a list of texts", _are_texts, lambda value, _: tuple(_listed(value)))
TIMES = ValueKind(
    "a column, or two in a list: start and end", lambda value: _are_texts(value) and len(_listed(value)) <= 2,
    TEXTS.convert,
)  # fmt: skip
PLACE = ValueKind("a path or an address", _is_text, _place)
PLACES = ValueKind(
    "a path or a list of paths", _are_texts, lambda value, folder: tuple(_place(v, folder) for v in _listed(value))
)
OPTIONS = ValueKind(
    "a table of texts, numbers, true or false", _is_table,
    lambda value, _: {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in value.items()},
)  # fmt: skip
FLAGS = ValueKind(
    "a table of flags", _is_table,
    lambda value, _: {name: ("off", "on")[v] if isinstance(v, bool) else v for name, v in value.items()},
)  # fmt: skip
COLUMNS = ValueKind("a list of columns", _are_columns, lambda value, _: tuple(value))
COUNT = _number("a whole number above 0", 1, 1 << 31)
PORT = _number("the number of a port", 0, 65_535)
YES_NO = ValueKind("true or false", lambda value: isinstance(value, bool))
BOUND = ValueKind("a number of rows, or a share of all such as 0.01", lambda value: _is_taken(read_bound, value))
DURATION = _duration('seconds, or a text such as "10 min"')
AHEAD = _duration('seconds, a text such as "10 min", or "none"', (NONE,))
REFRESHED = _duration('"start", "batch", or a text such as "30 seconds"', (START, BATCH), only_text=True)
TRIGGER = _duration('"once", "available_now", or a text such as "10 seconds"', (ONCE, AVAILABLE_NOW), only_text=True)
