"""Warnings of a program as Python warnings: at the call from outside the package, or as an error.

A predicate that nothing defines (`OPEN`) may still be registered or loaded, so it is told when the program first runs.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable

from etalis.errors import Problem, ProgramError, ProgramWarning

OPEN = frozenset({"W207"})
_OURS = frozenset((__name__.partition(".")[0], "contextlib"))  # which calls what is decorated


def tell_warnings(problems: Iterable[Problem], *, strict: bool) -> None:
    """Warn of each problem; where `strict`, refuse the program for all of them."""
    found = tuple(problems)
    if strict and found:
        raise ProgramError(*found)
    for problem in found:
        warnings.warn(str(problem), ProgramWarning, stacklevel=_level_of_user())


def _level_of_user() -> int:
    """Return how many frames above its caller the code stands that is not this package's."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        frame, level = frame.f_back, level + 1
    return level
