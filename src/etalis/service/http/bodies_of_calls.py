"""The bodies of requests in JSON: what is read of them, and their schemas in `/openapi.json`."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta


class NewEngine(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An engine to be made."""

    program: str
    name: str | None = None
    language: str = "rules"
    policy: str | None = None
    flags: dict[str, str | int | float] = {}
    time: str | None = None
    scratch: bool = False
    background: str | None = None


class ProgramText(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A program to be checked."""

    program: str
    language: str = "rules"


class RuleText(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Rules to be added."""

    rules: str


class GoalText(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A goal to be asked."""

    goal: str
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1_000


class NewTime(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A time up to which nothing more ends."""

    to: float | str


class WhyQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A match of which the reason is asked: by its number, or as it was told."""

    number: int | None = None
    match: dict[str, Any] | None = None


class WhyNotQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An event that was missed: its kind or a pattern, and when."""

    kind: str
    from_: float | str | None = msgspec.field(name="from", default=None)
    to: float | str | None = None
    repair: bool = False
