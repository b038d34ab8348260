"""The rows that matches are made of: every positive leaf of a plan has a column with the number of its row.

Rows are numbered from 1, and 0 stands for none. The columns are bookkeeping beside the variables: joins pair them,
filters and unions hand them on, nothing compares them. Law: a match has the rows that an engine tells of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, assert_never

import numpy as np

from etalis.columnar.data.columns import Integers
from etalis.plan import algebra as p

Kind: TypeAlias = tuple[str, int]
ROW = "$row"
MOST_LEAVES = 64


def is_row(name: str) -> bool:
    """Tell whether a column has numbers of rows."""
    return name.startswith(ROW)


def find_untold(head: p.Head) -> Iterator[str]:
    """Yield what keeps the rows of a rule's matches from columns: a number of them that is open."""
    for node in _positive(head.body):
        match node:
            case p.Repetition():
                yield "its contributors are told, and a repetition has any number of them"
            case p.Fold():
                yield "its contributors are told, and an aggregate has any number of them"
            case p.Join(policy=policy) if policy.select == "together":
                yield f"its contributors are told, and {policy.name} puts any number of them together"
            case p.SomeOf():
                yield "its contributors are told, and `any` that keeps the newest chooses among them"
            case p.Source() | p.Tick() | p.Join() | p.Union() | p.Filter() | p.Deadline():
                pass
            case _:
                assert_never(node)


def _positive(node: p.Node) -> Iterator[p.Node]:
    waiting = [node]
    while waiting:
        top = waiting.pop()
        yield top
        waiting += p.children(top)


def count_leaves(groups: Sequence[Sequence[p.Head]]) -> dict[Kind, int]:
    """Return how many rows an event of each kind may be made of, of rules by the kinds they make, makers first."""
    found: dict[Kind, int] = {}
    for group in groups:
        most = max(_width(head.body, found) for head in group)
        found[group[0].kind] = max(1, most)
    return found


def _width(body: p.Node, widths: Mapping[Kind, int]) -> int:
    known: dict[int, int] = {}
    for node in reversed(list(_positive(body))):  # parents come first
        below = [known[id(child)] for child in p.children(node)]
        match node:
            case p.Source(name=name, args=args):
                known[id(node)] = widths.get((name, len(args)), 1)
            case p.Union():
                known[id(node)] = max(below)
            case _:
                known[id(node)] = min(sum(below), MOST_LEAVES + 1)
    return known[id(body)]


def number_rows(head: p.Head, widths: Mapping[Kind, int]) -> p.Head:
    """Return a rule whose parts export the numbers of their rows, from left to right."""
    return replace(head, body=_numbered(head.body, 0, widths)[0])


def _numbered(node: p.Node, low: int, widths: Mapping[Kind, int]) -> tuple[Any, int]:
    """Return a node whose leaves are numbered from `low` on, and where the next one begins."""
    changes: dict[str, Any] = {}
    high = low
    match node:
        case p.Source(name=name, args=args):
            high = low + widths.get((name, len(args)), 1)
        case p.Join(left=left, right=right):
            changes["left"], middle = _numbered(left, low, widths)
            changes["right"], high = _numbered(right, middle, widths)
        case p.Union(branches=branches):
            several = [_numbered(branch, low, widths) for branch in branches]
            changes["branches"], high = tuple(branch for branch, _ in several), max(end for _, end in several)
        case p.Filter(child=child):
            changes["child"], high = _numbered(child, low, widths)
        case p.Deadline(left=left):
            changes["left"], high = _numbered(left, low, widths)
        case p.Tick() | p.SomeOf() | p.Repetition() | p.Fold():
            pass
        case _:
            assert_never(node)
    rows = (f"{ROW}{place}" for place in range(low, high))
    return replace(node, **changes, exports=(*node.exports, *rows)), high


def alike(before: Sequence[p.Head], after: Sequence[p.Head]) -> dict[p.Node, p.Node]:
    """Return which node of some rules each node of the same rules stands for, where only exports differ."""
    found: dict[p.Node, p.Node] = {}
    for old, new in zip(before, after, strict=True):
        found.update(zip(p.walk(new.body), p.walk(old.body), strict=False))
    return found


def padded(numbers: Sequence[Integers], width: int, count: int) -> list[Integers]:
    """Return columns of numbers, and as many of none as are missing."""
    none = np.zeros(count, np.int64)
    return [*numbers[:width], *[none] * (width - len(numbers))]
