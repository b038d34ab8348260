"""The walks of docs/architecture.md: what an action calls, and whether that is what the walk names."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

PAGE = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
MODULE = re.compile(r"`(etalis(?:\.[a-z_]+)*)`")
Walk = Callable[[], object]
PROFILES: list[Callable[[FrameType, str, Any], None]] = []


def traced(action: Callable[[], object]) -> list[str]:
    """Return the modules of the package whose functions an action calls, in the order of their first calls."""
    found: dict[str, None] = {}

    def profile(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_globals.get("__name__", "") if event == "call" else ""
        if name.split(".")[0] == "etalis" and "<" not in (frame.f_code.co_name[0], frame.f_code.co_filename[0]):
            found.setdefault(name)

    sys.setprofile(profile)
    PROFILES.append(profile)
    try:
        action()
    finally:
        PROFILES.pop()
        sys.setprofile(None)
    return list(found)


def profile_of_threads(frame: FrameType, event: str, argument: Any) -> None:
    """Trace a thread that was started before, as long as its calls are wanted."""
    if PROFILES:
        PROFILES[-1](frame, event, argument)


def walk(title: str) -> str:
    """Return the text of a walk."""
    return re.split(r"\n##+ ", PAGE.split(f"\n### {title}\n")[1])[0]


def leaders(text: str) -> list[str]:
    """Return the module that each step of a walk begins with."""
    return re.findall(r"^\d+\. `(etalis[a-z_.]*)`", text, re.MULTILINE)


def check_walk(title: str, prepare: Callable[[], Walk]) -> None:
    """Check that a walk calls the modules that its steps name, in their order."""
    prepare()()  # what is done once, at the first use, is done
    before = traced(prepare)
    found = traced(prepare())
    text = walk(title)
    steps = leaders(text)
    assert len(steps) >= 3
    assert [step for step in steps if step not in found] == []
    assert sorted(steps, key=found.index) == steps
    named = MODULE.findall(text[text.index("\n1. ") :])
    assert [name for name in named if name not in found and name not in before] == []
