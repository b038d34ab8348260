"""Where the boxes of a graph go: layers from left to right, few crossings, straight arrows (Sugiyama 1981).

Arrows that would close a circle are set aside; layers are longest paths; arrows over several layers pass through points
of their own; the order in a layer comes from the mean place of neighbours; heights are the least squares fit to the
neighbours' heights that keeps the order and the gaps. Unconnected graphs stand under each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Point = tuple[float, float]
Link = tuple[int, int]

_ACROSS = 72.0  # between layers: room for an arrow and its label
_BETWEEN = 22.0  # between boxes of a layer
_LANE = 16.0  # between arrows that run back under the boxes
_ASIDE = 4.0  # between such arrows where they leave and arrive
_POINT = 8.0  # height of the place where an arrow passes a layer
_SWEEPS = 6
_MANY = 2_000


@dataclass(frozen=True, slots=True)
class Size:
    """Width and height of a box."""

    width: float
    height: float


@dataclass(slots=True)
class PlanLayout:
    """Upper left corners of boxes, the way of each link (points to pass, in order), and the size of it all.

    `exits` tell per box where its layer ends, `back` are the links that run against the flow, under the boxes.
    """

    corners: list[Point]
    exits: list[float]
    ways: dict[int, list[Point]] = field(default_factory=dict)
    back: set[int] = field(default_factory=set)
    width: float = 0.0
    height: float = 0.0


def arrange(sizes: Sequence[Size], links: Sequence[Link]) -> PlanLayout:
    """Place boxes of the given sizes that are joined by links."""
    layout = PlanLayout([(0.0, 0.0)] * len(sizes), [0.0] * len(sizes))
    for members, numbers in _components(len(sizes), links):
        part = _Part(sizes, links, members, numbers)
        part.write(layout)
    return layout


def _components(count: int, links: Sequence[Link]) -> Iterable[tuple[list[int], list[int]]]:
    """Return the connected parts: their boxes and the numbers of their links, in order of first box."""
    leader = list(range(count))

    def find(box: int) -> int:
        while leader[box] != box:
            leader[box] = leader[leader[box]]
            box = leader[box]
        return box

    for source, target in links:
        a, b = sorted((find(source), find(target)))
        leader[b] = a
    parts: dict[int, tuple[list[int], list[int]]] = {}
    for box in range(count):
        parts.setdefault(find(box), ([], []))[0].append(box)
    for number, (source, _) in enumerate(links):
        parts[find(source)][1].append(number)
    return parts.values()


class _Part:
    """One connected graph while it is laid out; nodes beyond the boxes are points that long links pass."""

    def __init__(self, sizes: Sequence[Size], links: Sequence[Link], boxes: list[int], numbers: list[int]) -> None:
        self.sizes = dict(zip(boxes, [sizes[b] for b in boxes], strict=True))
        self.links = links
        self.boxes = boxes
        self.back = _find_back(boxes, links, numbers)
        self.forward = [n for n in numbers if n not in self.back]
        self.layer = self._layers()
        self.next = len(sizes)
        self.chains: dict[int, list[int]] = {}
        self.before: dict[int, list[int]] = {}
        self.after: dict[int, list[int]] = {}
        self._split()
        self.rows = self._first_order()
        self._reduce_crossings()
        self.top = self._heights()

    def _layers(self) -> dict[int, int]:
        """Return the longest way from a start, with starts moved next to what they feed."""
        into = dict.fromkeys(self.boxes, 0)
        out: dict[int, list[int]] = {box: [] for box in self.boxes}
        for number in self.forward:
            source, target = self.links[number]
            into[target] += 1
            out[source].append(target)
        starts = [box for box in self.boxes if not into[box]]
        layer = dict.fromkeys(self.boxes, 0)
        ready = list(starts)
        while ready:
            box = ready.pop()
            for target in out[box]:
                layer[target] = max(layer[target], layer[box] + 1)
                into[target] -= 1
                if not into[target]:
                    ready.append(target)
        for box in starts:
            if out[box]:
                layer[box] = min(layer[target] for target in out[box]) - 1
        return layer

    def _split(self) -> None:
        """Lead every link over points in the layers between its ends."""
        for number in self.forward:
            source, target = self.links[number]
            chain = [source]
            for level in range(self.layer[source] + 1, self.layer[target]):
                self.layer[self.next] = level
                self.sizes[self.next] = Size(0.0, _POINT)
                chain.append(self.next)
                self.next += 1
            chain.append(target)
            self.chains[number] = chain
            for a, b in pairwise(chain):
                self.after.setdefault(a, []).append(b)
                self.before.setdefault(b, []).append(a)

    def _first_order(self) -> list[list[int]]:
        """Return the layers in the order in which a walk back from the last boxes meets their nodes."""
        rows: list[list[int]] = [[] for _ in range(max(self.layer.values()) + 1)]
        seen: set[int] = set()
        waiting = sorted((n for n in self.layer if n not in self.after), reverse=True)
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                rows[self.layer[node]].append(node)
                waiting.extend(reversed(self.before.get(node, ())))
        return rows

    def _reduce_crossings(self) -> None:
        best = self._crossings()
        for sweep in range(_SWEEPS):
            if not best:
                return
            kept = [list(row) for row in self.rows]
            forth = sweep % 2 == 0
            levels = range(1, len(self.rows)) if forth else range(len(self.rows) - 2, -1, -1)
            for level in levels:
                self._sort_row(level, self.before if forth else self.after, level - 1 if forth else level + 1)
            found = self._crossings()
            if found < best:
                best = found
            else:
                self.rows = kept

    def _sort_row(self, level: int, neighbours: dict[int, list[int]], fixed: int) -> None:
        place = {node: i for i, node in enumerate(self.rows[fixed])}

        def mean(entry: tuple[int, int]) -> float:
            near = [place[n] for n in neighbours.get(entry[1], ())]
            return sum(near) / len(near) if near else float(entry[0])

        self.rows[level] = [node for _, node in sorted(enumerate(self.rows[level]), key=mean)]

    def _crossings(self) -> int:
        """Count the crossings between neighbouring layers: inversions of the links' ends, by merging."""
        total = 0
        for row, following in pairwise(self.rows):
            place = {node: i for i, node in enumerate(following)}
            total += _inversions([p for node in row for p in sorted(place[n] for n in self.after.get(node, ()))])
        return total

    def _heights(self) -> dict[int, float]:
        """Return the upper edge of every node: as straight as order and gaps allow."""
        top: dict[int, float] = {}
        for row in self.rows:
            y = 0.0
            for node in row:
                top[node] = y
                y += self.sizes[node].height + _BETWEEN
        for sweep in range(8 * _SWEEPS if len(top) < _MANY else _SWEEPS):
            forth = sweep % 2 == 0
            for row in self.rows if forth else reversed(self.rows):
                self._level(row, top)
        lowest = min(top.values())
        return {node: y - lowest for node, y in top.items()}

    def _level(self, row: list[int], top: dict[int, float]) -> None:
        wanted = []
        for node in row:
            near = [*self.before.get(node, ()), *self.after.get(node, ())]
            middles = [top[n] + self.sizes[n].height / 2 for n in near]
            half = self.sizes[node].height / 2
            wanted.append(sum(middles) / len(middles) - half if middles else top[node])
        heights = [self.sizes[node].height for node in row]
        top.update(zip(row, fit(wanted, heights, _BETWEEN), strict=True))

    def write(self, layout: PlanLayout) -> None:
        """Add this part under what the layout has already."""
        above = layout.height + (2 * _BETWEEN if layout.height else 0.0)
        widths = [max(self.sizes[node].width for node in row) for row in self.rows]
        left = [0.0]
        for width in widths:
            left.append(left[-1] + width + _ACROSS)
        arrived = {self.links[number][1] for number in (*self.forward, *self.back)}
        for box in self.boxes:
            level, width = self.layer[box], self.sizes[box].width
            # what nothing leads to stands close to what it feeds
            x = left[level] + (0.0 if box in arrived else widths[level] - width)
            layout.corners[box] = (x, above + self.top[box])
            layout.exits[box] = left[level] + widths[level]
        for number, chain in self.chains.items():
            levels = [(self.layer[n], above + self.top[n] + _POINT / 2) for n in chain[1:-1]]
            layout.ways[number] = [(x, y) for level, y in levels for x in (left[level], left[level] + widths[level])]
        bottom = above + max(self.top[n] + self.sizes[n].height for n in self.top)
        for lane, number in enumerate(sorted(self.back), 1):
            source, target = self.links[number]
            aside, under = lane % 5 * _ASIDE, bottom + lane * _LANE
            layout.ways[number] = [
                (layout.exits[source] + 14 + aside, under),
                (left[self.layer[target]] - 22 - aside, under),
            ]
        layout.back |= self.back
        layout.height = bottom + (len(self.back) + 0.5) * _LANE * bool(self.back)
        layout.width = max(layout.width, left[-1] - _ACROSS)


