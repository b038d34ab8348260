"""Random programs with constraints: over random patterns, required of each other, listened to by rules."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from etalis.language import syntax as s
from etalis.language.reactive.constraints import told_variables
from helpers.programs import (
    GOALS,
    LATE,
    LOOSE,
    RECEIVED,
    TIMELY,
    VARIABLES,
    Author,
    Draw,
    Shape,
    _count_with_values,
    programs,
)

MODES = ("never", "around", "around", "around", "after", "before", "before", "next", "next")


@st.composite
def constrained_programs(draw: Draw, shape: Shape) -> s.Tree:
    """Programs of a shape with one to three constraints, and perhaps a rule that listens to one."""
    tree = draw(programs(shape))
    derived = tuple(item.head.name for item in tree.items if isinstance(item, s.Rule))
    items: list[s.Item] = []
    for number in range(draw(st.integers(1, 3))):
        earlier = [item for item in items if isinstance(item, s.Constraint)]
        items.append(_constraint(draw, shape, derived, f"c{number + 1}", earlier))
    constraints = [item for item in items if isinstance(item, s.Constraint)]
    if draw(st.booleans()):
        heard = _violation(draw(st.sampled_from(constraints)))
        bound = [v for v in heard.args if isinstance(v, s.Var)]
        head = s.EventPattern("f", (draw(st.sampled_from(bound)) if bound else s.Const(0),))
        items.append(s.Rule(head, heard))
    return s.Tree((*tree.items, *items))


@st.composite
def crossing_programs(draw: Draw) -> s.Tree:
    """Constraints and absences that fall due together, each perhaps over what another makes."""
    second, heads = 1_000_000, ("f", "g", "h")
    names = ["a", "b"]
    items: list[s.Item] = []
    made: list[s.EventPattern] = []

    def event(*more: s.EventPattern) -> s.EventPattern:
        received = s.EventPattern(draw(st.sampled_from(names)), (draw(st.sampled_from((s.Var("X"), s.Var("_#1")))),))
        return draw(st.sampled_from((received, *more)))

    for number in range(draw(st.integers(2, 4))):
        duration = draw(st.integers(1, 3)) * second
        left, absent = event(*made), event(*made, *made)
        if draw(st.booleans()):
            constraint = s.Constraint(f"c{number}", left, absent, draw(st.sampled_from(("around", "after"))), duration)
            items.append(constraint)
            made.append(_violation(constraint))
        else:
            left = s.EventPattern(left.name, tuple(_named(arg) for arg in left.args))
            head = s.EventPattern(heads[number % 3], (s.Var("X"),))
            items.append(s.Rule(head, s.NotWithin(left, absent, duration)))
            made.append(head)
    if draw(st.booleans()):
        both = s.Binary("and", draw(st.sampled_from(made)), draw(st.sampled_from(made)))
        items.append(s.Rule(s.EventPattern("k", ()), both))
    return s.Tree(tuple(draw(st.permutations(items))))


def _named(term: s.Term) -> s.Term:
    return s.Var("X") if isinstance(term, s.Var) else term


def _constraint(
    draw: Draw, shape: Shape, derived: tuple[str, ...], label: str, earlier: list[s.Constraint]
) -> s.Constraint:
    mode = draw(st.sampled_from(MODES))
    plain = replace(shape, kinds=tuple(kind for kind in shape.kinds if kind not in ("do", "sub_rule")))
    waits = mode in ("around", "after")
    names = (*RECEIVED, *RECEIVED, *(name for name in derived if name in TIMELY or (name in LATE and not waits)))
    author = Author(draw, plain, names, draw(st.integers(1, 3)), not waits, ())
    pattern = _count_with_values(author.pattern(draw(st.integers(0, 2))))
    duration = author.seconds(1, 4) if waits or (mode == "before" and author.rarely(2)) else None
    if mode == "never":
        return s.Constraint(label, pattern)
    author = replace(author, left=2, names=(*RECEIVED, *derived) if mode != "next" else tuple(RECEIVED))
    if mode == "next":
        required = _next(author)
    elif earlier and author.rarely(3):
        required = _violation(author.pick(earlier))
    else:
        required = _count_with_values(author.pattern(draw(st.integers(0, 1))))
    return s.Constraint(label, pattern, required, mode, duration)


def _next(author: Author) -> s.Pattern:
    required: s.Pattern = author.event()
    if author.rarely(3):
        required = s.Or(required, author.event())
    if author.rarely(3):
        required = s.Condition("where", required, author.pick([goal for goal in GOALS if goal not in LOOSE]))
    return required


def _violation(constraint: s.Constraint) -> s.EventPattern:
    """Return the event of a constraint's violations, with the variables of programs for its values."""
    several = tuple(s.Var(VARIABLES[place % 3]) for place, _ in enumerate(told_variables(constraint.pattern)))
    return s.EventPattern("violated", (s.Const(constraint.label), *several))
