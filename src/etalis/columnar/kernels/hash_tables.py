"""Open hash tables: linear probing in arrays whose length is a power of two.

A table of keys has, at each place, the row that owns the key (-1: the place is free) and the key itself. Rows of
several keys are numbered in a table of their own.
"""

from __future__ import annotations

from typing import Any

from etalis.columnar.kernels.jit import inner, kernel, part

SEED = 0x1E3779B97F4A7C15
POSITIVE = 0x7FFFFFFFFFFFFFFF
LOW_HALF = 0xFFFFFFFF
FACTOR, OTHER_FACTOR = 0x61C88647, 0x2545F491  # odd, and below 2 ** 31: no product is longer than 63 bits
FREE = -1


@part
def stir(mixed: int, number: int) -> int:
    """Return a well-mixed number, not negative, of one such and a part of a key."""
    mixed = (mixed ^ number) & POSITIVE
    mixed ^= mixed >> 33
    mixed = ((mixed & LOW_HALF) * OTHER_FACTOR + (mixed >> 32) * FACTOR) & POSITIVE
    return mixed ^ (mixed >> 29)


@part
def shift_for(mask: int, near: bool) -> int:
    """Return the shift with which `spread` gives the places up to `mask`, one less than a power of two.

    It is negative where keys are `near` each other, so that neighbours get places near each other.
    """
    shift = 32
    while (1 << (32 - shift)) <= mask:
        shift -= 1
    return shift - 32 if near else shift


@part
def spread(key: int, shift: int) -> int:
    """Return the place of a key in a table of 2 ** (32 - shift) places: all its bits tell.

    Of keys near each other twice as many bits do as places have, and a table of 2 ** -shift places stays in the caches.
    """
    if shift < 0:
        return (key ^ (key >> -shift)) & ((1 << -shift) - 1)
    return ((((key ^ (key >> 32)) & LOW_HALF) * FACTOR) & LOW_HALF) >> shift


@inner
def find_place(table: Any, shift: int, key: int) -> int:
    """Return the place of a key, or the free one where it would be."""
    mask = len(table) // 2 - 1
    place = spread(key, shift)
    while table[2 * place] >= 0 and table[2 * place + 1] != key:
        place = (place + 1) & mask
    return place


@inner
def free_place(table: Any, shift: int, place: int) -> None:
    """Take a key out; those that were moved on because of it move back."""
    mask = len(table) // 2 - 1
    gap = place
    place = (place + 1) & mask
    while table[2 * place] >= 0:
        home = spread(table[2 * place + 1], shift)
        if ((place - home) & mask) >= ((place - gap) & mask):
            table[2 * gap] = table[2 * place]
            table[2 * gap + 1] = table[2 * place + 1]
            gap = place
        place = (place + 1) & mask
    table[2 * gap] = FREE


@inner
def find_row(owner: Any, known: Any, keys: Any, x: int) -> int:
    """Return the place of an equal row of `known`, or the free one where it would be, for row x of `keys`."""
    mask = len(owner) - 1
    width = keys.shape[1]
    mixed = SEED
    for c in range(width):
        mixed = stir(mixed, keys[x, c])
    place = mixed & mask
    while owner[place] >= 0:
        c = 0
        while c < width and known[owner[place], c] == keys[x, c]:
            c += 1
        if c == width:
            break
        place = (place + 1) & mask
    return place


@kernel
def number_keys(keys: Any, owner: Any, number: Any, first: Any, group: Any) -> int:
    """Number the distinct rows of keys: `first` rows that have each, `group` the number of each row; return how many.

    `owner` is an empty open table, more than large enough; `number` belongs to it.
    """
    found = 0
    for x in range(len(keys)):
        place = find_row(owner, keys, keys, x)
        if owner[place] < 0:
            owner[place] = x
            number[place] = found
            first[found] = x
            found += 1
        group[x] = number[place]
    return found


@kernel
def find_keys(keys: Any, known: Any, owner: Any, number: Any, group: Any) -> None:
    """Find for rows of keys the number that `number_keys` gave to an equal row of `known`, -1 where there is none."""
    for x in range(len(keys)):
        place = find_row(owner, known, keys, x)
        group[x] = number[place] if owner[place] >= 0 else -1


@kernel
def number_codes(keys: Any, low: Any, factor: Any, table: Any, first: Any, group: Any) -> int:
    """Number the distinct rows of keys as `number_keys` does, where they are few enough to have a place each.

    The place of a row is the sum of how far its values are above the `low` ones, each by its factor; all of an empty
    `table` are -1.
    """
    found = 0
    for x in range(len(keys)):
        place = 0
        for c in range(keys.shape[1]):
            place += (keys[x, c] - low[c]) * factor[c]
        number = table[place]
        if number < 0:
            number = found
            table[place] = found
            first[found] = x
            found += 1
        group[x] = number
    return found


@kernel
def find_codes(keys: Any, low: Any, high: Any, factor: Any, table: Any, group: Any) -> None:
    """Find for rows of keys the number that `number_codes` gave to an equal row, -1 where there is none."""
    for x in range(len(keys)):
        place = 0
        for c in range(keys.shape[1]):
            if keys[x, c] < low[c] or keys[x, c] > high[c]:
                place = -1
                break
            place += (keys[x, c] - low[c]) * factor[c]
        group[x] = table[place] if place >= 0 else -1
