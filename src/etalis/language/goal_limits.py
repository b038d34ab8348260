"""The limits of one goal, from the flags of its program."""

from __future__ import annotations

from etalis.language.flags import Settings
from etalis.logic.machine.machine import GoalLimits

_BLOCK = 80  # bytes of a block of the interpreter, on average


def goal_limits(settings: Settings) -> GoalLimits:
    """Return the limits of a condition or action.

    >>> goal_limits(Settings(max_goal_steps=1000)).steps
    1000
    """
    memory = 1 << 60 if settings.max_goal_memory is None else settings.max_goal_memory * 1_000_000 // _BLOCK
    limits = GoalLimits(steps=settings.max_goal_steps, memory=memory, time=settings.max_goal_time)
    return limits.capped(settings.max_steps)


def host_limits(settings: Settings) -> GoalLimits:
    """Return the limits of what is no condition or action: queries of the host, directives.

    >>> host_limits(Settings()).steps, host_limits(Settings(max_steps=1000)).steps
    (5000000, 1000)
    """
    return GoalLimits().capped(settings.max_steps)
