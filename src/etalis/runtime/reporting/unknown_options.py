"""Options by name: one that does not exist is refused with the one that may be meant."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar

from etalis.errors import OptionError, Problem
from etalis.language.check.spelling import suggest

P = ParamSpec("P")
R = TypeVar("R")


def with_options(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function refuse options that it does not have.

    >>> @with_options
    ... def detect(*, policy=None): ...
    >>> detect(polcy="recent")
    Traceback (most recent call last):
    etalis.errors.OptionError: error E338: detect has no option polcy
      hint: did you mean policy?
    """
    parameters = signature(function).parameters.values()
    known = {each.name for each in parameters if each.kind is not Parameter.POSITIONAL_ONLY}
    options = sorted(each.name for each in parameters if each.kind is Parameter.KEYWORD_ONLY)

    @wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> R:
        for name in given:
            if name not in known:
                hint = suggest(name, options, f"options: {', '.join(options)}")
                raise OptionError(Problem("E338", f"{function.__name__} has no option {name}", hint=hint))
        return function(*args, **given)

    return call
