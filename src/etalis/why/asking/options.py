"""What a question may say beside the event: one way to give its time, and numbers that are large enough."""

from __future__ import annotations

from collections.abc import Iterable

from etalis.data.scalars import show
from etalis.errors import OptionError, Problem
from etalis.runtime.ruleset import RuleSet


def refuse_times(**given: object) -> None:
    """Refuse a question that gives its time in several ways."""
    names = [name for name, time in given.items() if time is not None]
    if len(names) > 1:
        hint = "at and between speak of the event's end, interval of start and end: give one of them"
        raise OptionError(Problem("E343", f"{' and '.join(names)} are given, which say when the event ends", hint=hint))


def refuse_below(least: int, **given: object) -> None:
    """Refuse numbers that are too small, or no numbers."""
    for name, number in given.items():
        if not isinstance(number, int) or number < least:
            hint = f"give a whole number from {least} on"
            raise OptionError(Problem("E343", f"{name}={show(number)} cannot be", hint=hint))


def refuse_rule(rules: RuleSet, label: str | None) -> None:
    """Refuse the name of a rule that there is not, and was not."""
    known = {life.label for life in rules.lives.values()}
    if label is not None and label not in known:
        raise OptionError(Problem("E343", f"there is no rule {show(label)}", hint=f"rules: {_listed(sorted(known))}"))


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    return ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")
