"""How the tests of `check` ask for findings."""

from __future__ import annotations

from collections.abc import Mapping

from etalis.language.check.checks import check
from etalis.language.read.parser import parse_collect

ASIDE = frozenset({"W209", "W215"})  # what short programs have: no bound, and variables that occur once


def findings(text: str, *, also: str = "", files: Mapping[str, str] | None = None) -> list[str]:
    """Return what check says, one text per finding; those of `ASIDE` are left out unless asked for."""
    program, problems = parse_collect(text, "test")
    assert problems == []
    found = check(program, read=(files or {}).get)
    return [str(p) for p in found if p.code not in ASIDE or p.code == also]


def finding(text: str, *, also: str = "", files: Mapping[str, str] | None = None) -> str:
    """Return the only finding."""
    found = findings(text, also=also, files=files)
    assert len(found) == 1, found
    return found[0]


def brief(text: str, *, also: str = "") -> list[str]:
    """Return code and message of each finding."""
    program, problems = parse_collect(text, "test")
    assert problems == []
    return [f"{p.code} {p.message}" for p in check(program) if p.code not in ASIDE or p.code == also]
