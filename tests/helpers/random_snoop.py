"""Random expressions of SNOOP-R, signals for them, and the rules that someone would write by hand for the same.

Events are `k0` to `k3` with parameters `p` and `q`. Branches of an OR have no event in common, so that no instance fits
several of them: what it then means is not what a rule says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from etalis.snoop import Argument, Expression, ExpressionVariable, Parameter, check, normal_form
from etalis.snoop.detection.rules import is_gathered
from etalis.snoop.expression import CONTEXTS, NUMBER, SNOOP, contributing_leaves, leaves, walk

LANGUAGE = "http://shop.example/events"
KINDS = ("k0", "k1", "k2", "k3")
VALUES = ("1", "2")
NAMES = ("X", "Y", "Z")


@dataclass(frozen=True, slots=True)
class Signalled:
    """A signal of a type, at a second."""

    kind: str
    values: dict[str, str]
    at: int


@st.composite
def leaf_nodes(draw: st.DrawFn, kinds: tuple[str, ...]) -> Expression:
    parameters = []
    for name in ("p", "q"):
        choice = draw(st.sampled_from([None, *VALUES[:1], *NAMES]))
        if choice in NAMES:
            parameters.append(Parameter(name, choice))
        elif choice is not None:
            parameters.append(Parameter(name, value=choice))
    declared = tuple(dict.fromkeys(ExpressionVariable(p.variable) for p in parameters if p.variable))
    return Expression(draw(st.sampled_from(kinds)), LANGUAGE, (), declared, tuple(parameters))


@st.composite
def nodes(draw: st.DrawFn, depth: int, kinds: tuple[str, ...] = KINDS, root: bool = False) -> Expression:
    usual = (
        ["OR", "SEQ", "SEQ", "ANY", "NOT", "A", "ASTAR"] if root else ["leaf"] * 5 + ["OR", "SEQ", "SEQ", "ANY", "A"]
    )
    operator = draw(st.sampled_from(usual)) if depth else "leaf"
    if operator == "leaf" or (operator == "OR" and len(kinds) < 2):
        return draw(leaf_nodes(kinds))
    if operator == "OR":
        cut = draw(st.integers(1, len(kinds) - 1))
        parts = [draw(nodes(depth - 1, kinds[:cut])), draw(nodes(depth - 1, kinds[cut:]))]
    else:
        count = 3 if operator in ("NOT", "A", "ASTAR") else draw(st.integers(2, 3))
        apart = operator == "ANY" and draw(st.integers(0, 3)) > 0  # constituents must not be equal
        parts = [draw(nodes(depth - 1, (kinds[i % len(kinds)],) if apart else kinds)) for i in range(count)]
        if operator == "ASTAR":
            parts[1] = draw(leaf_nodes(kinds))
    parameters = (Parameter(NUMBER, value=str(draw(st.integers(1, len(parts))))),) if operator == "ANY" else ()
    return Expression(operator, SNOOP, tuple(Argument(None, part) for part in parts), (), parameters)


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> Expression:
    """Expressions that can be registered, in every context; in their normal form."""
    root = draw(nodes(depth, root=True))
    assume(len(list(leaves(root))) <= 7)
    if draw(st.integers(0, 3)) == 0:
        root = replace(root, variables=(ExpressionVariable("X", "use", VALUES[0]),))
    context, time = draw(st.sampled_from(list(CONTEXTS))), draw(st.sampled_from(["intervals", "points"]))
    time = "intervals" if any(node.operator == "ASTAR" for _, node in walk(root)) else time
    root = replace(root, context=context, time=time)
    assume(not check(root) and not _looks_equal(root))
    return normal_form(root)


def _looks_equal(root: Expression) -> bool:
    """Tell whether an ANY has constituents that a rule cannot tell apart: where one binds what another leaves open."""
    for _, node in walk(root):
        if node.operator == "ANY":
            parts = [_pattern(argument.expression, (), {}, False) for argument in node.arguments]
            shapes = [re.sub(r"\b(?:[XYZ]|[NM][\d_]*|_)(?=[,)])", "_", part) for part in parts]
            if len(set(shapes)) < len(shapes):
                return True
    return False


@st.composite
def signals(draw: st.DrawFn, most: int = 12) -> list[Signalled]:
    """Signals in order of time, several of which may be at once."""
    value = st.sampled_from(VALUES)
    rows = draw(st.lists(st.tuples(st.sampled_from(KINDS), value, value, st.integers(0, 1)), min_size=4, max_size=most))
    at, found = 0, []
    for kind, p, q, step in rows:
        at += step
        found.append(Signalled(kind, {"p": p, "q": q}, at))
    return found


def rule_of(expression: Expression) -> str:
    """Return the rule that someone would write for an expression in normal form: constants in place."""
    uses = {v.name: v.value for v in expression.variables if v.mode == "use"}
    telling = list(contributing_leaves(expression))
    names = variables_of(expression)
    numbers = [_number(path) for path, _ in telling]
    return f"found({', '.join([*names, *numbers])}) <- {_pattern(expression, (), uses, expression.time == 'points')}."


def variables_of(expression: Expression) -> list[str]:
    """Return the variables that results tell, by name."""
    uses = {v.name for v in expression.variables if v.mode == "use"}
    telling = [leaf for path, leaf in contributing_leaves(expression) if not is_gathered(expression, path)]
    found = {p.variable for leaf in telling for p in leaf.parameters}
    return sorted(name for name in found if name is not None and name not in uses)


def _number(path: tuple[int, ...]) -> str:
    return "N" + "_".join(map(str, path))


def _pattern(node: Expression, path: tuple[int, ...], uses: dict[str, Any], points: bool) -> str:
    if node.is_leaf:
        given = {p.name: f"'{uses.get(p.variable, p.value)}'" if p.variable in uses or p.value else p.variable
                 for p in node.parameters}  # fmt: skip
        return f"{node.operator}({_number(path)}, {given.get('p', '_')}, {given.get('q', '_')})"
    parts = [_pattern(a.expression, (*path, i), uses, points) for i, a in enumerate(node.arguments, 1)]
    after = " follows " if points else " seq "
    match node.operator:
        case "OR":
            return f"({' or '.join(parts)})"
        case "SEQ":
            return f"({after.join(parts)})"
        case "NOT":
            return f"(({parts[0]}{after}{parts[2]}) cnot {parts[1]})"
        case "ASTAR":
            each, gathered = parts[1].replace("(N", "(M", 1), _number((*path, 2))
            between = f"aggregate(list({each[each.index('(M') + 1 :].partition(',')[0]}), {each}, {gathered})"
            return f"(({parts[0]} seq {between}) seq {parts[2]})"
        case "A":
            return f"(({parts[0]}{after}{parts[1]}) cnot {parts[2]})"
        case _:
            return f"any({node.parameters[0].value}, [{', '.join(parts)}])"
