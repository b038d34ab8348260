"""What becomes of a match that is a candidate: its tests, its solutions where a condition multiplies, its actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from etalis.plan import algebra as p
from etalis.runtime.codegen.match_tests import MatchTests
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.passing import Passing
from etalis.runtime.codegen.rule_code import Names, RuleCode
from etalis.runtime.codegen.source import CandidateLoop, Code
from etalis.runtime.operators.base import Emit

Deliver = Callable[[Code, Wired, Names, str, str], None]  # writes that a match is handed to all readers of an entry


def multiplies_leaf(entry: Wired) -> bool:
    """Tell whether an entry multiplies events as they come, so that each event makes one list of matches."""
    return isinstance(entry.node, p.Filter) and isinstance(entry.node.child, p.Source)


def completes_several(node: p.Node) -> bool:
    """Tell whether one event may complete several matches of an operator, none of which is the only one of its rule."""
    match node:
        case p.Repetition():
            return True
        case p.Fold(opener=part) | p.Join(alone=part):
            return part is not None
        case _:
            return False


class Emission:
    """Writes how matches that pass their tests are handed on."""

    def __init__(self, base: RuleCode, tests: MatchTests, deliver: Deliver) -> None:
        self.base = base
        self.tests = tests
        self.deliver = deliver

    def guarded(self, code: Code, entry: Wired, passing: Passing, names: Names, t1: str, t2: str) -> None:
        """Write `if tests: hand on`, with one match per solution where a condition multiplies."""
        if passing.expressions:
            with code.block(f"if {' and '.join(passing.expressions)}:"):
                self.multiplied(code, entry, passing, names, t1, t2)
        else:
            self.multiplied(code, entry, passing, names, t1, t2)

    def multiplied(self, code: Code, entry: Wired, passing: Passing, names: Names, t1: str, t2: str) -> None:
        """Write the loop over the solutions of a condition that multiplies, the actions, and the handing on."""
        around = code.rounds, code.kept
        if completes_several(entry.node):
            code.rounds, code.kept = None, {}  # a list, or a name for the only match, would be begun anew for each
        plain = code.loop is None and code.collects is None and not passing.actions
        if plain and passing.loops and self.base.heads.may_gather(entry):
            self._gathered(code, entry, passing, names, t1, t2)
        else:
            self._one_by_one(code, entry, passing, names, t1, t2)
        code.rounds, code.kept = around

    def _gathered(self, code: Code, entry: Wired, passing: Passing, names: Names, t1: str, t2: str) -> None:
        """Make the events of all solutions in one pass; then see which are new, and put them in order."""
        top, rounds = len(code.lines), code.rounds
        code.loop = loop = CandidateLoop((), t2)
        loop.gathers = True
        self._one_by_one(code, entry, passing, names, t1, t2)
        code.loop = None
        if not multiplies_leaf(entry):
            code.rounds = None  # there may be several such lists
        for found, kinds in loop.found.items():
            code.insert(top, f"{found} = []")
            self.base.heads.note_gathered(code, found, kinds, f"len({found}) == 1", [], t2)
        code.rounds = rounds

    def _one_by_one(self, code: Code, entry: Wired, passing: Passing, names: Names, t1: str, t2: str) -> None:
        depth = code.depth
        for solutions, outputs in passing.loops:
            row = code.fresh("o")
            code(f"for {row} in {solutions}:")
            code.depth += 1
            names.update({v: f"{row}[{i}]" for i, v in enumerate(outputs)})
        if passing.actions and self.base.heads.parts:
            code(f"{code.constant(self.base.state)}.cause = {names.get('$parts')}")
        for action in passing.actions:
            code(self.base.conditions.action(code, action, names, self.base.rule_of(entry)))
        code.pair, around = entry, code.pair
        self.deliver(code, entry, names, t1, t2)
        code.pair = around
        code.depth = depth

    def emitter(self, entry: Wired, exports: Sequence[str]) -> Emit:
        """Return the function (exported values..., start, end) that tests a match of an operator and hands it on."""
        code, names = self._operator_code(exports)
        passing = self._operator_tests(code, entry, names)
        with code.block(f"if {' and '.join(passing.expressions) or 'True'}:"):
            self.multiplied(code, entry, passing, names, "t1", "t2")
            code("return True")
        code("return False")
        return self.base.finish(code, type(entry.node).__name__.lower())

    def checker(self, entry: Wired, exports: Sequence[str]) -> Emit:
        """Return the function (exported values..., start, end) that only tests a match of an operator."""
        code, names = self._operator_code(exports)
        passing = self._operator_tests(code, entry, names)
        code(f"return bool({' and '.join(passing.expressions) or 'True'})")
        return self.base.finish(code, "test")

    def _operator_code(self, exports: Sequence[str]) -> tuple[Code, Names]:
        parameters = [f"v{i}" for i in range(len(exports))]
        return Code([*parameters, "t1", "t2"]), dict(zip(exports, parameters, strict=True))

    def _operator_tests(self, code: Code, entry: Wired, names: Names) -> Passing:
        low, high = names.get("$first", "t1"), names.get("$last", "t2")
        return self.tests.write(code, entry, names, entry.sure, "t1", "t2", low, high, None)
