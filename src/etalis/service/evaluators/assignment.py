"""What an evaluator is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from etalis.errors import InputError, Problem
from etalis.snoop.expression import Expression


@dataclass(frozen=True, slots=True)
class LeafEmission:
    """An occurrence of a leaf: its bindings, how far the evaluator has come, and its interval where it has one."""

    bindings: Mapping[str, str]
    cursor: str | None = None
    interval: tuple[int, int] | None = None  # microseconds


class ProviderFailed(InputError):  # noqa: N818
    """An evaluation that could not begin, or broke off."""

    def __init__(self, message: str, hint: str = "look after the provider, and register again") -> None:
        super().__init__(Problem("E816", message, hint=hint))


@dataclass(frozen=True, slots=True)
class Assignment:
    """A leaf that is to be evaluated, and where its events go."""

    uri: str
    expression: Expression
    inputs: Mapping[str, str]
    outputs: tuple[str, ...]
    client: str  # whose expression it is
    cursor: str | None  # what the last emission said, or what was there when the expression was registered
    provider_id: str | None  # the id that a remote provider gave it
    emit: Callable[[LeafEmission], Awaitable[None]]
    end: Callable[[], Awaitable[None]]
    fail: Callable[[ProviderFailed], Awaitable[None]]
    started: Callable[[str], Awaitable[None]]  # takes the id at a remote provider


class Evaluation(Protocol):
    """An evaluation that runs."""

    async def stop(self) -> None:
        """End it."""

    async def leave(self) -> None:
        """Let it be: the service ends, and goes on with it in another run."""


class Evaluator(Protocol):
    """What evaluates the expressions of a language."""

    fed_by_id: bool  # whether signals name the leaf, or its type

    def beginning(self) -> str | None:
        """Return the cursor of an expression that is registered now."""

    async def start(self, leaf: Assignment) -> Evaluation:
        """Begin, or raise `ProviderFailed`."""
