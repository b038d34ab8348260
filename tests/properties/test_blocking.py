"""A negation is said to block always (W230) just where no small stream has a match, by the executable meaning."""

from __future__ import annotations

from itertools import product

import pytest

from etalis.language.check.checks import check
from etalis.language.read.parser import parse
from etalis.semantics import steps as semantics
from etalis.temporal.event import Event

SHAPES = (
    "{0} seq {1}",
    "{0} seq {1} seq {2}",
    "{0} seq ({1} seq {2})",
    "{0} seq ({1} or {2}) seq {0}",
    "({0} and {1}) seq {2}",
    "{0} seq ({1} and {2}) seq {0}",
    "{0} and {1}",
    "({0} seq {1}) or ({2} seq {0})",
    "({0} seq {1} seq {0}) or ({0} seq {2} seq {1})",
    "{0} ntimes 2",
    "{0} ntimes 3",
    "{0} seq {1} ntimes 2",
    "{0} seq {1} star_times seq {2}",
    "({0} ntimes 2) seq {1}",
    "{0} during ({1} seq {2})",
    "{0} starts ({1} seq {2})",
    "({0} seq {1}) meets {2}",
)
PATTERNS = sorted({shape.format("a", *others) for shape in SHAPES for others in product("ab", repeat=2)})
STREAMS = [
    [Event.make(name, (), time, time) for time, names in enumerate(moments) for name in names]
    for moments in product(("a", "b", "ab"), repeat=4)
]


def has_match(text: str) -> bool:
    program = parse(text)
    return any(semantics.run(program, stream, policy="unrestricted") for stream in STREAMS)


@pytest.mark.parametrize("operator", ["cnot", "fnot"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_blocked_just_where_nothing_matches(pattern: str, operator: str) -> None:
    for absent in ("a", "b", "(a or b)"):
        text = f"d <- ({pattern}) {operator} {absent}."
        blocked = any(problem.code == "W230" for problem in check(parse(text)))
        assert blocked == (not has_match(text)), text
