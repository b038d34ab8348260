"""The library: predicates defined by clauses, shared by all databases; a program may define its own in their place."""

from __future__ import annotations

import functools

from etalis.logic.machine.apply_library import apply_clauses
from etalis.logic.machine.clauses import Database
from etalis.logic.machine.compile import COMPILER
from etalis.logic.terms.unify import LIST, Term, Variable


def new_database() -> Database:
    """Return an empty database that knows the library."""
    return Database(COMPILER, library())


@functools.cache
def library() -> Database:
    """Return the library."""
    database = Database(COMPILER)
    for clause in (*_list_clauses(), *_apply_clauses(), *apply_clauses()):
        database.add(clause)
    return database


def _cons(head: Term, tail: Term) -> Term:
    return (LIST, head, tail)


def _if(head: Term, *goals: Term) -> Term:
    """Return the clause `head :- goals`."""
    body = goals[-1]
    for goal in reversed(goals[:-1]):
        body = (",", goal, body)
    return (":-", head, body)


def _list_clauses() -> tuple[Term, ...]:
    x, y, h, t, z, r = (Variable() for _ in range(6))
    return (
        ("append", (), z, z),
        _if(("append", _cons(h, t), z, _cons(h, r)), ("append", t, z, r)),
        _if(("member", x, _cons(h, t)), ("$member", t, x, h)),
        ("$member", z, x, x),
        _if(("$member", _cons(h, t), x, y), ("$member", t, x, h)),
        _if(("select", x, _cons(h, t), r), ("$select", t, h, x, r)),
        ("$select", t, h, h, t),
        _if(("$select", _cons(y, t), h, x, _cons(h, r)), ("$select", t, y, x, r)),
        _if(("selectchk", x, y, r), ("select", x, y, r), "!"),
        ("nextto", x, y, _cons(x, _cons(y, z))),
        _if(("nextto", x, y, _cons(h, t)), ("nextto", x, y, t)),
        _if(("permutation", x, y), _same_lengths(x, y, z), ("$permutation", x, y)),
        ("$permutation", (), ()),
        _if(("$permutation", z, _cons(h, t)), ("select", h, z, r), ("$permutation", r, t)),
        ("same_length", (), ()),
        _if(("same_length", _cons(x, t), _cons(y, r)), ("same_length", t, r)),
        ("subseq", (), (), ()),
        _if(("subseq", _cons(h, t), _cons(h, r), z), ("subseq", t, r, z)),
        _if(("subseq", _cons(h, t), r, _cons(h, z)), ("subseq", t, r, z)),
        _if(("nth", x, y, z), ("nth1", x, y, z)),
        ("subtract", (), z, ()),
        _if(
            ("subtract", _cons(h, t), z, r),
            (
                ";",
                ("->", ("memberchk", h, z), ("subtract", t, z, r)),
                (",", ("=", r, _cons(h, y)), ("subtract", t, z, y)),
            ),
        ),
        ("delete", (), x, ()),
        _if(
            ("delete", _cons(h, t), x, r),
            (";", ("->", ("\\=", h, x), (",", ("=", r, _cons(h, y)), ("delete", t, x, y))), ("delete", t, x, r)),
        ),
    )


def _same_lengths(x: Term, y: Term, size: Term) -> Term:
    """Return the goal that gives two lists the same length, known from whichever has one."""
    lengths = (",", ("length", x, size), ("length", y, size))
    return (";", ("->", ("is_list", x), lengths), (",", ("length", y, size), ("length", x, size)))


def _apply_clauses() -> tuple[Term, ...]:
    """`maplist/2` to `maplist/7` and `foldl/4`."""
    goal, x, y, z = (Variable() for _ in range(4))
    clauses: list[Term] = []
    for count in range(1, 7):
        name = f"$maplist{count}"
        lists, heads, tails = ([Variable() for _ in range(count)] for _ in range(3))
        cells = [_cons(h, t) for h, t in zip(heads, tails, strict=True)]
        clauses.append(_if(("maplist", goal, *lists), (name, *lists, goal)))
        clauses.append((name, *([()] * count), goal))
        clauses.append(_if((name, *cells, goal), ("call", goal, *heads), (name, *tails, goal)))
    head, tail = Variable(), Variable()
    clauses.append(_if(("foldl", goal, x, y, z), ("$foldl", x, goal, y, z)))
    clauses.append(("$foldl", (), goal, y, y))
    step = ("call", goal, head, y, x)
    clauses.append(_if(("$foldl", _cons(head, tail), goal, y, z), step, ("$foldl", tail, goal, x, z)))
    return tuple(clauses)
