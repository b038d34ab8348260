"""Reactions in a snapshot: the numbers that matches of the present stamp have come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from etalis.runtime.snapshot.sections import Book

if TYPE_CHECKING:
    from etalis.runtime.core import Core


def save_reactions(core: Core, names: dict[int, str], book: Book) -> None:
    """Write down how many equal matches of the present stamp each reaction has had."""
    rows = [
        (names[number], numbering.stamp, identity, count)
        for number, numbering in core.rules.heads.numberings.items()
        if numbering.stamp >= core.state.now
        for identity, count in numbering.counts.items()
    ]
    book.put_rows(("numberings",), rows)


def load_reactions(core: Core, names: dict[int, str], book: Book) -> None:
    """Put back what was written of the reactions that are still there."""
    numbers = {name: number for number, name in names.items()}
    for name, stamp, identity, count in book.rows(("numberings",)):
        numbering = core.rules.heads.numberings.get(numbers.get(name, -1))
        if numbering is not None:
            numbering.stamp = stamp
            numbering.counts[identity] = count
