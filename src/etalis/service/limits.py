"""What a client may use, and how much the service keeps; `etalis serve` has an option for each."""

from __future__ import annotations

import re
from dataclasses import dataclass

from etalis.language.flags import SERVICE_MAX_STEPS

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """The limits of a service: of each client, of each engine, of what is kept."""

    engines: int = 20
    streams: int = 50
    body: int = 16 * 1024 * 1024
    line: int = 1024 * 1024
    program: int = 64 * 1024
    depth: int = 100
    rate: float = 5_000.0
    burst: float = 10_000.0
    queue_requests: int = 1_000
    queue_events: int = 100_000
    kept: int = 10_000
    kept_seconds: float = 24 * 3600.0
    behind: int = 1_000
    scratch_seconds: float = 600.0
    instances: int = 1_000_000
    derivations: int = 100_000
    goal_steps: int = SERVICE_MAX_STEPS


def is_too_deep(text: bytes, most: int) -> bool:
    """Tell whether JSON is nested deeper than so many levels.

    >>> is_too_deep(b'[[["]]]"]]]', 2), is_too_deep(b'{"a": "[[[["}', 1)
    (True, False)
    """
    if text.count(b"[") + text.count(b"{") <= most:
        return False
    level = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", text)):
        level += 1 if bracket in b"[{" else -1
        if level > most:
            return True
    return False
