"""Values of the engine as texts of SNOOP-R, which has no other values."""

from __future__ import annotations

from etalis.data.values import Value, format_value


def text_of(value: Value) -> str:
    """Return the text of a value: a text itself, else what is written for it.

    >>> text_of("U2"), text_of(2006), text_of(2.5), text_of(("a", 1))
    ('U2', '2006', '2.5', '[a,1]')
    """
    return value if isinstance(value, str) else format_value(value)
