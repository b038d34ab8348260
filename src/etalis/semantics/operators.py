"""The operators of definition sections 9 to 12, each a small machine that is handed instances and hands on matches.

Every operator keeps all that waits in plain lists, in order of arrival, and scans them; nothing is indexed, and nothing
is dropped but by the rules of consumption. Law: a stable sort of a store by (end, start) leaves arrival as the last
criterion of a candidate's rank.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from etalis.language import syntax as s
from etalis.semantics.matches import (
    Bindings,
    Instance,
    ModelDeadline,
    Names,
    Numbers,
    Receiver,
    Standing,
    Tests,
    World,
    agree,
    join,
    match_all,
    pass_on,
    settled,
    tell,
    whole,
)  # fmt: skip
from etalis.temporal.event import Event
from etalis.temporal.policy import Policy
from etalis.temporal.relation import Relation


@dataclass(slots=True)
class Leaf:
    """An event pattern, waiting for events of its name."""

    pattern: s.EventPattern
    tests: Tests
    receive: Receiver

    def offer(self, event: Event, number: int) -> None:
        """Take an event if it fits."""
        if event.name != self.pattern.name or len(event.args) != len(self.pattern.args):
            return
        bindings = match_all(self.pattern.args, event.args, {})
        if bindings is not None:
            own = frozenset({number})
            x = whole(event.start_time, event.end_time, bindings, own, settled(own), single=number)
            pass_on(self.tests(x), self.receive)


@dataclass(slots=True)
class ModelUnion:
    """`or`: an event that matches several alternatives with equal bindings is one match (definition 9.14, 9.15)."""

    visible: Names
    tests: Tests
    emit: Receiver
    number: int | None = None
    seen: list[Bindings] = field(default_factory=list)

    def receive(self, x: Instance) -> None:
        if x.single is not None:
            if x.single != self.number:
                self.number, self.seen = x.single, []
            seen = restrict(x, self.visible).bindings
            if seen in self.seen:
                return
            self.seen.append(seen)
        pass_on(self.tests(replace(x, first=x.end, last=x.start)), self.emit)


@dataclass(slots=True)
class Absence:
    """`A seq (not C within d)`: judged when d has passed, after all that ends then."""

    world: World
    duration: int
    absent: list[Instance]
    tests: Tests
    emit: Receiver
    standing: Standing

    def receive(self, x: Instance) -> None:
        due = x.end + self.duration
        self.world.deadlines.append(ModelDeadline(due, x.end, lambda: self._stands(x, due), lambda: self._fire(x, due)))

    def _stands(self, x: Instance, due: int) -> bool:
        blocked = any(x.end < c.start and c.end <= due and agree(c.bindings, x.bindings) for c in self.absent)
        return self.standing.stands and not blocked

    def _fire(self, x: Instance, due: int) -> None:
        pass_on(self.tests(whole(x.start, due, x.bindings, x.parts, settled(tell(x)))), self.emit)


def restrict(x: Instance, shared: Names) -> Instance:
    """Return an instance with only those of its variables."""
    return replace(x, bindings={v: value for v, value in x.bindings.items() if v in shared})


def rank(x: Any) -> tuple[int, int]:
    """Return the rank of a candidate; a stable sort of a store adds arrival."""
    return x.end, x.start


def select(policy: Policy, candidates: list[Any]) -> list[Any]:
    """Return the candidates that a policy matches, of all in the order of their rank."""
    match policy.select:
        case "earliest":
            return candidates[:1]
        case "latest":
            return candidates[-1:]
        case "all" | "together":
            return candidates
        case _:
            assert_never(policy.select)


def consume(store: list[Any], x: Any) -> None:
    """Take an instance out of its store and, if it is a repetition's match, what it was counted after."""
    if any(x is y for y in store):
        store[:] = [y for y in store if y is not x]
        for held_in, held in x.holds:
            consume(held_in, held)


def keep_newest(store: list[Instance], x: Instance, key: Names, world: World) -> None:
    """Store an instance in place of older ones of its join key, unless a newer one is there (definition 12.12).

    They leave when the event that brought it has been offered to all leaves (definition 12.14).
    """
    alike = [y for y in store if all(y.bindings[v] == x.bindings[v] for v in key)]
    if not any(rank(y) > rank(x) for y in alike):
        world.leaving += [(store, y) for y in alike]
        store.append(x)


def repeats(store: list[Instance], x: Instance) -> bool:
    """Tell whether an earlier match of the same repetition with equal bindings waits already (definition 13.16)."""
    return x.origin is not None and any(y.origin is x.origin and y.bindings == x.bindings for y in store)


def together(matches: list[Instance], sequential: bool) -> Instance:
    """Return one match in place of several, on the common hull, the rest from the latest."""
    start, end = min(x.start for x in matches), max(x.end for x in matches)
    parts = frozenset[int]().union(*(x.parts for x in matches))
    holds = tuple(held for x in matches for held in x.holds)

    def told(before: int | None) -> Numbers:
        return frozenset[int]().union(*(x.told(before) for x in matches))

    found = replace(matches[-1], start=start, end=end, parts=parts, told=told, holds=holds)
    return found if sequential else replace(found, first=end, last=start)


@dataclass(slots=True)
class ModelJoin:
    """A binary operator with a store of waiting instances on each side."""

    world: World
    relation: Relation
    policy: Policy
    key: Names
    tests: Tests
    emit: Receiver
    stores: tuple[list[Instance], list[Instance]] = field(default_factory=lambda: ([], []))

    def receive(self, side: int, x: Instance) -> None:
        """Match an arriving instance with what waits on the other side, then consume, then store (definition 12.4)."""
        other = self.stores[1 - side]
        pairs = [(y, self._pair(x, y) if side == 0 else self._pair(y, x)) for y in sorted(other, key=rank)]
        candidates = [(y, pair, self.tests(pair)) for y, pair in pairs if pair is not None]
        chosen = select(self.policy, [c for c in candidates if c[2]])
        matches = [m for _, _, passed in chosen for m in passed]
        if self.policy.select == "together" and chosen:
            matches = self.tests.again(together([pair for _, pair, _ in chosen], self.relation.sequential))
            chosen = chosen if matches else []
        for y, _, _ in chosen:
            if self.policy.consume:
                consume(other, y)
        self._store(side, x, matched=bool(chosen))
        pass_on(matches, self.emit)

    def _pair(self, a: Instance, b: Instance) -> Instance | None:
        bindings = join(a.bindings, b.bindings)
        if bindings is None or not self.relation.holds(a.interval, b.interval):
            return None
        start, end = self.relation.interval(a.interval, b.interval)
        told = a.told(b.start if self.relation.sequential else None) | tell(b)
        pair = whole(start, end, bindings, a.parts | b.parts, settled(told))
        return replace(pair, first=a.first, last=b.last) if self.relation.sequential else pair

    def _store(self, side: int, x: Instance, *, matched: bool) -> None:
        store = self.stores[side]
        if side == 0 and self.relation.sequential and repeats(store, x):
            return
        if self.policy.keep == "newest":
            keep_newest(store, x, self.key, self.world)
        elif self.policy.keep == "always" or not matched:
            store.append(x)
