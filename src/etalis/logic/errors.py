"""Errors of goals: an ISO error term, and the same in words.

`LogicError.term` is what `catch/3` sees (in the inside form of `unify`); the problem's text is what a user reads.
A limit (`LogicLimitError`) cannot be caught by a program, so that a loop cannot outlive its limit by catching it.
"""

from __future__ import annotations

from typing import Any

from etalis.errors import ConditionError, Problem


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
