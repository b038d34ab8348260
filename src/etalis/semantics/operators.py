"""The operators of definition sections 9 to 12, each a small machine that is handed instances and hands on matches.

Every operator keeps all that waits in plain lists, in order of arrival, and scans them; nothing is indexed, and nothing
is dropped but by the rules of consumption. Law: a stable sort of a store by (end, start) leaves arrival as the last
criterion of a candidate's rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, TypeAlias, assert_never

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
    join,
    match_all,
    pass_on,
    settled,
    tell,
    whole,
)  # fmt: skip
from etalis.temporal.event import Event
from etalis.temporal.policy import Policy
from etalis.temporal.relation import Known, Relation

# whether a match of a negated pattern that lies somewhere blocks a match
Blocks: TypeAlias = Callable[[Instance, Callable[[Instance], bool]], bool]


@dataclass(slots=True)
class Leaf:
    """An event pattern, waiting for events of its name."""

    pattern: s.EventPattern
    tests: Tests
    receive: Receiver

    def offer(self, event: Event, number: int, arrival: Sequence[int] = ()) -> None:
        """Take an event if it fits; the events of one arrival count as one."""
        if event.name != self.pattern.name or len(event.args) != len(self.pattern.args):
            return
        bindings = match_all(self.pattern.args, event.args, {})
        if bindings is not None:
            own, together = frozenset({number}), arrival or (number,)
            parts, single = frozenset(together), together[0]
            x = whole(event.start_time, event.end_time, bindings, parts, settled(own), single=single)
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
    """`A seq (not C within d)`: judged when d has passed, after all that ends then.

    One that looks back has no C in so much time before the end of A either.
    """

    world: World
    pattern: s.NotWithin
    blocks: Blocks
    tests: Tests
    emit: Receiver
    standing: Standing

    def receive(self, x: Instance) -> None:
        due, stage = x.end + self.pattern.duration, self.world.stages.get(id(self.pattern), 0)
        self.world.deadlines.append(
            ModelDeadline(due, (x.end, 0), lambda: self._stands(x, due), lambda: self._fire(x, due), stage)
        )

    def _stands(self, x: Instance, due: int) -> bool:
        return self.standing.stands and not self.blocks(x, lambda c: self._follows(c, x) and c.end <= due)

    def _follows(self, c: Instance, x: Instance) -> bool:
        before = self.pattern.before
        return x.end < c.start if before is None else x.end - before <= c.start

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

    ones = frozenset[int]().union(*(x.ones for x in matches))
    found = replace(matches[-1], start=start, end=end, parts=parts, told=told, holds=holds, ones=ones)
    return found if sequential else replace(found, first=end, last=start)


@dataclass(slots=True)
class ModelAlone:
    """The side of an outer operator that matches without a partner too (definition 9.21 to 9.30)."""

    world: World
    side: int
    known: Known
    window: int | None
    order: Callable[[], tuple[int, int]]  # its level and its stage
    emit: Receiver
    standing: Standing
    met: list[Instance] = field(default_factory=list)

    def note(self, side: int, x: Instance, partners: list[Instance], *, is_new: bool) -> None:
        """Note who took part in a match; have an instance without a partner judged when that can be known."""
        if partners:
            self.met += [x] if side == self.side else partners
        elif side == self.side and is_new:
            self._await(x)

    def _await(self, x: Instance) -> None:
        match self.known:
            case "at once":
                self._fire(x, x.end)
            case "after its stamp":
                self._set(x, x.end)
            case "in its window":
                assert self.window is not None
                self._set(x, x.start + self.window)
            case _:
                assert_never(self.known)

    def _set(self, x: Instance, due: int) -> None:
        level, stage = self.order()
        since = (x.end, 0) if level == 0 else (x.start, -level)
        self.world.deadlines.append(
            ModelDeadline(due, since, lambda: self._stands(x), lambda: self._fire(x, due), stage)
        )

    def _stands(self, x: Instance) -> bool:
        return self.standing.stands and not any(x is y for y in self.met)

    def _fire(self, x: Instance, end: int) -> None:
        self.emit(whole(x.start, end, x.bindings, x.parts, settled(tell(x))))


@dataclass(slots=True)
class ModelJoin:
    """A binary operator with a store of waiting instances on each side."""

    world: World
    relation: Relation
    policy: Policy
    key: Names
    tests: Tests
    emit: Receiver
    alone: ModelAlone | None = None
    apart: bool = False
    chosen: int = 0
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
        is_new = self._store(side, x, matched=bool(chosen))
        if self.alone is not None:
            self.alone.note(side, x, [y for y, _, _ in chosen], is_new=is_new)
        pass_on(matches, self.emit)

    def _pair(self, a: Instance, b: Instance) -> Instance | None:
        bindings = join(a.bindings, b.bindings)
        if bindings is None or not self.relation.holds(a.interval, b.interval):
            return None
        start, end = self.relation.interval(a.interval, b.interval)
        ones = a.ones if self.chosen > 2 else a.one
        if self.chosen and ones & b.one:
            return None
        told = a.told(b.start if self.relation.sequential else None) | tell(b)
        pair = whole(start, end, bindings, a.parts | b.parts, settled(told), ones=ones | b.one)
        if not self.relation.sequential:
            return pair
        return replace(pair, first=a.end, last=b.start) if self.apart else replace(pair, first=a.first, last=b.last)

    def _store(self, side: int, x: Instance, *, matched: bool) -> bool:
        """Let an instance wait as the policy says; tell whether it is one of its own (definition 13.16)."""
        store = self.stores[side]
        if side == 0 and self.relation.sequential and repeats(store, x):
            return False
        if self.policy.keep == "newest":
            keep_newest(store, x, self.key, self.world)
        elif self.policy.keep == "always" or not matched:
            store.append(x)
        return True


@dataclass(slots=True)
class ModelAnyOf:
    """`any` where the newest are kept: of each constituent, those that wait, in order of arrival (definition 12.23)."""

    world: World
    count: int
    keys: tuple[Names, ...]
    tests: Tests
    emit: Receiver
    stores: tuple[list[Instance], ...]
    waiting: list[Instance] = field(default_factory=list)  # of all constituents

    def receive(self, place: int, x: Instance) -> None:
        """Match an arriving instance with the latest of others, then store it."""
        kept = {id(y): other for other, store in enumerate(self.stores) for y in store}
        self.waiting = [y for y in self.waiting if id(y) in kept]
        others = [(kept[id(y)], y) for y in sorted(self.waiting, key=rank, reverse=True) if kept[id(y)] != place]
        matches = next((found for found in self._choices({place: x}, _stable(others)) if found), [])
        before = len(self.stores[place])
        keep_newest(self.stores[place], x, self.keys[place], self.world)
        self.waiting += self.stores[place][before:]
        pass_on(matches, self.emit)

    def _choices(self, taken: dict[int, Instance], rest: list[tuple[int, Instance]]) -> Iterator[list[Instance]]:
        """Yield what each choice matches as, the one with the latest instances first."""
        if len(taken) == self.count:
            yield self.tests(_choice([taken[place] for place in sorted(taken)]))
            return
        for at, (place, y) in enumerate(rest):
            if place not in taken and all(_go_together(x, y) for x in taken.values()):
                yield from self._choices(taken | {place: y}, rest[at + 1 :])


def _stable(latest_first: list[tuple[int, Instance]]) -> list[tuple[int, Instance]]:
    """Return the same with those that arrived last first, among equal ranks."""
    found: list[tuple[int, Instance]] = []
    for _, alike in groupby(latest_first, key=lambda other: rank(other[1])):
        found += reversed(list(alike))
    return found


def _go_together(x: Instance, y: Instance) -> bool:
    """Tell whether two instances agree, and are not one event."""
    return not x.one & y.one and join(x.bindings, y.bindings) is not None


def _choice(chosen: list[Instance]) -> Instance:
    """Return one match of several instances that agree."""
    bindings: Bindings = {}
    for x in chosen:
        bindings = bindings | x.bindings
    parts = frozenset[int]().union(*(x.parts for x in chosen))
    start, end = min(x.start for x in chosen), max(x.end for x in chosen)
    return whole(start, end, bindings, parts, settled(tell(*chosen)))
