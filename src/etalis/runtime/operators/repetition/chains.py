"""Chains of elements of a repetition: which lengths end at an element, and which chain is told (definition 13.6, 23.6).

The elements of a group are one list that grows, (start, end, rope) each; it is kept where contributing inputs are
asked for. A chain is then known by the places of its elements there: each link has the place of one, and the link
before it. Most chains are a stretch of the list.
"""

from __future__ import annotations

from etalis.temporal.interval import LATEST
from etalis.temporal.rope import Rope

Limits = tuple[int, int | None]
Lengths = dict[int, int]  # length of a chain -> earliest start of its first element
ChainEnd = tuple[int, int, Lengths]  # an element, and what chains end at it
Slice = tuple[list[tuple[int, int, Rope]], int, int]  # some elements, from a place up to another


class RunLink:
    """A chain up to the element at `place`; `first` is the place of its first one if it is a stretch of the list."""

    __slots__ = ("before", "first", "place", "start")

    def __init__(self, place: int, start: int, before: RunLink | None = None) -> None:
        self.place = place
        self.before = before
        self.start: int = start if before is None else before.start
        self.first: int | None = place
        if before is not None:
            self.first = before.first if before.place == place - 1 else None

    def places(self) -> list[int]:
        """Return the places of all its elements, the first one first."""
        found = []
        link: RunLink | None = self
        while link is not None:
            found.append(link.place)
            link = link.before
        return found[::-1]


Links = dict[int, RunLink]  # length of a chain -> the chain that is told


class RunLog:
    """The elements of one left side or run, the earliest start among them, and the chains that end at each."""

    __slots__ = ("earliest", "elements", "links")

    def __init__(self) -> None:
        self.elements: list[tuple[int, int, Rope]] = []
        self.earliest = LATEST
        self.links: list[Links] = []

    def add(self, start: int, end: int, rope: Rope) -> None:
        """Note an element."""
        self.elements.append((start, end, rope))
        if start < self.earliest:
            self.earliest = start

    def state(self) -> tuple[list[tuple[int, int, Rope]], list[dict[int, int]]]:
        """Return it as plain data, but for the ropes: of each chain the place of the last element but one."""
        before = [{n: -1 if x.before is None else x.before.place for n, x in links.items()} for links in self.links]
        return self.elements, before

    @staticmethod
    def of(elements: list[tuple[int, int, Rope]], before: list[dict[int, int]]) -> RunLog:
        """Return what `state` told of."""
        found = RunLog()
        found.elements = elements
        found.earliest = min((start for start, _, _ in elements), default=LATEST)
        for place, chains in enumerate(before):
            start = elements[place][0]
            found.links.append(
                {n: RunLink(place, start, None if last < 0 else found.links[last][n - 1]) for n, last in chains.items()}
            )
        return found

    def all(self) -> Slice:
        """Return all elements."""
        return self.elements, 0, len(self.elements)

    def chain(self, limits: Limits) -> Slice:
        """Return the elements of the chain that is told of those that end at the last element."""
        allowed = [link for n, link in self.links[-1].items() if n >= limits[0]]
        found = allowed[0]
        for link in allowed[1:]:
            found = link if self.goes_before(link, found) else found
        if found.first is not None:
            return self.elements, found.first, found.place + 1
        told = [self.elements[place] for place in found.places()]
        return told, 0, len(told)

    def goes_before(self, one: RunLink, other: RunLink) -> bool:
        """Tell whether a chain is before another, compared element by element from the first on."""
        if one.start != other.start or one is other:
            return one.start < other.start
        mine, theirs = ([(self.elements[place][0], place) for place in link.places()] for link in (one, other))
        return mine < theirs


def lengthen(
    ends: list[ChainEnd], start: int, limits: Limits, latest: int | None, log: RunLog | None, found: Lengths
) -> Links:  # fmt: skip
    """Add to `found` the lengths of the chains that go on to an element, which comes next in the log; return chains.

    A chain goes on to an element only if no other lies strictly between: what ended before the `latest` start of those
    that ended before it is too old. Beyond what is asked for, longer is as good as `least` (no upper limit) or no good
    at all.
    """
    least, most = limits
    top = least if most is None else most + 1
    links: Links = {}
    for place, (_, end, lengths) in enumerate(ends):
        if end < start and not (latest is not None and end < latest):
            for n, first in lengths.items():
                longer = min(n + 1, top)
                found[longer] = min(first, found.get(longer, first))
                if log is not None and most is not None and longer <= most:
                    before, known = log.links[place][n], links.get(longer)
                    if known is None or known.before is None or log.goes_before(before, known.before):
                        links[longer] = RunLink(len(log.elements), start, before)
    return links


def extend_chains(chains: list[ChainEnd], start: int, end: int, limits: Limits, log: RunLog | None = None) -> Lengths:
    """Add an element, which comes next in the log, to the chains of its group; return the lengths that end at it."""
    latest = max((other[0] for other in chains if other[1] < start), default=None)
    lengths: Lengths = {1: start}
    links = lengthen(chains, start, limits, latest, log, lengths)
    if log is not None and limits[1] is not None:
        log.links.append({1: RunLink(len(log.elements), start), **links})
    chains.append((start, end, lengths))
    return lengths


def first_of(lengths: Lengths, limits: Limits) -> int | None:
    """Return where the chains of an allowed length begin at the earliest; None if there is none."""
    least, most = limits
    return min((first for n, first in lengths.items() if n >= least and (most is None or n <= most)), default=None)
