"""Selection push-down: pure conjuncts of a condition become prefilters of the parts that they are about.

The condition stays where it is, and judges; what a prefilter lets go could not have been part of a match of its
operator. Laws, which the properties run at random:

- conjuncts over variables that all positive parts below a condition share go to every part, under every policy: no
  operator brings values of such a variable together, so what is left out leaves nothing else without its partner;
- others go to any depth where nothing is consumed, but under a consuming policy only to a direct operand of their own
  operator: `((a seq b) seq c) where C(a)` is not `((a where C) seq b) seq c`, since an `a` that fails takes its `b`.
  A composite operand is filtered as its matches come out;
- where the newest is kept, only to the right side of a sequence: what fails still takes the place of what waits;
- never into the element of a repetition or an aggregate, which counts it, nor past an action, a goal that is not pure,
  or a count or a sum that would be reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from etalis.language.syntax import Const, Term
from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.plan.rewrite.conjuncts import Conjunct, SplitCondition, are_harmless, split_condition
from etalis.temporal.aggregate import FOLDS

_Shown: TypeAlias = frozenset[int]  # the numbers of conjuncts that prefilters have shown of every match of a node
_NOTHING: _Shown = frozenset()


def push_down(node: p.Node) -> p.Node:
    """Give the parts of a plan the prefilters that its conditions allow."""
    if p.is_single(node):
        return node
    node = p.with_parts(node, push_down)
    for place, test in enumerate(p.tests(node)):
        if isinstance(test, p.GoalTest):
            condition = split_condition(test.goal, test.inputs)
            node, shown = _push(node, condition)
            tests = list(p.tests(node))
            tests[place] = replace(test, settled=tuple(sorted(shown)))
            node = _changed(node, tests=tuple(tests))
            if not condition.is_pure:
                break  # what raises, acts or goes on for ever must be reached as before
    return node


def _push(node: p.Node, condition: SplitCondition) -> tuple[p.Node, _Shown]:
    """Give the operands of a node what its condition says of them."""
    tests = [test for test in condition.tests if test.reads]
    shared = [test for test in tests if _share(node, test.reads)]
    others = [test for test in tests if test not in shared]
    is_free = not any(
        part.policy.restricts for part in p.walk(node) if isinstance(part, p.Join | p.Repetition | p.SomeOf)
    )
    node, everywhere = _Pusher(condition, is_deep=True, is_everywhere=True).push(node, shared)
    node, beside = _Pusher(condition, is_deep=is_free, is_everywhere=False).push(node, others)
    return node, everywhere | beside


@dataclass(frozen=True, slots=True)
class _Pusher:
    """Pushes pure conjuncts of one condition: deep, or to direct operands; everywhere where all parts share them."""

    condition: SplitCondition
    is_deep: bool
    is_everywhere: bool

    def push(self, node: p.Node, tests: Sequence[Conjunct]) -> tuple[p.Node, _Shown]:
        """Filter the parts of a node that have what the tests read."""
        if isinstance(node, p.Union):
            branches = [self._enter(branch, _firm(branch, tests)) for branch in node.branches]
            in_each = frozenset.intersection(*(shown for _, shown in branches))
            return replace(node, branches=tuple(branch for branch, _ in branches)), in_each
        if isinstance(node, p.Filter):
            child, in_child = self._enter(node.child, _firm(node.child, tests))
            return replace(node, child=child), in_child
        shown = _NOTHING
        for place in _operands(node) if tests else ():
            if self.is_everywhere or _is_apart(node, place):
                part, found = self._lay(getattr(node, place), tests)
                node, shown = _changed(node, **{place: part}), shown | found
        return node, shown

    def _enter(self, node: p.Node, tests: Sequence[Conjunct]) -> tuple[p.Node, _Shown]:
        """Filter the parts of a part, if what they bring is then all that is missing."""
        is_open = self.is_deep and not isinstance(node, p.Source | p.Tick) and are_harmless(p.tests(node))
        return self.push(node, tests) if is_open else (node, _NOTHING)

    def _lay(self, node: p.Node, tests: Sequence[Conjunct]) -> tuple[p.Node, _Shown]:
        """Filter a part by what it is sure to bind: its own parts where that may be, else its matches."""
        firm = _firm(node, tests)
        node, shown = self._enter(node, firm)
        rest = [test for test in firm if test.number not in shown]
        if not rest or isinstance(node, p.Tick | p.Repetition) or "$token" in node.exports:
            return node, shown  # what follows a repetition looks at what its matches were counted after
        names = dict.fromkeys(name for test in rest for name in sorted(test.reads))
        prefilter = p.Prefilter(self.condition.goal_of(rest), tuple(names))
        return _filtered(node, prefilter), shown | {test.number for test in rest}


def _filtered(node: p.Node, prefilter: p.Prefilter) -> p.Filter:
    """Return a part with a prefilter after its own tests, so that these report and act as before."""
    if isinstance(node, p.Filter) and not any(map(_acts, node.tests)):
        return replace(node, tests=(*node.tests, prefilter))
    return p.Filter(node, (prefilter,), node.exports)


def _acts(test: p.Test) -> bool:
    return isinstance(test, p.Action) or (isinstance(test, p.GoalTest) and test.kind == "event_multiply")


def _operands(node: p.Node) -> Iterator[str]:
    """Yield the operands that may be filtered: none that is counted, or of which its operator would report a value."""
    match node:
        case p.Join(alone=None):
            yield from ("left", "right")
        case p.Repetition(left=left, least=least, most=most) if left is not None and _is_count(least, most):
            yield "left"
        case p.Fold(opener=opener, kind=kind) if opener is not None and not FOLDS[kind].numeric:
            yield "opener"
        case p.Deadline():
            yield "left"
        case _:
            pass


def _is_count(least: Term, most: Term | None) -> bool:
    return all(isinstance(bound, Const) for bound in (least, most) if bound is not None)


def _is_apart(node: p.Node, place: str) -> bool:
    """Tell whether what is filtered away on one side of an operator is missed by nothing that waits there."""
    match node:
        case p.Join(policy=policy, relation=relation):
            return policy.keep != "newest" or (place == "right" and relation.sequential)
        case p.Repetition(policy=policy):
            return policy.keep != "newest"
        case _:
            return True


def _share(node: p.Node, names: frozenset[str]) -> bool:
    """Tell whether every positive part of a pattern binds the variables, so that only equal values ever meet."""
    match node:
        case p.Source() | p.Tick():
            return names <= sure(node) & set(node.exports)
        case p.Repetition(shared=groups) | p.Fold(groups=groups):
            return names <= set(groups) and all(_share(part, names) for part in p.children(node))
        case p.SomeOf():
            return False
        case p.Join() | p.Union() | p.Filter() | p.Deadline():
            return all(_share(part, names) for part in p.children(node))


def _firm(node: p.Node, tests: Sequence[Conjunct]) -> list[Conjunct]:
    """Return those tests whose variables a part always binds."""
    names = sure(node) & set(node.exports)
    return [test for test in tests if test.reads <= names]


def _changed(node: Any, **fields: Any) -> Any:
    return replace(node, **fields)
