"""Clauses of the library that call a goal on the elements of lists: `include/3`, `foldl/5`, `predsort/3` and others."""

from __future__ import annotations

from etalis.logic.terms.unify import LIST, Term, Variable


def _cons(head: Term, tail: Term) -> Term:
    return (LIST, head, tail)


def _either(test: Term, then: Term, otherwise: Term) -> Term:
    return (";", ("->", test, then), otherwise)


def apply_clauses() -> tuple[Term, ...]:
    """Return the clauses."""
    return (*_filter_clauses(), *_fold_clauses(), *_sort_clauses(), *_control_clauses())


def _filter_clauses() -> tuple[Term, ...]:
    """`include/3`, `exclude/3` and `partition/4`, all by the walk of the last."""
    goal, whole, h, t, yes, no, more, x, y = (Variable() for _ in range(9))
    take = (",", ("=", yes, _cons(h, x)), ("=", no, y))
    leave = (",", ("=", yes, x), ("=", no, _cons(h, y)))
    step = (",", _either(("call", goal, h), take, leave), ("$partition", t, goal, x, y))
    return (
        (":-", ("include", goal, whole, yes), ("$partition", whole, goal, yes, more)),
        (":-", ("exclude", goal, whole, no), ("$partition", whole, goal, more, no)),
        (":-", ("partition", goal, whole, yes, no), ("$partition", whole, goal, yes, no)),
        ("$partition", (), goal, (), ()),
        (":-", ("$partition", _cons(h, t), goal, yes, no), step),
    )


def _control_clauses() -> tuple[Term, ...]:
    """`setup_call_cleanup/3`, `call_cleanup/2`, `assertion/1`, `partition/6` and `map_list_to_pairs/3`."""
    setup, goal, cleanup, error, order = (Variable() for _ in range(5))
    h, t, less, equal, more, a, b, c, key = (Variable() for _ in range(9))
    rethrow = _either(("nonvar", error), ("throw", error), "true")
    held = (",", ("ignore", cleanup), rethrow)
    caught = ("catch", goal, error, "true")
    step = (",", ("call", goal, h, order), ("$partition", order, h, less, equal, more, a, b, c))
    whole = (",", step, ("$partition", t, goal, a, b, c))
    keyed = (",", ("call", goal, h, key), ("$keyed", t, goal, a))
    asserted = _either(("\\+", ("\\+", goal)), "true", ("throw", _failed(goal)))
    return (
        (":-", ("setup_call_cleanup", setup, goal, cleanup), (",", ("once", setup), ("call_cleanup", goal, cleanup))),
        (":-", ("call_cleanup", goal, cleanup), _either(caught, held, (",", ("ignore", cleanup), "fail"))),
        (":-", ("assertion", goal), asserted),
        (":-", ("partition", goal, t, less, equal, more), ("$partition", t, goal, less, equal, more)),
        ("$partition", (), goal, (), (), ()),
        (":-", ("$partition", _cons(h, t), goal, less, equal, more), whole),
        ("$partition", "<", h, _cons(h, a), b, c, a, b, c),
        ("$partition", "=", h, a, _cons(h, b), c, a, b, c),
        ("$partition", ">", h, a, b, _cons(h, c), a, b, c),
        (":-", ("map_list_to_pairs", goal, t, a), ("$keyed", t, goal, a)),
        ("$keyed", (), goal, ()),
        (":-", ("$keyed", _cons(h, t), goal, _cons(("-", key, h), a)), keyed),
    )


def _failed(goal: Term) -> Term:
    return ("error", ("assertion_failed", goal), "goal")


def _fold_clauses() -> tuple[Term, ...]:
    """`foldl/5`, `foldl/6` and `foldl/7`."""
    goal, start, end, middle = (Variable() for _ in range(4))
    clauses: list[Term] = []
    for count in (2, 3, 4):
        name = f"$foldl{count}"
        lists, heads, tails = ([Variable() for _ in range(count)] for _ in range(3))
        cells = [_cons(h, t) for h, t in zip(heads, tails, strict=True)]
        step = (",", ("call", goal, *heads, start, middle), (name, *tails, goal, middle, end))
        clauses.append((":-", ("foldl", goal, *lists, start, end), (name, *lists, goal, start, end)))
        clauses.append((name, *([()] * count), goal, start, start))
        clauses.append((":-", (name, *cells, goal, start, end), step))
    return tuple(clauses)


def _sort_clauses() -> tuple[Term, ...]:
    """`predsort/3`: lists of one element, merged two by two, round after round, until one is left."""
    p, x, y, a, b, t, u, r, s, order = (Variable() for _ in range(10))
    again = (",", ("$pass", _cons(a, _cons(b, t)), p, r), ("$rounds", r, p, s))
    merge_pair = (",", ("$merge", a, b, p, s), ("$pass", t, p, r))
    compare = (",", ("call", p, order, x, y), (",", "!", ("$put", order, x, t, y, u, p, r)))
    return (
        (":-", ("predsort", p, a, s), (",", ("$singles", a, t), (",", ("$rounds", t, p, r), ("=", s, r)))),
        ("$singles", (), ()),
        (":-", ("$singles", _cons(x, t), _cons(_cons(x, ()), r)), ("$singles", t, r)),
        ("$rounds", (), p, ()),
        (":-", ("$rounds", _cons(a, t), p, s), ("$round", t, a, p, s)),
        ("$round", (), a, p, a),
        (":-", ("$round", _cons(b, t), a, p, s), again),
        ("$pass", (), p, ()),
        (":-", ("$pass", _cons(a, t), p, r), ("$pair", t, a, p, r)),
        ("$pair", (), a, p, _cons(a, ())),
        (":-", ("$pair", _cons(b, t), a, p, _cons(s, r)), merge_pair),
        ("$merge", (), b, p, b),
        (":-", ("$merge", _cons(x, t), b, p, r), ("$merge", b, x, t, p, r)),
        ("$merge", (), x, t, p, _cons(x, t)),
        (":-", ("$merge", _cons(y, u), x, t, p, r), compare),
        (":-", ("$put", "<", x, t, y, u, p, _cons(x, r)), ("$merge", t, _cons(y, u), p, r)),
        (":-", ("$put", "=", x, t, y, u, p, r), ("$merge", u, x, t, p, r)),
        (":-", ("$put", ">", x, t, y, u, p, _cons(y, r)), ("$merge", u, x, t, p, r)),
    )
