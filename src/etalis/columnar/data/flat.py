"""Which values a flat column holds: known without any kernel, so that tables can be opened where numba is missing."""

from __future__ import annotations

from etalis.data.values import Value

WORD = 1 << 63


def type_of(value: Value) -> str:
    """Return the type of a column that can hold a value: a flat one if there is one.

    >>> [type_of(value) for value in (1, 1.5, "a", 1 << 63)]
    ['int', 'float', 'string', 'term']
    """
    if isinstance(value, str):
        return "string"
    if isinstance(value, float):
        return "float"
    return "int" if isinstance(value, int) and -WORD <= value < WORD else "term"
