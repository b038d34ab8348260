"""Equations between two sides: `X =:= Y + 500` as it stands, `X - Y =:= 500` with each side's part on its own side."""

from __future__ import annotations

from collections.abc import Iterator

from etalis.language import syntax as s
from etalis.language.traversal import term_variables

Names = frozenset[str]
_ZERO = s.Const(0)


def separate(x: s.Term, y: s.Term, left: Names, right: Names) -> Iterator[tuple[str, s.Term, s.Term]]:
    """Yield an equation as two expressions, over the left and over the right names, and for which numbers that holds.

    Floats are rounded as they are written, so what changes sides does so for integers alone.

    >>> [kind for kind, _, _ in separate(s.Var("X"), s.Var("Y"), frozenset("X"), frozenset("Y"))]
    ['number']
    """
    for a, b in ((x, y), (y, x)):
        if _belongs(a, left, right) and _belongs(b, right, left):
            yield "number", a, b
            return
    mine: list[tuple[int, s.Term]] = []
    theirs: list[tuple[int, s.Term]] = []
    for sign, term in (*_addends(x, 1), *_addends(y, -1)):
        names = frozenset(term_variables(term))
        if names <= left:
            mine.append((sign, term))
        elif names <= right:
            theirs.append((-sign, term))
        else:
            return
    if all(sign < 0 for sign, _ in theirs):
        mine, theirs = ([(-sign, term) for sign, term in side] for side in (mine, theirs))
    a, b = _sum(mine), _sum(theirs)
    if _belongs(a, left, right) and _belongs(b, right, left):
        yield "integer", a, b


def _belongs(term: s.Term, own: Names, other: Names) -> bool:
    names = frozenset(term_variables(term))
    return bool(names) and names <= own and not names <= other


def _addends(term: s.Term, sign: int) -> Iterator[tuple[int, s.Term]]:
    """Yield what is added up in a term, each with its sign."""
    match term:
        case s.Compound(name="+", args=(a, b)):
            yield from (*_addends(a, sign), *_addends(b, sign))
        case s.Compound(name="-", args=(a, b)):
            yield from (*_addends(a, sign), *_addends(b, -sign))
        case s.Compound(name="-", args=(a,)):
            yield from _addends(a, -sign)
        case _:
            yield sign, term


def _sum(addends: list[tuple[int, s.Term]]) -> s.Term:
    total: s.Term | None = None
    for sign, term in sorted(
        addends, key=lambda addend: -addend[0]
    ):  # so that none begins with a minus if one has none
        if total is None:
            total = term if sign > 0 else s.Compound("-", (_ZERO, term))
        else:
            total = s.Compound("+" if sign > 0 else "-", (total, term))
    return _ZERO if total is None else total