def _find_back(boxes: list[int], links: Sequence[Link], numbers: list[int]) -> set[int]:
    """Return the links that close a circle, found by a walk in depth that begins where nothing leads to."""
    out: dict[int, list[int]] = {box: [] for box in boxes}
    targets = set()
    for number in numbers:
        out[links[number][0]].append(number)
        targets.add(links[number][1])
    back: set[int] = set()
    state: dict[int, int] = {}  # 1: on the way, 2: done
    for start in sorted(boxes, key=lambda box: box in targets):
        waiting: list[tuple[int, bool]] = [(start, False)]
        while waiting:
            box, leaving = waiting.pop()
            if leaving:
                state[box] = 2
            elif box not in state:
                state[box] = 1
                waiting.append((box, True))
                for number in reversed(out[box]):
                    target = links[number][1]
                    if state.get(target) == 1:
                        back.add(number)
                    elif target not in state:
                        waiting.append((target, False))
    return back


def fit(wanted: Sequence[float], heights: Sequence[float], gap: float) -> list[float]:
    """Return the upper edges closest to the wanted ones, in order and `gap` apart (pool adjacent violators).

    >>> fit([0, 0, 50], [10, 10, 10], 2)
    [-6.0, 6.0, 50.0]
    """
    offset = 0.0
    offsets = []
    pools: list[list[float]] = []  # [sum, count]
    for want, height in zip(wanted, heights, strict=True):
        offsets.append(offset)
        pools.append([want - offset, 1])
        offset += height + gap
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] > pools[-1][0] * pools[-2][1]:
            total, count = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += count
    levels = [total / count for total, count in pools for _ in range(int(count))]
    return [level + shift for level, shift in zip(levels, offsets, strict=True)]


def _inversions(places: list[int]) -> int:
    """Count the pairs that stand in the wrong order.

    >>> _inversions([2, 0, 1])
    2
    """
    if len(places) < 2:
        return 0
    middle = len(places) // 2
    left, right = places[:middle], places[middle:]
    count = _inversions(left) + _inversions(right)
    left.sort()
    right.sort()
    i = 0
    for x in right:
        while i < len(left) and left[i] <= x:
            i += 1
        count += len(left) - i
    return count
