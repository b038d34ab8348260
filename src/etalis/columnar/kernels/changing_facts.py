"""Facts that come and go, by the groups that are asked for: which of them are known at the turn of each question.

Changes and questions come by their turns. What is known of a group is a list in the order in which it came to be known;
what is said twice is known once, and what goes and comes again comes last.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from etalis.columnar.kernels.jit import inner, kernel
from etalis.columnar.kernels.lists import Lists, insert, remove


class FactChanges(NamedTuple):
    """What changes: the `turn` of each change, its `fact` by number, and whether that is `known` from then on."""

    turn: Any
    fact: Any
    known: Any


class KnownFacts(NamedTuple):
    """Whether each fact is `known`, by number; its `group`, and of how many facts that are known each group has."""

    known: Any
    group: Any
    size: Any


@inner
def change(changes: FactChanges, x: Any, facts: KnownFacts, lists: Lists) -> None:
    """Make one change."""
    fact = changes.fact[x]
    if facts.known[fact] != changes.known[x]:
        facts.known[fact] = changes.known[x]
        group = facts.group[fact]
        if changes.known[x]:
            facts.size[group] += 1
            insert(lists, group, lists.ends[2 * group + 1], fact)
        else:
            facts.size[group] -= 1
            remove(lists, group, fact)


@kernel
def count_known(changes: FactChanges, turn: Any, group: Any, facts: KnownFacts, lists: Lists, counts: Any) -> None:
    """Count the facts of its group that are known at the turn of each question; -1 is a group without facts."""
    x = 0
    for q in range(len(turn)):
        while x < len(changes.turn) and changes.turn[x] <= turn[q]:
            change(changes, x, facts, lists)
            x += 1
        counts[q] = facts.size[group[q]] if group[q] >= 0 else 0


@kernel
def list_known(changes: FactChanges, turn: Any, group: Any, facts: KnownFacts, lists: Lists, found: Any) -> None:
    """List the facts of its group that are known at the turn of each question, one question after the other."""
    x = 0
    at = 0
    for q in range(len(turn)):
        while x < len(changes.turn) and changes.turn[x] <= turn[q]:
            change(changes, x, facts, lists)
            x += 1
        if group[q] >= 0:
            fact = lists.ends[2 * group[q]]
            while fact >= 0:
                found[at] = fact
                at += 1
                fact = lists.after[fact]


@kernel
def settle(changes: FactChanges, known: Any, since: Any) -> None:
    """Make all changes; note which facts are known then, and since which change."""
    for x in range(len(changes.fact)):
        fact = changes.fact[x]
        if known[fact] != changes.known[x]:
            known[fact] = changes.known[x]
            since[fact] = x
