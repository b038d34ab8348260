"""Texts found among others by their bytes, as Arrow has them: `offsets` tell where each begins, and the last one ends.

A table has, at each place, the number of a text (-1: the place is free) and a part of its hash, so that few texts that
differ are compared.
"""

from __future__ import annotations

from typing import Any

from etalis.columnar.kernels.hash_tables import FACTOR, LOW_HALF
from etalis.columnar.kernels.jit import inner, kernel


@inner
def hash_text(data: Any, low: int, high: int) -> int:
    """Return a well-mixed number of 31 bits of some bytes, four at a time."""
    mixed = high - low
    at = low
    while at + 4 <= high:
        word = int(data[at]) | int(data[at + 1]) << 8 | int(data[at + 2]) << 16 | int(data[at + 3]) << 24
        mixed = ((mixed ^ word) * FACTOR) & LOW_HALF
        mixed ^= mixed >> 15
        at += 4
    while at < high:
        mixed = ((mixed ^ int(data[at])) * FACTOR) & LOW_HALF
        at += 1
    return (mixed ^ (mixed >> 13)) >> 1


@inner
def find_text(table: Any, offsets: Any, data: Any, others: Any, low: int, high: int, mixed: int) -> int:
    """Return the place of a text that stands in `others` from `low` to `high`, or the free one where it would be."""
    mask = len(table) // 2 - 1
    place = mixed & mask
    while table[2 * place] >= 0:
        if table[2 * place + 1] == mixed:
            begin = offsets[table[2 * place]]
            if offsets[table[2 * place] + 1] - begin == high - low:
                at = low
                while at < high and data[begin + at - low] == others[at]:
                    at += 1
                if at == high:
                    break
        place = (place + 1) & mask
    return place


@kernel
def index_texts(offsets: Any, data: Any, table: Any) -> None:
    """Put texts, no two of which are equal, into an empty table that is more than large enough."""
    for number in range(len(offsets) - 1):
        low, high = offsets[number], offsets[number + 1]
        mixed = hash_text(data, low, high)
        place = find_text(table, offsets, data, data, low, high, mixed)
        table[2 * place] = number
        table[2 * place + 1] = mixed


@kernel
def find_texts(table: Any, offsets: Any, data: Any, asked: Any, others: Any, missing: int, found: Any, at: Any) -> None:
    """Write the numbers of other texts among those of a table, `missing` for what is not there; `at` has room for all.

    One pass hashes, one goes to the table, one finds where texts begin, and one compares: so the processor waits for
    several places in memory at once.
    """
    mask = len(table) // 2 - 1
    for row in range(len(found)):
        found[row] = hash_text(others, asked[row], asked[row + 1])
    for row in range(len(found)):
        mixed = found[row]
        place = mixed & mask
        while table[2 * place] >= 0 and table[2 * place + 1] != mixed:
            place = (place + 1) & mask
        found[row] = place
    for row in range(len(found)):
        number = table[2 * found[row]]
        length = asked[row + 1] - asked[row]
        is_alike = number >= 0 and offsets[number + 1] - offsets[number] == length
        at[row] = offsets[number] if is_alike else -1
    for row in range(len(found)):
        place, low, high = found[row], asked[row], asked[row + 1]
        number = table[2 * place]
        differs = 1
        if at[row] >= 0:
            differs = 0
            for byte in range(high - low):
                differs |= data[at[row] + byte] ^ others[low + byte]
        if differs and number >= 0:  # another text of the same hash
            number = table[2 * find_text(table, offsets, data, others, low, high, table[2 * place + 1])]
        found[row] = number if number >= 0 else missing
