"""What is known of a repetition when its code is written: bounds, keys, and whose values its matches have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from etalis.language import syntax as s
from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.runtime.codegen.aggregates.results import OtherOperators
from etalis.runtime.codegen.joins.stores import JoinStores
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.rule_code import Names
from etalis.runtime.codegen.source import tuple_of
from etalis.runtime.operators.repetition.chains import Limits
from etalis.runtime.operators.store import Once


@dataclass(frozen=True, slots=True)
class WrittenRepetition:
    """A repetition whose bounds are numbers, and whose elements are in one group for each left side and their own keys.

    `waits_once`: all that becomes of its matches is that the first of each left side, or run, waits.
    """

    node: p.Repetition
    least: int
    most: int | None
    columns: tuple[str, ...]
    keep: int | None
    waits_once: bool

    @property
    def marks_first(self) -> bool:
        """Whether it is enough to know of a left side that it has counted an element."""
        return self.waits_once and self.most is None

    @property
    def asks(self) -> bool:
        """Whether a left side must pass more than windows."""
        return _asks(self.node)

    @property
    def binds(self) -> bool:
        """Whether conditions bind variables."""
        return any(isinstance(test, p.GoalTest) and test.outputs for test in self.node.tests)

    @property
    def goes(self) -> bool:
        """Whether what is counted after may be consumed with a match."""
        return "$token" in self.columns

    def key(self, names: Names) -> str:
        """Return the values of the variables that all occurrences share."""
        return _tuple(names, self.node.shared)

    def left_key(self, names: Names) -> str:
        """Return the values by which left sides are found."""
        return _tuple(names, self.left_names)

    @property
    def left_names(self) -> list[str]:
        """The variables by which left sides are found."""
        left = self.node.left
        return [v for v in self.node.shared if left is not None and v in left.exports]


def _tuple(names: Names, wanted: Any) -> str:
    values = [names[v] for v in wanted]
    return tuple_of(values) if values else "()"


def shape_of(operators: OtherOperators, stores: JoinStores, entry: Wired) -> WrittenRepetition | None:
    """Return what is known of a repetition; None where it is not as it usually is, and so not written in line."""
    node = entry.node
    assert isinstance(node, p.Repetition)
    columns, limits = operators.columns_out(entry), _limits(node)
    marks = {"$ids", "$parts"}
    if limits is None or marks & {*columns, *node.element.exports} or operators.base.meets_itself(entry):
        return None
    if node.left is not None:
        both = sure(node.left) & sure(node.element)
        if any(v in node.left.exports and v not in both for v in node.shared):
            return None
    return WrittenRepetition(node, *limits, columns, operators.keep(node), _waits_once(stores, entry, node))


def _limits(node: p.Repetition) -> Limits | None:
    least = node.least.value if isinstance(node.least, s.Const) else None
    most = least if node.most is None else node.most.value if isinstance(node.most, s.Const) else 0
    if type(least) is not int or type(most) is not int or not 1 <= least <= most:
        return None
    return least, None if node.most is None else most


def _waits_once(stores: JoinStores, entry: Wired, node: p.Repetition) -> bool:
    """Tell whether all matches of a left side, or run, are equal for what follows, so that only the first waits."""
    if len(entry.readers) != 1 or entry.readers[0].kind != "input" or entry.readers[0].place != 0:
        return False
    if node.policy.select == "together" or not _keeps_first(stores, entry.readers[0].target):
        return False
    if node.left is None:  # which is tested when it has been counted
        return not _asks(node) and all(v in node.shared or v == "$token" for v in node.exports)
    given = node.left.exports
    firm = all(v in given or v in ("$token", "$first", "$last") for v in node.exports)
    return firm and all(v in given for v in node.shared)


def _keeps_first(stores: JoinStores, follower: Wired) -> bool:
    """Tell whether a match only waits at what follows, and the first of those that are equal stays."""
    match follower.node:
        case p.Join(alone=None, policy=policy, relation=relation) if relation.sequential and policy.keep != "newest":
            return not stores.probes(follower, 0) and Once.among(stores.columns(follower, 0)) is not None
        case p.Repetition(left=p.Repetition(exports=exports), policy=policy) if policy.keep != "newest":
            return Once.among(exports) is not None
    return False


def _asks(node: p.Repetition) -> bool:
    """Tell whether a match must pass more than windows."""
    return any(not isinstance(test, p.Window) for test in node.tests)
