"""Aggregates in a window that slides with each solution (definition 14.6): over those of its group, up to it."""

from __future__ import annotations

from etalis.epsparql import syntax as s
from etalis.epsparql.aggregates import aggregate, group_key
from etalis.epsparql.meaning.solutions import Solution


def slide(query: s.StreamQuery, found: list[Solution], length: int) -> list[Solution]:
    """Return what a query reports at each of its body's solutions; of one end they count in the order given."""
    answers = []
    timed = [(f.span, f) for f in found if f.span is not None]
    timed.sort(key=lambda pair: (pair[0][1], pair[0][0]))
    for place, (span, last) in enumerate(timed):
        key = group_key(query, last.values)
        inside = [
            (other, f.values)
            for other, f in timed[: place + 1]
            if other[0] >= span[1] - length and group_key(query, f.values) == key
        ]
        start = min(other[0] for other, _ in inside)
        rows = aggregate(query, [values for _, values in inside])
        answers += [Solution(row, (start, span[1]), waits=last.waits) for row in rows]
    return answers
