"""Scalars and arrays of NumPy, pandas, PyArrow and Polars as Python's own; none of them is loaded for it.

What is missing (NA, NaT, a masked or null cell) is None, an array the list of its elements, a struct a dictionary.
Moments and spans of NumPy and PyArrow are NumPy's: Python's have no nanoseconds. Law: nothing is rounded here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

ITEMS: set[type] = set()  # scalars of NumPy that were seen, whose `item` is all that there is to do


def to_python(x: Any) -> Any:
    """Return what another library holds as an object of Python, elements of arrays aside; anything else as it is.

    >>> import numpy as np
    >>> to_python(np.int64(3)), to_python(np.array(["a"], dtype=object)), to_python("as it is")
    (3, ['a'], 'as it is')
    """
    if type(x) in ITEMS:
        return x.item()
    read = _LIBRARIES.get(type(x).__module__.partition(".")[0])
    return x if read is None or isinstance(x, type) else read(x)


def is_numpy_time(x: object) -> bool:
    """Tell whether something is a moment or a span of NumPy."""
    return type(x).__name__ in ("datetime64", "timedelta64") and type(x).__module__ == "numpy"


def show(x: object) -> str:
    """Return how messages name a value that someone gave: as Python writes it, not too long.

    >>> show("a"), show("a" * 1000)[-5:]
    ("'a'", 'aa...')
    """
    try:
        text = repr(x)
    except (ValueError, RecursionError):  # very long integers, lists that hold themselves
        text = f"a value of type {type(x).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _from_numpy(x: Any) -> Any:
    import numpy as np

    if x is np.ma.masked:
        return None
    if isinstance(x, np.ndarray):
        return list(x) if x.ndim else to_python(x[()])
    if is_numpy_time(x):
        return None if np.isnat(x) else x
    if isinstance(x, np.longdouble):  # its own `item`
        return float(x)
    if not isinstance(x, np.generic):
        return x
    ITEMS.add(type(x))
    return x.item()


def _from_pandas(x: Any) -> Any:
    import pandas as pd

    if x is pd.NA or x is pd.NaT:
        return None
    is_array = isinstance(x, pd.Series | pd.Index | pd.api.extensions.ExtensionArray)
    return list(x) if is_array else x


def _from_arrow(x: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    if isinstance(x, pa.Array | pa.ChunkedArray):
        return list(x)
    if not isinstance(x, pa.Scalar):
        return x
    if not x.is_valid:
        return None
    match x:
        case pa.TimestampScalar():
            return np.datetime64(x.value, x.type.unit)
        case pa.DurationScalar():
            return np.timedelta64(x.value, x.type.unit)
        case pa.StructScalar():
            return dict(x.items())
        case pa.ListScalar() if not isinstance(x, pa.MapScalar):
            return list(x.values)
    return x.as_py()


def _from_polars(x: Any) -> Any:
    import polars as pl

    return x.to_list() if isinstance(x, pl.Series) else x


_LIBRARIES: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {"numpy": _from_numpy, "pandas": _from_pandas, "pyarrow": _from_arrow, "polars": _from_polars}
)
