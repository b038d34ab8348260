"""Which of many leaves of one kind an event is offered to: an index over rules, by the constants of their patterns.

Rules that differ in a constant, such as `alert1(P) <- tick('S1', P)`, cost an event a look-up each time, however many
they are. Law: an event is offered to leaves in their order, and those that are passed over ask for another constant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.plan import algebra as p
from etalis.runtime.codegen.network import Wired
from etalis.runtime.reporting.evidence import Mark
from etalis.runtime.state import Raw

Take = Callable[[Raw], None]

FEW = 8  # leaves with a constant at one place are asked one after the other


class Offer(NamedTuple):
    """What takes an event for one leaf, and the place of the leaf in the order of all."""

    number: int
    leaf: Wired
    take: Take


_in_order = attrgetter("number")


class Takers(dict[Value, tuple[Take, ...]]):
    """What takes an event with a value at the indexed place; made when a value comes for the first time."""

    def __init__(self, own: Mapping[Value, list[Offer]]) -> None:
        super().__init__()
        self._own = own
        self._open: list[Offer] = []
        self._all_open: tuple[Take, ...] = ()

    def __missing__(self, value: Value) -> tuple[Take, ...]:
        own = self._own.get(value)
        if own is None:
            return self._all_open
        several = sorted((*own, *self._open), key=_in_order) if self._open else own
        found = self[value] = tuple(offer.take for offer in several)
        return found

    def begin_anew(self, open_to_all: list[Offer]) -> None:
        """Forget what was made, since other leaves ask for no constant now."""
        self.clear()
        self._open = open_to_all
        self._all_open = tuple(offer.take for offer in open_to_all)


class ConstantIndex:
    """The leaves of one kind of event by their constants; those without one are offered every event.

    `takers` are of the leaves that ask for none, `only` is the one place that is indexed, with what takes its values.
    """

    def __init__(self, mark: Mark) -> None:
        self.mark = mark
        self._offers: dict[int, Offer] = {}
        self._last = 0
        self._build()

    def build(self, several: Iterable[tuple[Wired, Take]]) -> None:
        """Offer events to leaves in this order."""
        for self._last, (leaf, take) in enumerate(several):
            self._offers[id(leaf)] = Offer(self._last, leaf, take)
        self._build()

    def _build(self) -> None:
        self.tables: dict[int, dict[Value, list[Offer]]] = {}
        self._takers: dict[int, Takers] = {}
        self._places: dict[int, int] = {}
        left = list(self._offers.values())
        while left:
            asked = Counter(place for offer in left for place in constants(offer.leaf))
            place, number = max(asked.items(), key=lambda item: (item[1], -item[0]), default=(0, 0))
            if number < FEW:
                break
            table = self.tables[place] = {}
            for offer in left:
                if place in (known := constants(offer.leaf)):
                    table.setdefault(known[place], []).append(offer)
                    self._places[id(offer.leaf)] = place
            left = [offer for offer in left if id(offer.leaf) not in self._places]
        self._open = left
        self._takers = {place: Takers(table) for place, table in self.tables.items()}
        self.only = next(iter(self._takers.items())) if len(self._takers) == 1 else None
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.takers = tuple(offer.take for offer in self._open)
        for takers in self._takers.values():
            takers.begin_anew(self._open)

    @property
    def leaves(self) -> list[Wired]:
        """The leaves in their order."""
        return [offer.leaf for offer in self._offers.values()]

    def add(self, leaf: Wired, take: Take) -> None:
        """Offer events to one more leaf, after all others."""
        self._last += 1
        offer = self._offers[id(leaf)] = Offer(self._last, leaf, take)
        known = constants(leaf)
        place = next((place for place in self.tables if place in known), None)
        if place is not None:
            self._places[id(leaf)] = place
            self.tables[place].setdefault(known[place], []).append(offer)
            self._takers[place].pop(known[place], None)
        elif known and len(self._open) >= FEW:
            self._build()
        else:
            self._open.append(offer)
            self._begin_anew()

    def remove(self, leaf: Wired) -> None:
        """Offer events to a leaf no more."""
        offer = self._offers.pop(id(leaf))
        place = self._places.pop(id(leaf), None)
        if place is None:
            self._open.remove(offer)
            self._begin_anew()
            return
        value = constants(leaf)[place]
        group = self.tables[place][value]
        group.remove(offer)
        if not group:
            del self.tables[place][value]
        self._takers[place].pop(value, None)

    def offer(self, raw: Raw) -> None:
        """Offer an event to the leaves that ask for no other constants than it has."""
        self.mark.seen = True
        if self.only is not None:
            place, takers = self.only
            for take in takers[raw[3 + place]]:
                take(raw)
            return
        if not self.tables:
            for take in self.takers:
                take(raw)
            return
        found = list(self._open)
        for place, table in self.tables.items():
            found += table.get(raw[3 + place], ())
        found.sort(key=_in_order)
        for offer in found:
            offer.take(raw)


def constants(leaf: Wired) -> dict[int, Any]:
    """Return the constants that the attributes of an event must equal, by their places."""
    assert isinstance(leaf.node, p.Source)
    return {place: term.value for place, term in enumerate(leaf.node.args) if isinstance(term, s.Const)}
