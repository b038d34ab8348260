"""The effects that a program knows: the functions of the host that make and compensate them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from etalis.errors import Problem, ProgramError

Key = tuple[str, int]
RETRIES = 3
_GIVEN = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class RegisteredEffect:
    """What makes an effect, and what compensates it; without an arity it takes any number of arguments."""

    name: str
    arity: int | None
    function: Callable[..., Any]
    compensate: Callable[..., Any] | None = None
    retries: int = RETRIES


class EffectRegistry:
    """The effects of a program by name and number of arguments."""

    def __init__(self) -> None:
        self._effects: dict[tuple[str, int | None], RegisteredEffect] = {}

    def register(
        self, name: str, function: Callable[..., Any], compensate: Callable[..., Any] | None = None,
        retries: int = RETRIES, arity: int | None = None,
    ) -> None:  # fmt: skip
        """Add an effect; its arity is that of its function, unless it is given."""
        if not isinstance(name, str) or not name:
            raise unfit(f"{name!r} is not the name of an effect", "a name is a text")
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise unfit(f"{name} cannot be tried again {retries!r} times", "retries: 0, 1, 2 ...")
        takes = _arity(name, function, arity)
        if compensate is not None:
            _arity(f"the compensation of {name}", compensate, takes)
        self._effects[name, takes] = RegisteredEffect(name, takes, function, compensate, retries)

    def find(self, name: str, arity: int) -> RegisteredEffect | None:
        """Return the effect of a name that takes so many arguments."""
        return self._effects.get((name, arity)) or self._effects.get((name, None))

    def __iter__(self) -> Iterator[RegisteredEffect]:
        return iter(self._effects.values())

    def __len__(self) -> int:
        return len(self._effects)

    def arities(self, name: str) -> list[int]:
        """Return how many arguments the effects of a name take."""
        return sorted(arity for known, arity in self._effects if known == name and arity is not None)


def registry_of(given: Any) -> EffectRegistry:
    """Return the registry of a program, or one of functions by name.

    >>> registry_of({"log": lambda text, key: None}).arities("log")
    [1]
    """
    if isinstance(given, EffectRegistry):
        return given
    if isinstance(given, Mapping):
        registry = EffectRegistry()
        for name, function in given.items():
            registry.register(name, function)
        return registry
    registry = given.effects
    assert isinstance(registry, EffectRegistry)
    return registry


def _arity(name: str, function: Callable[..., Any], arity: int | None) -> int | None:
    """Return how many arguments a function takes beside the key; refuse one that cannot be called so."""
    if not callable(function):
        raise unfit(f"{name} needs a function, not {function!r}", "program.effect('charge', charge)")
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise unfit(f"the parameters of {name} are not known", f"wrap it: def {name}(..., *, key)") from None
    kinds = {p.kind for p in parameters.values()}
    if "key" not in parameters and inspect.Parameter.VAR_KEYWORD not in kinds:
        raise unfit(f"{name} takes no key", "the function of an effect is called with its arguments and key=")
    given = [p for p in parameters.values() if p.kind in _GIVEN and p.name != "key"]
    least = sum(p.default is p.empty for p in given)
    most = None if inspect.Parameter.VAR_POSITIONAL in kinds else len(given)
    if arity is None:
        return None if most is None else least
    if isinstance(arity, bool) or not isinstance(arity, int) or arity < least or (most is not None and arity > most):
        takes = f"{least} or more" if most is None else f"{least}" if least == most else f"{least} to {most}"
        raise unfit(f"{name} cannot be called with {arity!r} arguments: it takes {takes}", "leave arity away")
    return arity


def unfit(message: str, hint: str) -> ProgramError:
    """Return the refusal of an effect that cannot be registered."""
    return ProgramError(Problem("E801", message, hint=hint))
