"""What differs between the series of Spark that this version runs on, in one place.

Law: a row goes to the partition that its number names, in every series. `repartitionById` came with 4.1; before, Spark
finds a partition by the hash of a key alone, so each number becomes a key whose hash leads there.
"""

from __future__ import annotations

from importlib.util import find_spec
from itertools import count
from typing import Any

from etalis.errors import InputError, Problem

SERIES = ("4.0", "4.1", "4.2", "4.3")
_SEED = 42
_MASK = 0xFFFFFFFF


def repartition_by_number(df: Any, partitions: int, column: Any) -> Any:
    """Return the rows in the partitions that a column numbers from 0."""
    if hasattr(df, "repartitionById"):
        return df.repartitionById(partitions, column)
    from pyspark.sql import functions as f

    keys = f.array(*map(f.lit, keys_of_partitions(partitions)))
    return df.repartition(partitions, f.element_at(keys, column + 1))


def keys_of_partitions(partitions: int) -> list[int]:
    """Return for each partition an integer that Spark's hash partitioning sends there.

    >>> keys_of_partitions(2)
    [1, 0]
    """
    found: dict[int, int] = {}
    for key in count():
        found.setdefault(hash_integer(key) % partitions, key)
        if len(found) == partitions:
            return [found[i] for i in range(partitions)]
    raise AssertionError("integers do not end")


def hash_integer(number: int) -> int:
    """Return what Spark's `hash` gives for an int: Murmur3 with 32 bits.

    >>> hash_integer(0), hash_integer(1)
    (933211791, -559580957)
    """
    k = _rotate(number * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    h = (_rotate(_SEED ^ k, 13) * 5 + 0xE6546B64) & _MASK
    h ^= 4  # bytes
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def _rotate(x: int, bits: int) -> int:
    return (x << bits | x >> 32 - bits) & _MASK


def check_sources(what: str) -> None:
    """Refuse what needs streaming sources in Python that end with `availableNow`: those came with Spark 4.2."""
    import pyspark

    if find_spec("pyspark.sql.streaming.datasource") is None:
        message = f"{what} needs Spark 4.2 or later, this is {pyspark.__version__}"
        raise InputError(Problem("E631", message, hint="install it with etalis: pip install 'etalis[spark]'"))
