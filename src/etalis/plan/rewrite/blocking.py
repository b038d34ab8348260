"""Which blockers of an absence its conditions can let pass: those that are equal to a match where these begin so.

`(a(K, X) seq b(K)) cnot (c(J, Z) where (J = K, Z > X))`: what blocks has the K of the match. Law: a blocker that is
left out would have failed in silence, since nothing comes before an equality but others.
"""

from __future__ import annotations

from etalis.language import syntax as s
from etalis.language.check.goals import conjuncts, indicator
from etalis.plan import algebra as p

_SAME = frozenset({("=", 2), ("==", 2)})


def equal_variables(absence: p.Absent | p.Deadline) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a variable of the negated part and one of the match that conditions begin by making equal.

    >>> from etalis.language.read.parser import parse_term
    >>> node = p.Source("c", (s.Var("J"), s.Var("Z")), ("J", "Z"))
    >>> goal = parse_term("J = K, Z > X, Z == X")
    >>> asked = p.GoalTest("where", goal, ("J", "K", "Z", "X"), ())
    >>> equal_variables(p.Absent("inside", node, (), None, (asked,), ("J", "Z")))
    (('J', 'K'),)
    """
    theirs, mine = frozenset(absence.brought), frozenset(p.asked_of_match(absence))
    found: list[tuple[str, str]] = []
    for goal in (goal for condition in absence.conditions for goal in conjuncts(condition.goal)):
        names = [x.name for x in goal.args if isinstance(x, s.Var)] if isinstance(goal, s.Compound) else []
        if indicator(goal) not in _SAME or len(names) != 2:
            break
        if names[0] in theirs and names[1] in mine:
            found.append((names[0], names[1]))
        elif names[1] in theirs and names[0] in mine:
            found.append((names[1], names[0]))
        else:
            break
    return tuple(dict.fromkeys(found))
