"""One try of an effect: what a host's function did, told apart by what it raised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from etalis.data.values import Real, Value


class Refused(Exception):  # noqa: N818 - an answer of the receiver, not a fault
    """Raised by the function of an effect: it is not done, and will not be, however often it is tried."""


class Unknown(Exception):  # noqa: N818
    """Raised by the function of an effect: nobody knows whether it was done, as after a timeout."""


@dataclass(frozen=True, slots=True)
class Tried:
    """How a try ended."""

    outcome: Literal["made", "failed", "refused", "unknown"]
    error: str = ""


MADE = Tried("made")


def try_once(function: Callable[..., Any], args: tuple[Value, ...], key: str) -> Tried:
    """Call the function of an effect."""
    try:
        function(*map(to_python, args), key=key)
    except Refused as error:
        return Tried("refused", _told(error))
    except Unknown as error:
        return Tried("unknown", _told(error))
    except Exception as error:  # noqa: BLE001 - a host's function may raise anything: it was not made
        return Tried("failed", _told(error))
    return MADE


def to_python(value: Value) -> Any:
    """Return a value as functions of effects get it: floats are floats, lists are tuples, terms `etalis.Struct`."""
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, tuple):
        return tuple(map(to_python, value))
    return value


def _told(error: Exception) -> str:
    name = type(error).__name__
    return f"{name}: {error}" if str(error) else name
