"""Levels and stages of planned rules: in which order it is known that something is missing (definition 9.29)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from etalis.language.outer.strata import (
    Judge,
    Levels,
    MadeAtom,
    join_level,
    join_stage,
    level_of,
    outline_atom,
    solve,
    stage_after,
)  # fmt: skip
from etalis.plan import algebra as p


def find_levels(heads: Iterable[p.Head], made: Mapping[MadeAtom, int]) -> Levels:
    """Return the levels of the outer joins of some rules, by the ids of their nodes; `made` is known beforehand."""
    several = list(heads)
    most = sum(isinstance(n, p.Join) and n.alone is not None for head in several for n in p.walk(head.body))
    most += max(made.values(), default=0)
    judges = [(outline_atom(head.event.name, head.event.args), _judge(head)) for head in several] if most else []
    return solve(judges, most, made)[0]


def find_stages(heads: Iterable[p.Head], made: Mapping[MadeAtom, int]) -> Levels:
    """Return the stages of what falls due of some rules, by the ids of its nodes; `made` is known beforehand."""
    several = list(heads)
    most = 2 * sum(map(_looks_back, (node for head in several for node in p.walk(head.body))))
    most += max(made.values(), default=0)
    judges = [(outline_atom(head.event.name, head.event.args), _judge_stage(head)) for head in several] if most else []
    return solve(judges, most, made)[0]


def _looks_back(node: p.Node) -> bool:
    return isinstance(node, p.Deadline) and node.before is not None


def _judge_stage(head: p.Head) -> Judge:
    def judge(made: Mapping[MadeAtom, int], stages: Levels) -> int:
        found: dict[int, int] = {}
        for node in reversed(list(p.walk(head.body))):
            parts = [found[id(part)] for part in p.children(node)]
            match node:
                case p.Deadline(absent=absent):
                    stage = stages[id(node)] = stage_after(found[id(absent)], looks_back=_looks_back(node))
                case p.Join(relation=relation, alone=alone):
                    stages[id(node)], stage = join_stage(relation, alone, (parts[0], parts[1]))
                case _:
                    stage = _level(node, parts, made)
            found[id(node)] = stage
        return 0 if head.alarm is not None and head.alarm.kind == "after" else found[id(head.body)]

    return judge


def _judge(head: p.Head) -> Judge:
    def judge(made: Mapping[MadeAtom, int], levels: Levels) -> int:
        found: dict[int, int] = {}
        for node in reversed(list(p.walk(head.body))):
            parts = [found[id(part)] for part in p.children(node)]
            found[id(node)] = _level(node, parts, made)
            if isinstance(node, p.Join) and node.alone is not None:
                levels[id(node)] = found[id(node)]
        return 0 if head.alarm is not None and head.alarm.kind == "after" else found[id(head.body)]

    return judge


def _level(node: p.Node, parts: list[int], made: Mapping[MadeAtom, int]) -> int:
    match node:
        case p.Source(name=name, args=args):
            return level_of(made, name, args)
        case p.Join(relation=relation, alone=alone):
            return join_level(relation, alone, (parts[0], parts[1]))
        case p.Repetition():
            return parts[-1]
        case p.Deadline():
            return 0
        case p.Tick() | p.SomeOf() | p.Union() | p.Filter() | p.Fold():
            return max(parts, default=0)
