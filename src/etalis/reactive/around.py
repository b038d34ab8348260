"""What is left of an action when a part of it has made a step, and whether the step may be one (definition 24.42)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from etalis.data.values import Struct, Value
from etalis.logic.terms.unify import Term, Trail, Variable, from_value, undo, unify
from etalis.logic.terms.write import format_term
from etalis.reactive.execution import ANYTHING, Label
from etalis.reactive.terms import interleaved, sequence

Around: TypeAlias = tuple[Any, ...] | None  # of a part of an action: an operator, its other side, what is around both


class ForbiddenStepError(Exception):
    """A step breaks what an action is subject to; the text is what it breaks."""


def put_together(rest: Term | None, around: Around, labels: Sequence[Term]) -> Term | None:
    """Return what is left of an action when a part of it has made a step with some labels."""
    while around is not None:
        operator, other, around = around
        if operator == "seq":
            rest = other if rest is None else sequence(rest, other)
        elif operator == "left of":
            rest = interleaved(rest, other)
        elif operator == "right of":
            rest = interleaved(other, rest)
        else:
            left = _still_demanded(other, labels)
            if rest is not None:
                rest = ("subject_to", rest, left)
            else:
                for kind, step in left[1:]:
                    if kind == "happens":
                        raise ForbiddenStepError(format_term((kind, step)))
    return rest


def _still_demanded(demands: Term, labels: Sequence[Term]) -> Term:
    """Return what is demanded of the steps to come."""
    left = [demands[0]]
    for kind, step in demands[1:]:
        fits = any(_fits(step, label) for label in labels)
        if fits and kind == "never":
            raise ForbiddenStepError(format_term((kind, step)))
        if not fits:
            left.append((kind, step))
    return tuple(left)


def _fits(step: Term, label: Term) -> bool:
    trail = Trail()
    fits = step[0] == label[0] and unify(step[1], label[1], trail)
    undo(trail, 0)
    return fits


def label_terms(labels: Sequence[Label]) -> list[Term]:
    """Return labels as terms; what stands for anything is a variable."""
    return [(label.kind, _term(label.term)) for label in labels]


def _term(value: Value) -> Term:
    if isinstance(value, Struct):
        return Variable() if value == ANYTHING else (value.name, *map(_term, value.args))
    return from_value(value)
