"""Load shedding: drops the instances that have waited longest, where an engine has more than it may.

Law: what is dropped makes nothing come about that would not have come about otherwise, as far as policies choose
nothing. So what an absence, a repetition, an aggregate or an outer join looks at stays, and so does all that it is
made of.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from etalis.plan import algebra as p
from etalis.runtime.codegen.network import Wired
from etalis.runtime.deadlines.waiter import Waiter
from etalis.runtime.operators.aggregate import Folder
from etalis.runtime.operators.base import Shelf
from etalis.runtime.operators.repetition.repeater import Repeater
from etalis.runtime.operators.store import Newest, leave, members
from etalis.runtime.reporting.inspection import labels_of
from etalis.runtime.state import BEGINNING

if TYPE_CHECKING:
    from etalis.runtime.ruleset import RuleSet

Kind = tuple[str, int]
Shed = Iterator[tuple[tuple[str, ...], int]]


class Quota:
    """What is to go: all that ended before a moment, and some of what ended at it."""

    def __init__(self, ends: list[int], wanted: int) -> None:
        ends.sort()
        last = min(wanted, len(ends)) - 1
        self.limit = ends[last] if last >= 0 else BEGINNING
        self.at_limit = last + 1 - bisect_left(ends, self.limit)
        self.taken = 0

    def takes(self, end: int) -> bool:
        """Tell whether one with this end goes, and count it."""
        if end == self.limit and self.at_limit > 0:
            self.at_limit -= 1
        elif end >= self.limit:
            return False
        self.taken += 1
        return True


def shed_oldest(rules: RuleSet, wanted: int) -> Shed:
    """Drop up to so many of what has waited longest; yield how many went, with the labels of their rules."""
    stores = [
        (labels_of(entry), (entry.key, name))
        for entry in expendable(rules)
        for name in (*(f"side{place}" for place in range(max(2, len(entry.inputs)))), "operator")
        if (entry.key, name) in rules.memory
    ]
    ends = [end for _, key in stores for end in _ends(rules.memory[key], rules)]
    quota = Quota(ends, wanted)
    for labels, key in stores:
        number = _drop(rules.memory[key], rules, quota)
        if number:
            _shorten(rules.memory.get((key[0], key[1].replace("side", "fifo"))), quota.limit)
            yield labels, number


def _shorten(fifo: Any, limit: int) -> None:
    """Forget in a queue what has been dropped from its store."""
    while isinstance(fifo, deque) and fifo and fifo[0][0] < limit:
        fifo.popleft()


def expendable(rules: RuleSet) -> list[Wired]:
    """Return the operators whose instances may be lost."""
    entries = rules.wiring.entries
    if any(isinstance(test, p.Alone) for entry in entries for test in p.tests(entry.node)):
        return []
    looked_at: set[Kind] = set()
    while True:
        firm = {id(entry) for entry in entries if _is_looked_at(entry, looked_at)}
        sources = [entry.node for entry in entries if id(entry) in firm and isinstance(entry.node, p.Source)]
        more = {(node.name, len(node.args)) for node in sources} - looked_at
        if not more:
            return [entry for entry in entries if id(entry) not in firm]
        looked_at |= more


def _is_looked_at(entry: Wired, kinds: set[Kind]) -> bool:
    """Tell whether anything that reads an entry's matches, however far, asks for more than that there is one."""
    waiting = [entry]
    while waiting:
        one = waiting.pop()
        if isinstance(one.node, p.Join) and one.node.alone is not None:
            return True
        for reader in one.readers:
            match reader.kind, reader.target:
                case "negated", _:
                    return True
                case "head", rule:
                    event = rule.head.event
                    if (event.name, len(event.args)) in kinds:
                        return True
                case _, target:
                    inputs = p.children(target.node)
                    if isinstance(target.node, p.Repetition | p.Fold) and reader.place == len(inputs) - 1:
                        return True
                    waiting.append(target)
    return False


def _ends(part: Any, rules: RuleSet) -> Iterator[int]:
    """Yield the ends of all that a part of the state may lose."""
    match part:
        case dict():
            yield from (x[-1] for group in part.values() for x in _group(group))
        case Repeater(lefts=shelf) | Folder(openers=shelf):
            yield from (x.end for group in shelf.groups.values() for x in group)
        case Waiter():
            yield from (timer[4][-1] for timer in rules.state.timers if timer[3] is part)


def _group(group: Any) -> Any:
    return group.items[-1:] if isinstance(group, Newest) else members(group)


def _drop(part: Any, rules: RuleSet, quota: Quota) -> int:
    """Drop what a quota takes; return how many went."""
    before = quota.taken
    match part:
        case dict():
            for key, group in list(part.items()):
                rest = [x for x in _group(group) if not quota.takes(x[-1])]
                if isinstance(group, Newest):
                    if not rest:
                        del part[key]
                elif len(rest) < len(members(group)):
                    leave(part, key, rest)
        case Repeater(lefts=shelf) | Folder(openers=shelf):
            _drop_shelved(shelf, quota)
        case Waiter():
            timers = rules.state.timers
            timers.replace([t for t in timers if t[3] is not part or not quota.takes(t[4][-1])])
    return quota.taken - before


def _drop_shelved(shelf: Shelf[Any], quota: Quota) -> None:
    for key, group in list(shelf.groups.items()):
        shelf.keep_only(key, [x for x in group if not quota.takes(x.end)])
    _shorten(shelf.fifo, quota.limit)
