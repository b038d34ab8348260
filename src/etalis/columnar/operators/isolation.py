"""Isolation over columns: where the parts of a match lie outside its gap, it is the absence of every event there.

Law: an event that a rule makes covers one of those it is made of. So if it lies in a gap, one of them does, and it need
not be looked at; only alarms and time points come of themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from etalis.language.syntax import Var
from etalis.plan import algebra as p

Kind: TypeAlias = tuple[str, int]


def isolate(heads: Sequence[p.Head], received: Collection[Kind], learned: Collection[Kind] = ()) -> tuple[p.Head, ...]:
    """Return rules in which isolation is the absence of all that they know, where that comes to the same.

    Events that change facts are known: `learned`.
    """
    known = {*learned, *(head.kind for head in heads)} | {kind for head in heads for kind in p.read_kinds(head.body)}
    kinds = (known & set(received)) | {head.kind for head in heads if _comes_by_itself(head)}
    sources = tuple(p.Source(n, tuple(Var(f"_#{i}") for i in range(arity)), ()) for n, arity in sorted(kinds))
    if not sources:
        return tuple(heads)
    other = sources[0] if len(sources) == 1 else p.Union(sources, ())
    return tuple(replace(head, body=_isolated(head.body, other)) if _is_simple(head) else head for head in heads)


def _comes_by_itself(head: p.Head) -> bool:
    return head.alarm is not None or any(isinstance(node, p.Tick) for node in p.walk(head.body))


def _is_simple(head: p.Head) -> bool:
    """Tell whether a rule isolates something, and all that without a part in the gap: two in sequence, or one event."""
    isolating = [node for node in p.walk(head.body) if any(isinstance(test, p.Alone) for test in p.tests(node))]
    return bool(isolating) and all(map(_has_parts_outside, isolating))


def _has_parts_outside(node: p.Node) -> bool:
    """Tell whether no part of a match can lie in its gap; elements that follow what was counted may."""
    if any(isinstance(part, p.Repetition | p.Fold) for part in p.walk(node)):
        return False
    match node:
        case p.Join(left=left, right=right, relation=relation):
            return relation.sequential and "$first" not in left.exports and "$last" not in right.exports
        case p.Filter(child=p.Source()):
            return True
        case _:
            return False


def _isolated(node: Any, other: p.Node) -> Any:
    """Return a node that asks for the absence of others instead of isolation, and of its parts no longer."""
    changes: dict[str, Any] = {"exports": tuple(v for v in node.exports if v != "$ids")}
    for name in ("left", "right", "child", "element", "opener", "absent"):
        if getattr(node, name, None) is not None:
            changes[name] = _isolated(getattr(node, name), other)
    if isinstance(node, p.Union):
        changes["branches"] = tuple(_isolated(branch, other) for branch in node.branches)
    if p.tests(node):
        changes["tests"] = tuple(_asked(test, other) for test in p.tests(node))
    return replace(node, **changes)


def _asked(test: p.Test, other: p.Node) -> p.Test:
    match test:
        case p.Alone(kind=kind):
            return p.Absent(kind, other, ())
        case p.Absent(node=node):
            return replace(test, node=_isolated(node, other))
        case _:
            return test
