"""Names of an event's attributes, in tables of results, in JSON and as members of a match.

The names are those of the declaration, else of a head's variables, else `a1`, `a2`, ... A column has such a name, with
a number behind it where another column has it, or where a reader would take it for something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

START, END, RULE, EVENT, ATOM, ID = "start", "end", "rule", "event", "_atom", "match_id"
CONTRIBUTORS = "contributors"
RESERVED = frozenset({START, END, RULE, EVENT, ATOM, ID, CONTRIBUTORS})
READ_FIRST = frozenset({"at", "args", "attributes", "sign"})  # what readers of rows take for no attribute


def place_name(place: int) -> str:
    """Return what an attribute without a name is called by its place, counted from 0."""
    return f"a{place + 1}"


@lru_cache(maxsize=1 << 10)
def name_columns(names: tuple[str, ...], arity: int) -> tuple[str, ...]:
    """Return the columns of the attributes of a kind of event; `names` is empty if they have none.

    >>> name_columns(("Card", "start", "at"), 3), name_columns((), 2)
    (('Card', 'start_2', 'at_2'), ('a1', 'a2'))
    """
    return tuple(distinct(names or tuple(map(place_name, range(arity))), RESERVED))


def distinct(names: Sequence[str], taken: frozenset[str] | set[str]) -> list[str]:
    """Number names that are taken or come again; Spark does not tell capitals apart.

    >>> distinct(["X", "start", "x"], {"start"})
    ['X', 'start_2', 'x_2']
    """
    used = set(taken)
    found = []
    for name in names:
        number, chosen = 1, name
        while chosen.casefold() in used or chosen in READ_FIRST:
            number += 1
            chosen = f"{name}_{number}"
        used.add(chosen.casefold())
        found.append(chosen)
    return found
