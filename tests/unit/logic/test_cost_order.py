"""Checks change places only where nobody can tell."""

from __future__ import annotations

import pytest

from etalis.logic.inline.cost_order import order_by_cost
from etalis.logic.inline.steps import AssignStep, CheckStep, GuardStep, LoopStep, Step, SuccessStep

LOOK_UP, OTHER_LOOK_UP = CheckStep("_k0(_v0)"), CheckStep("(not _k1(_v1))")
CHEAP, GUARD = CheckStep("_v1 < _v2"), GuardStep("_v1.__class__ is int")
UNSAFE = CheckStep("_k2(_v0) is not None", safe=False)
SUM, OF_SUM = AssignStep("_v3", "_v1 + _v2"), CheckStep("_v3 > _k5")
DONE = SuccessStep(())


@pytest.mark.parametrize(
    ("written", "ordered"),
    [
        ([LOOK_UP, CHEAP, DONE], [CHEAP, LOOK_UP, DONE]),
        ([LOOK_UP, OTHER_LOOK_UP, CHEAP, DONE], [CHEAP, LOOK_UP, OTHER_LOOK_UP, DONE]),
        # a guard stays before what it stood before, and comes along
        ([GUARD, LOOK_UP, CHEAP], [GUARD, CHEAP, LOOK_UP]),
        ([LOOK_UP, GUARD, CHEAP, OF_SUM], [GUARD, CHEAP, OF_SUM, LOOK_UP]),
        ([LOOK_UP, SUM, OF_SUM], [SUM, OF_SUM, LOOK_UP]),
        # nothing passes what may raise, be it cheap or not
        ([UNSAFE, CHEAP], [UNSAFE, CHEAP]),
        ([LOOK_UP, UNSAFE, CHEAP], [LOOK_UP, UNSAFE, CHEAP]),
        ([LOOK_UP, CheckStep("_v1 < _v2", safe=False)], [LOOK_UP, CheckStep("_v1 < _v2", safe=False)]),
        # without a cheap check behind it nothing moves; nor past what it gives a name to, or what calls, too
        ([LOOK_UP, SUM, DONE], [LOOK_UP, SUM, DONE]),
        ([CheckStep("(_v3 := _k0(_v0))"), OF_SUM], [CheckStep("(_v3 := _k0(_v0))"), OF_SUM]),
        ([LOOK_UP, AssignStep("_v3", "_k4(_v1)"), OF_SUM], [LOOK_UP, AssignStep("_v3", "_k4(_v1)"), OF_SUM]),
        # inside of loops
        ([LoopStep("_v4", "_k3()", [LOOK_UP, CHEAP])], [LoopStep("_v4", "_k3()", [CHEAP, LOOK_UP])]),
    ],
)
def test_order(written: list[Step], ordered: list[Step]) -> None:
    assert order_by_cost(written) == ordered
