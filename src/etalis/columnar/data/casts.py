"""Values that an engine holds, as columns: each of the type that rules over columns expect, or refused."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from etalis.columnar.data.columns import Column, Integers, from_arrow, from_values
from etalis.data.values import Real

_PLAIN: dict[str, Collection[type]] = {"int": {int}, "float": {float, Real}, "string": {str}}


class UnfitError(Exception):
    """What an engine holds has no place in columns."""


def to_integers(values: Sequence[int]) -> Integers:
    """Return integers of 64 bits."""
    try:
        return np.array(values, np.int64)
    except OverflowError:
        raise UnfitError("a number has more than 64 bits") from None


def to_column(values: Sequence[Any], kind: str) -> Column:
    """Return values as a column of a type.

    >>> to_column([1, "null", 2], "int").values()
    [1, 'null', 2]
    """
    if kind not in _PLAIN:
        return from_values(values, "term")
    kinds = set(map(type, values))
    try:
        if kinds <= set(_PLAIN[kind]):
            if kind == "string":
                return from_arrow(pa.array(values, pa.string()), kind)
            return Column(kind, to_integers(values) if kind == "int" else np.array(values, np.float64))
        if kinds <= {*_PLAIN[kind], str} and all(x == "null" for x in values if type(x) is str):
            return from_values(values, kind)
    except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
        pass
    raise UnfitError(f"what waits has values that are no {kind}")
