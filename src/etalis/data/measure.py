"""Depth and size of values, so that terms which rules build stay within bounds.

Law: no value is nested deeper than `MAX_DEPTH`, so that what walks values may recurse. A `Struct` knows its measure, so
measuring takes as long as the lists in a value are, however often its parts are shared.
"""

from __future__ import annotations

from collections.abc import Iterable

from etalis.data.values import MAX_DEPTH, Struct, Value

CELLS = 16  # what a derived event may hold before it counts as more than one
_LONG = 1 << 512

TOO_DEEP = (
    f"its head is nested deeper than {MAX_DEPTH} levels; bound the recursion, or collect in a list, which is one level"
)


def is_too_deep(values: Iterable[Value]) -> bool:
    """Tell whether a value is nested deeper than values may be.

    >>> is_too_deep([Struct("f", [1]), (1, (2,))])
    False
    """
    todo = [(value, MAX_DEPTH) for value in values]
    while todo:
        value, left = todo.pop()
        if value.__class__ is Struct:
            if value.depth > left:
                return True
        elif value.__class__ is tuple and value:
            if not left:
                return True
            todo.extend((x, left - 1) for x in value if x.__class__ is tuple or x.__class__ is Struct)
    return False


def weigh(values: Iterable[Value]) -> int:
    """Return for how many events more than one an event counts: as many as its attributes have parts past `CELLS`."""
    return max(0, count_cells(values) - CELLS)


def count_cells(values: Iterable[Value]) -> int:
    """Count the parts of values; long texts and integers count by their length.

    >>> count_cells([1, "x", (1, 2, 3), Struct("f", [1, (2,)])])
    10
    """
    cells = 0
    todo = [tuple(values)]
    while todo:
        items = todo.pop()
        cells += len(items)
        kinds = set(map(type, items))
        if str in kinds:
            cells += sum(len(x) for x in items if x.__class__ is str) >> 6
        if int in kinds:
            numbers = items if len(kinds) == 1 else [x for x in items if x.__class__ is int]
            if max(numbers) >= _LONG or min(numbers) <= -_LONG:
                cells += sum(x.bit_length() for x in numbers) >> 9
        if Struct in kinds:
            cells += sum(x.size for x in items if x.__class__ is Struct)
        if tuple in kinds:
            todo.extend(x for x in items if x.__class__ is tuple)
    return cells
