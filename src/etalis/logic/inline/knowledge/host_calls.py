"""Functions of the host that goals in line call, each call once.

What a function returned or raised is noted. Where the goal is left to the solver after all, its calls, which are the
same in the same order, are answered from the notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from etalis.data.values import to_value
from etalis.errors import EtalisError
from etalis.logic.inline.steps import DeclineError
from etalis.logic.knowledge.foreign import SCALARS, Function, NotedCall, truth_of
from etalis.logic.machine.database import Database

Notes = list[NotedCall]


def calling(function: Function) -> Callable[..., Any]:
    """Return a function of notes and values: the truth where nothing is left to give, else the value or None.

    What takes more than a look is the solver's: several solutions, terms, errors.
    """
    call, is_test = function.call, function.left == 0

    def ask(notes: Notes, *values: Any) -> Any:
        try:
            found = call(*values)
        except Exception as error:  # noqa: BLE001 - it is the solver's to report
            notes.append(NotedCall(function, None, error))
            raise DeclineError from None
        notes.append(NotedCall(function, found))
        return _truth(found) if is_test else _value(found)

    return ask


def _truth(found: Any) -> bool:
    if found is True or found is False:
        return found
    truth = True if found is None else truth_of(found)
    if truth is None:
        raise DeclineError
    return truth


def _value(found: Any) -> Any:
    if found is None or found.__class__ is str or found.__class__ is int:
        return found
    if found.__class__ is float and found % 1.0 and found == found:  # NaN is not
        return found
    if not isinstance(found, SCALARS) and isinstance(found, Iterable):
        raise DeclineError
    try:
        value = to_value(found)
    except EtalisError:
        raise DeclineError from None
    if not isinstance(value, str | int | float):
        raise DeclineError
    return value


def replaying(database: Database, slow: Callable[..., Any]) -> Callable[..., Any]:
    """Return the solver's function for a goal of which some calls are noted."""

    def ask(notes: Notes, *values: Any) -> Any:
        database.noted.extend(notes)
        try:
            return slow(*values)
        finally:
            database.noted.clear()

    return ask
