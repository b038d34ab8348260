"""What comes of an action: the steps of its execution, or how far it got."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from etalis.data.values import Struct, Value, format_value
from etalis.errors import EtalisError
from etalis.language.reactive.wait_names import begins_wait, is_of_wait, wait_text

LabelKind: TypeAlias = Literal["ins", "del", "set", "raise", "effect"]
Why: TypeAlias = Literal["no execution", "limit", "error", "effect refused", "illegal state"]

ANYTHING = Struct("_", ())  # what `_` of a `del` is in its label


@dataclass(frozen=True, slots=True)
class Label:
    """A step with its bindings; an event that is raised later comes `after` some seconds."""

    kind: LabelKind
    term: Value
    after: Value | None = None

    def __str__(self) -> str:
        if self.wait == "begins":
            assert isinstance(self.term, Struct)
            return wait_text(self.term.name)
        text = format_value(self.term).replace(_WRITTEN, "_")
        later = "" if self.after is None else f",after({format_value(self.after)})"
        return f"{self.kind}({text}{later})"

    @property
    def wait(self) -> Literal["", "begins", "ends"]:
        """Whether it is the step with which an action begins to wait, or has its wait end later."""
        name = self.term.name if isinstance(self.term, Struct) else self.term
        if self.kind != "raise" or not isinstance(name, str) or not is_of_wait(name):
            return ""
        return "begins" if begins_wait(name) else "ends"


def steps_of(labels: Iterable[Label]) -> tuple[str, ...]:
    """Return steps as texts; that an action begins to wait is one."""
    return tuple(str(label) for label in labels if label.wait != "ends")


_WRITTEN = format_value(ANYTHING)  # an atom with such a text would have its quotes escaped


_Told: TypeAlias = tuple[tuple[Label, ...], Mapping[str, Value]]


class Execution:
    """The steps of an action, in order, and the values of its variables; the state is changed, and not committed."""

    __slots__ = ("_tell", "_told")

    def __init__(self, labels: tuple[Label, ...], bindings: Mapping[str, Value] | None = None) -> None:
        self._tell: Callable[[], _Told]
        self._told: _Told | None = (labels, bindings or {})

    @staticmethod
    def told_later(tell: Callable[[], _Told]) -> Execution:
        """Return an execution whose steps are only put into words when they are asked for."""
        made = Execution.__new__(Execution)
        made._told, made._tell = None, tell
        return made

    @property
    def labels(self) -> tuple[Label, ...]:
        """The steps, in order; of tests there are none."""
        return self._all()[0]

    @property
    def bindings(self) -> Mapping[str, Value]:
        """The values of the variables that have one."""
        return self._all()[1]

    def _all(self) -> _Told:
        if self._told is None:
            self._told = self._tell()
        return self._told

    def __repr__(self) -> str:
        return f"Execution({self.labels!r}, {self.bindings!r})"


@dataclass(frozen=True, slots=True)
class Failed:
    """There is no execution, and the state is as it was.

    `reached` are the steps of the longest attempt, `failed` is where it ended: a test or step with its values. Of an
    illegal state it is what `always` demands, and the last step reached leads there.
    """

    reached: tuple[Label, ...]
    failed: str
    why: Why
    error: EtalisError | None = None


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """How long a path may be, and how many steps may be tried, those into a clause of an action included."""

    max_path: int = 10_000
    max_tries: int = 1_000_000
