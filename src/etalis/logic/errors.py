"""Errors of goals: an ISO error term, and the same in words.

`LogicError.term` is what `catch/3` sees (in the inside form of `unify`); the problem's text is what a user reads.
A limit (`LogicLimitError`) cannot be caught by a program, so that a loop cannot outlive its limit by catching it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from etalis.errors import ConditionError, Problem, Span


class LogicError(ConditionError):
    """A goal raised `term`; `text` says it in words."""

    def __init__(self, term: Any, code: str, text: str, hint: str | None = None) -> None:
        self.term = term
        super().__init__(Problem(code, text, hint=hint))

    @property
    def text(self) -> str:
        return self.problems[0].message

    def __reduce__(self) -> tuple[Any, ...]:
        problem = self.problems[0]
        return type(self)._restore, (self.term, problem.code, problem.message, problem.hint)

    @classmethod
    def _restore(cls, term: Any, code: str, text: str, hint: str | None) -> LogicError:
        error = cls.__new__(cls)
        LogicError.__init__(error, term, code, text, hint)
        return error


_FLAGS = {"steps": "max_goal_steps", "seconds": "max_goal_time", "memory blocks": "max_goal_memory"}


class LogicLimitError(LogicError):
    """A goal reached one of its limits: steps, depth or size."""

    def __init__(self, limit: str, amount: float) -> None:
        remedy = f"raise the flag {_FLAGS[limit]}" if limit in _FLAGS else "make smaller terms"
        super().__init__(
            ("error", ("resource_error", limit), ("limit", limit, amount)),
            "E509",
            f"the goal reached its limit of {limit}: {amount}",
            f"the goal may not end; if it does, {remedy}",
        )


class StepLimitError(LogicLimitError):
    """A goal took more steps than `max_steps` allows to any."""

    def __init__(self, amount: int) -> None:
        LogicError.__init__(
            self,
            ("error", ("resource_error", "steps"), ("limit", "steps", amount)),
            "E517",
            f"the goal takes more than the {amount} steps that max_steps allows",
            "the goal may not end; if it does, ask for less at a time, or raise the flag max_steps",
        )

    def at(self, place: Span | None) -> StepLimitError:
        """Return the error with its place."""
        self.problems = (replace(self.problems[0], span=place),)
        self.args = (str(self.problems[0]),)
        return self


def too_many_steps(amount: int, *, is_cap: bool) -> LogicLimitError:
    """Return the error of a goal that took so many steps, which `is_cap` says are those of `max_steps`."""
    return StepLimitError(amount) if is_cap else LogicLimitError("steps", amount)
