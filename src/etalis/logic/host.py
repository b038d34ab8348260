"""What the host provides to goals: their output and the clock; nothing else is within reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from etalis.logic.terms.unify import Term, Variable

Clock = Callable[[], float | datetime]
Reader = Callable[[str], tuple[Term, Mapping[str, Variable]]]  # a text to its term and the term's variables by name


def _discard(_text: str) -> object:
    return None


@dataclass(frozen=True, slots=True)
class Host:
    """The output of the `write` family, piece by piece, and the clock: seconds since 1970 or a datetime."""

    output: Callable[[str], object] = _discard
    clock: Clock | None = None


NO_HOST = Host()
