"""A binary operator that notes what its policy did, and says of a pair why it was not made a match."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from etalis.semantics.matches import Instance, join, settled, tell
from etalis.semantics.operators import ModelJoin, together
from etalis.temporal.policy import Policy
from etalis.why.selecting.stays import (
    InstanceKey,
    NotedMatch,
    SelectionNotes,
    Stay,
    StayingList,
    consume,
    earlier_match,
    keep_newest,
)  # fmt: skip
from etalis.why.why_not import Withheld


def by_preference(policy: Policy, waiting: list[Stay]) -> Iterable[Stay]:
    """Return what waits, what a policy takes first at the front."""
    return reversed(waiting) if policy.select == "latest" else waiting


@dataclass(slots=True, eq=False)
class NotingJoin:
    """Does as the model's join does, over stores that are found by key; tests are asked no further than needed."""

    model: ModelJoin
    notes: SelectionNotes
    stores: tuple[StayingList, StayingList] = field(init=False)
    stays: tuple[dict[tuple[int, int], list[Stay]], ...] = field(default_factory=lambda: ({}, {}))
    matched: dict[tuple[Stay, Stay], NotedMatch] = field(default_factory=dict)  # pairs that a match was made of
    merged: dict[tuple[Stay, Stay], NotedMatch] = field(default_factory=dict)  # pairs that became one with others

    def __post_init__(self) -> None:
        self.stores = StayingList(self.model.key), StayingList(self.model.key)

    def receive(self, side: int, x: Instance) -> None:
        """Match an arriving instance with what waits on the other side, then consume, then store (definition 12.4)."""
        notes, policy = self.notes, self.model.policy
        step = notes.begin()
        stay = Stay(x, side, step, notes.seen())
        self.stays[side].setdefault(x.interval, []).append(stay)
        chosen = self._choose(stay)
        found: list[tuple[Instance, NotedMatch]] = []
        if policy.select == "together" and chosen:
            whole = together([pair for _, pair, _ in chosen], self.model.relation.sequential)
            match = NotedMatch(whole.start, whole.end)
            found = [(m, match) for m in self.model.tests.again(whole)]
            pairs = self.merged if len(chosen) > 1 or not found else self.matched
            pairs.update((self._ordered(stay, y), match) for y, _, _ in chosen)
            matches = [match] * len(chosen)
            chosen = chosen if found else []
        else:
            matches = [NotedMatch(pair.start, pair.end) for _, pair, _ in chosen]
            for (y, _, passed), match in zip(chosen, matches, strict=True):
                self.matched[self._ordered(stay, y)] = match
                found += [(m, match) for m in passed]
        if policy.consume:
            for (y, _, _), match in zip(chosen, matches, strict=False):
                consume(self.stores[1 - side], y.instance, step, match)
        is_new = self._store(stay, matches[0] if chosen else None)
        if self.model.alone is not None:
            self.model.alone.note(side, x, [y.instance for y, _, _ in chosen], is_new=is_new)
        for m, match in found:
            notes.climbing = match
            self.model.emit(m)
            notes.climbing = None

    def _choose(self, stay: Stay) -> list[tuple[Stay, Instance, list[Instance]]]:
        """Return what a policy takes of all that waits: each with the pair and what it passes the tests as."""
        policy = self.model.policy
        chosen = []
        for y in by_preference(policy, self._within(stay)):
            pair = self._pair(stay, y)
            passed = [] if pair is None else self.model.tests(pair)
            if pair is not None and passed:
                chosen.append((y, pair, passed))
                if policy.select in {"earliest", "latest"}:
                    break
        return chosen

    def _within(self, stay: Stay) -> list[Stay]:
        """Return what waits on the other side, without what ended too long ago for the window of a sequence."""
        group, window = self.stores[1 - stay.side].group(stay.instance), self.model.tests.window
        if window is None or stay.side == 0 or not self.model.relation.sequential:
            return list(group)
        return group[bisect_left(group, stay.instance.end - window, key=lambda y: y.instance.end) :]

    def _ordered(self, x: Stay, y: Stay) -> tuple[Stay, Stay]:
        return (x, y) if x.side == 0 else (y, x)

    def _pair(self, x: Stay, y: Stay) -> Instance | None:
        a, b = (stay.instance for stay in self._ordered(x, y))
        relation = self.model.relation
        if not relation.holds(a.interval, b.interval):
            return None
        bindings = join(a.bindings, b.bindings)
        if bindings is None:
            return None
        start, end = relation.interval(a.interval, b.interval)
        told = a.told(b.start if relation.sequential else None) | tell(b)
        first, last = (a.first, b.last) if relation.sequential else (end, start)
        if self.model.apart:
            first, last = a.end, b.start
        return Instance(start, end, bindings, first, last, a.parts | b.parts, settled(told))

    def _store(self, stay: Stay, match: NotedMatch | None) -> bool:
        """Let an instance wait as the policy says; tell whether it is one of its own (definition 13.16)."""
        policy, store = self.model.policy, self.stores[stay.side]
        if stay.side == 0 and self.model.relation.sequential:
            earlier = earlier_match(store.group(stay.instance), stay.instance)
            if earlier is not None:
                stay.leave(stay.came, "same", earlier)
                return False
        if policy.keep == "newest":
            keep_newest(store, stay, self.notes)
        elif policy.keep == "always" or match is None:
            store.put(stay)
        else:
            stay.leave(stay.came, "consumed", match)
        return True

    # what was

    def came(self, side: int, asked: InstanceKey) -> list[Stay]:
        """Return the instances that are asked for, as they came to a side."""
        known = self.stays[side].get((asked.start, asked.end), ())
        return [stay for stay in known if self.notes.is_meant(stay.instance, asked)]

    def withheld(self, left: InstanceKey, right: InstanceKey) -> Withheld | None:
        """Return why no match was made of two instances; None if one was, or no policy stood in the way."""
        pairs = [(a, b) for a in self.came(0, left) for b in self.came(1, right)]
        if any(pair in self.matched for pair in pairs):
            return None
        return next((found for a, b in pairs if (found := self._reason(a, b)) is not None), None)

    def _reason(self, a: Stay, b: Stay) -> Withheld | None:
        if (a, b) in self.merged:
            lost = a if a.came < b.came else b
            return Withheld("merged", self.notes.shown(lost.instance), (self.merged[a, b].shown(),))
        earlier, later = (a, b) if a.came < b.came else (b, a)
        pair = self._pair(later, earlier)
        if pair is None:
            return None
        while earlier.kind == "same" and isinstance(earlier.by, Stay):
            earlier = earlier.by
            if self._ordered(later, earlier) in self.matched:
                return None
        if not earlier.is_there(later.came):
            return self.notes.taken(earlier)
        with self.notes.under(later.view):
            if not self.model.tests(pair):
                return None
            before = [self.notes.shown(y.instance) for y in self._before(earlier, later)]
        return Withheld("not_chosen", self.notes.shown(earlier.instance), tuple(before)) if before else None

    def _before(self, lost: Stay, later: Stay) -> Iterator[Stay]:
        """Yield all candidates that went before one when another instance came, the first of them first."""
        store = self.stores[lost.side]
        waiting = [stay for stays in self.stays[lost.side].values() for stay in stays]
        there = [y for y in waiting if y.kind != "same" and y.is_there(later.came)]
        alike = [y for y in there if store.key_of(y.instance) == store.key_of(lost.instance)]
        ranked = sorted(alike, key=lambda y: (y.instance.end, y.instance.start, y.came))
        for y in by_preference(self.model.policy, ranked):
            if y is lost:
                return
            pair = self._pair(later, y)
            if pair is not None and self.model.tests(pair):
                yield y
