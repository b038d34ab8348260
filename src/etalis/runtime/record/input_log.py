"""The inputs of a run by their numbers, in flat cells: no container per input.

Cells lie in blocks: the last one is open, those before it are tuples of plain values, which Python's cyclic collector
does not walk. Numbers ascend from row to row; an input whose number does not (one that was held), that lasts, or that
has more attributes than a row has cells for, stands apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from etalis.data.values import Value, to_value
from etalis.runtime.codegen.source import Code
from etalis.runtime.state import BEGINNING

Kind = tuple[str, int]
_AHEAD = 3  # cells before the attributes: number of the kind, number of the input, end
_ROWS = 4096


class KeptInput(NamedTuple):
    """An input as it came."""

    number: int
    name: str
    args: tuple[Value, ...]
    start: int
    end: int


class InputLog:
    """The inputs within a horizon of microseconds (None keeps all); `trim` lets go what else lies before it."""

    def __init__(self, most: int, horizon: int | None, trim: Callable[[int], None]) -> None:
        self.horizon = horizon
        self._trim = trim
        self.begins = BEGINNING  # what ended before it may be gone
        self._width = _AHEAD + most
        self._most = self._width * _ROWS
        self._cells: list[Any] = []
        self._closed: list[tuple[Any, ...]] = []
        self._apart: dict[int, KeptInput] = {}
        self._kinds: list[Kind] = []
        self._numbers: dict[Kind, int] = {}
        self._last = 0

    def write(self, code: Code, kind: Kind, parameters: list[str], time: str) -> None:
        """Write `add` for an instant into generated code, behind the place where it gets its number."""
        spare = ["None"] * (self._width - _AHEAD - len(parameters))
        cells = code.constant(self._cells)
        if not self.fits(kind):
            values = f"({''.join(f'{x}, ' for x in parameters)})"
            code(f"{code.constant(self.add)}({code.rope}, {code.constant(kind[0])}, {values}, {time}, {time})")
            return
        row = [str(self._number_of(kind)), code.rope, time, *parameters, *spare]
        with code.block(f"if len({cells}) >= {self._most}:"):
            code(f"{code.constant(self.close_block)}()")
        code(f"{cells}.extend(({', '.join(row)}))")

    def fits(self, kind: Kind) -> bool:
        """Tell whether inputs of a kind can be written by generated code."""
        return kind[1] <= self._width - _AHEAD

    def add(self, number: int, name: str, args: tuple[Value, ...], start: int, end: int) -> None:
        """Keep an input."""
        last = self._cells[1 - self._width] if self._cells else self._last
        if start != end or number <= last or not self.fits((name, len(args))):
            self._apart[number] = KeptInput(number, name, args, start, end)
            return
        if len(self._cells) >= self._most:
            self.close_block()
        spare = (None,) * (self._width - _AHEAD - len(args))
        self._cells.extend((self._number_of((name, len(args))), number, end, *args, *spare))

    def _number_of(self, kind: Kind) -> int:
        if kind not in self._numbers:
            self._numbers[kind] = len(self._kinds)
            self._kinds.append(kind)
        return self._numbers[kind]

    def close_block(self) -> None:
        """Begin a new block, and let go what lies before the horizon."""
        self._last = self._cells[1 - self._width]
        self._closed.append(tuple(self._cells))
        self._cells.clear()
        if self.horizon is not None:
            limit = self._closed[-1][2 - self._width] - self.horizon
            self._let_go(limit)
            self._trim(limit)

    def _let_go(self, limit: int) -> None:
        gone = 0
        while gone < len(self._closed) and self._closed[gone][2 - self._width] < limit:
            gone += 1
        if gone:
            del self._closed[:gone]
            self.begins = limit
        if self._apart and min(kept.end for kept in self._apart.values()) < limit:
            self._apart = {number: kept for number, kept in self._apart.items() if kept.end >= limit}
            self.begins = limit

    def find(self, number: int) -> KeptInput | None:
        """Return an input by its number; None if it is not kept."""
        if number in self._apart:
            return self._apart[number]
        for cells in self._blocks():
            if cells[1] <= number <= cells[1 - self._width]:
                return self._find_in(cells, number)
        return None

    find_before = find_now = find  # nothing here is corrected

    def take_out(self, place: int) -> KeptInput | None:
        """Nothing is taken back where no history of corrections is kept."""
        raise AssertionError(place)

    def _blocks(self) -> Iterator[Sequence[Any]]:
        if self._cells:
            yield self._cells
        yield from reversed(self._closed)

    def _find_in(self, cells: Sequence[Any], number: int) -> KeptInput | None:
        low, high = 0, len(cells) // self._width
        while low < high:
            middle = (low + high) // 2
            if cells[middle * self._width + 1] < number:
                low = middle + 1
            else:
                high = middle
        at = low * self._width
        return self._row(cells, at) if cells[at + 1] == number else None

    def _row(self, cells: Sequence[Any], at: int) -> KeptInput:
        name, arity = self._kinds[cells[at]]
        end = cells[at + 2]
        args = tuple(map(to_value, cells[at + _AHEAD : at + _AHEAD + arity]))
        return KeptInput(cells[at + 1], name, args, end, end)

    def items(self) -> Iterator[KeptInput]:
        """Yield all inputs that are kept, by number."""
        apart = sorted(self._apart.values(), reverse=True)
        for cells in (*self._closed, list(self._cells)):
            for at in range(0, len(cells), self._width):
                row = self._row(cells, at)
                while apart and apart[-1].number < row.number:
                    yield apart.pop()
                yield row
        yield from reversed(apart)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return all inputs as data, for a snapshot."""
        return [tuple(kept) for kept in self.items()]

    def load(self, rows: Sequence[tuple[Any, ...]], begins: int) -> None:
        """Take the inputs of a snapshot."""
        self.begins = begins
        for number, name, args, start, end in rows:
            self.add(number, name, args, start, end)
