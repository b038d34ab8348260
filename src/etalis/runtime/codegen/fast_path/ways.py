"""The ways from an event to rules that it may end: which are in one text, and which make one match at most."""

from __future__ import annotations

from collections.abc import Sequence

from etalis.plan import algebra as p
from etalis.runtime.codegen.compile import Compiler
from etalis.runtime.codegen.network import PlannedRule, Wired


def ways(compiler: Compiler, entry: Wired, *, is_one: bool = True) -> list[tuple[PlannedRule, bool]]:
    """Return the rules that matches of an entry end at once, in the same text, and whether they make one match at most.

    Each way is told once; rules that are made together are left out.
    """
    found: list[tuple[PlannedRule, bool]] = []
    heads = [reader.target for reader in entry.readers if reader.kind == "head"]
    found += [(rule, is_one) for rule in heads if len(heads) == 1]
    for reader in entry.readers:
        if reader.kind != "input" or not _is_in_line(reader.target, reader.place):
            continue
        if not (isinstance(reader.target.node, p.Join) and not compiler.stores.probes(reader.target, reader.place)):
            found += ways(compiler, reader.target, is_one=is_one and _makes_one(reader.target))
    return found


def _is_in_line(target: Wired, place: int) -> bool:
    """Tell whether an operator is written where a match of one of its inputs is handed on."""
    match target.node:
        case p.Join(alone=None) | p.Filter() | p.Union():
            return True
        case p.Fold(opener=None):
            return place == len(target.inputs) - 1
    return False


def _makes_one(target: Wired) -> bool:
    """Tell whether an operator that is written in line makes one match at most of a match of one of its inputs."""
    match target.node:
        case p.Join(policy=policy) if policy.select not in ("earliest", "latest"):
            return False
    return not multiplies(p.tests(target.node))


def multiplies(tests: Sequence[p.Test]) -> bool:
    """Tell whether a match becomes several by one of some tests."""
    return any(isinstance(t, p.GoalTest) and t.kind == "event_multiply" for t in tests)
