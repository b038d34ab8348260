"""Generated code around stateful operators: repetition, aggregate, `any`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from etalis.language import syntax as s
from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.runtime.choosing.choices import chooser
from etalis.runtime.choosing.chooser import Chooser, Constituent
from etalis.runtime.codegen.aggregates.folds import Folds
from etalis.runtime.codegen.emission import Emission
from etalis.runtime.codegen.joins.stores import JoinStores
from etalis.runtime.codegen.match_tests import MatchTests
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.repetitions.repetitions import Repetitions
from etalis.runtime.codegen.rule_code import RuleCode
from etalis.runtime.operators.aggregate import Slider
from etalis.runtime.operators.base import Emit, Values
from etalis.runtime.operators.combine import combiner, parents, picker, repeater, rope_of, sharer, waiting_rope
from etalis.runtime.operators.repetition.chains import Limits
from etalis.runtime.operators.repetition.repeater import Repeater
from etalis.runtime.operators.repetition.runner import Runner
from etalis.runtime.operators.store import Fifo, Token
from etalis.temporal.rope import Rope

_NO_EVENT: frozenset[int] = frozenset()


def _events(names: Sequence[str]) -> Callable[[Values], frozenset[int]]:
    """Return what tells the event that an instance is alone."""
    return itemgetter(names.index("$one")) if "$one" in names else lambda _: _NO_EVENT


def _never(*_instance: Any) -> bool:
    raise AssertionError("generated code tests and hands on what it counts")


class Operators:
    """Builds operators on first use; one per entry, kept with the entry's state."""

    def __init__(self, base: RuleCode, stores: JoinStores, tests: MatchTests, emission: Emission) -> None:
        self.base = base
        self.tests = tests
        self.emission = emission
        self.built: dict[int, Any] = {}
        self.folds = Folds(self)
        self.repetitions = Repetitions(self, stores)

    def columns(self, entry: Wired, place: int) -> tuple[str, ...]:
        """Return the variables an operator's input brings."""
        return p.children(entry.node)[place].exports

    def method(self, entry: Wired, place: int) -> Callable[..., None]:
        """Return what takes the instances of one input of an operator."""
        operator = self.operator(entry)
        if isinstance(operator, Chooser):
            return partial(operator.receive, place)
        single = len(p.children(entry.node)) == 1
        taker = operator.on_element if single else operator.on_left
        return operator.on_element if place == 1 else taker  # type: ignore[no-any-return]

    def operator(self, entry: Wired) -> Any:
        """Return the operator of an entry, its state kept, its emission compiled anew."""
        if id(entry) not in self.built:
            if isinstance(entry.node, p.SomeOf):  # all that it keeps is in its stores
                self.built[id(entry)] = self._chooser(entry, entry.node)
                return self.built[id(entry)]
            fresh = self._build(entry)
            kept = self.base.remember(entry, "operator", lambda: fresh)
            if kept is not fresh and not isinstance(kept, Slider):
                kept.emit = fresh.emit
                if isinstance(kept, Repeater):
                    kept.check = fresh.check
            self.built[id(entry)] = kept
        return self.built[id(entry)]

    def _build(self, entry: Wired) -> Any:
        match entry.node:
            case p.Repetition(left=None):
                return self._runner(entry, entry.node)
            case p.Repetition():
                return self._repeater(entry, entry.node)
            case p.Fold(opener=None):
                return self.folds.slider(entry, entry.node)
            case p.Fold():
                return self.folds.openers.folder(entry, entry.node)
        raise AssertionError(entry.node)

    def columns_out(self, entry: Wired) -> tuple[str, ...]:
        """Return what an operator hands to its tests: what it exports and what the tests read."""
        node = entry.node
        later = self._bound_by_tests(node)
        extra: dict[str, None] = dict.fromkeys(v for v in node.exports if v not in later)
        for test in p.tests(node):
            extra.update(dict.fromkeys(v for v in p.reads(test) if v not in later))
            if isinstance(test, p.Absent | p.Alone) and test.kind == "gap":
                extra.update({"$first": None, "$last": None})
            if isinstance(test, p.Alone):
                extra["$ids"] = None
        return tuple(extra)

    def _bound_by_tests(self, node: p.Node) -> set[str]:
        return {v for t in p.tests(node) if isinstance(t, p.GoalTest) for v in t.outputs}

    def _chooser(self, entry: Wired, node: p.SomeOf) -> Chooser:
        state, out = self.base.state, self.columns_out(entry)
        exports = [part.exports for part in node.constituents]
        firm = [sure(part) for part in node.constituents]
        constituents = [
            Constituent(
                store=self.base.remember(entry, f"side{place}", dict),
                fifo=self.base.remember(entry, f"fifo{place}", Fifo),
                key=picker(names, node.keys[place]), one=_events(names), names=names,
                found=tuple(picker(names, key) if set(key) <= firm[place] else None for key in node.keys),
            )
            for place, names in enumerate(exports)
        ]  # fmt: skip
        return Chooser(
            count=node.count, constituents=constituents, combine=chooser(out, exports, node.count),
            emit=self.emission.emitter(entry, out), event=lambda: state.current, keep=self.keep(node),
        )  # fmt: skip

    def keep(self, node: p.Node) -> int | None:
        """Return how long what an operator matches may last."""
        return min((t.duration for t in p.tests(node) if isinstance(t, p.Window)), default=None)

    def fail(self, entry: Wired) -> Callable[[str], None]:
        """Return what reports a value that an operator cannot use."""
        return self.base.conditions.fail(self.base.rule_of(entry))

    def _limits(self, entry: Wired, node: p.Repetition, exports: tuple[str, ...]) -> Callable[[Values], Limits | None]:
        """Return how the bounds of a repetition are read off the values of the exports, or reported."""
        fail = self.fail(entry)

        def read(term: s.Term, values: Values) -> Any:
            if isinstance(term, s.Const):
                return term.value
            return values[exports.index(term.name)] if isinstance(term, s.Var) and term.name in exports else None

        def limits(values: Values) -> Limits | None:
            least = read(node.least, values)
            most = least if node.most is None else read(node.most, values)
            if not (isinstance(least, int) and isinstance(most, int) and 1 <= least <= most):
                fail(f"ntimes ({least}, {most}) needs whole numbers, 1 or more")
                return None
            return least, None if node.most is None else most

        return limits

    def _repeater(self, entry: Wired, node: p.Repetition) -> Repeater:
        assert node.left is not None
        left, element = node.left.exports, node.element.exports
        out = self.columns_out(entry)
        firm = [v for v in node.shared if v in sure(node.left) and v in sure(node.element)]
        return Repeater(
            policy=node.policy, limits=self._limits(entry, node, (*node.shared, *left)),
            shared=sharer(left, element, node.shared),
            combine=combiner(out, left, element), check=self._check(entry, out),
            emit=self._emit(entry, out), left_key=picker(left, firm), element_key=picker(element, firm),
            line_key=picker(node.shared, firm), repeats=repeater(left), parents=parents(left),
            keep=self.keep(node), marked="$ids" in element,
            event=self._event(entry), needs_first="$last" in out, rope_of=rope_of(element),
            waiting_rope=waiting_rope(left),
        )  # fmt: skip

    def _check(self, entry: Wired, out: tuple[str, ...]) -> Emit:
        return self.emission.checker(entry, out) if self.repetitions.shape(entry) is None else _never

    def _emit(self, entry: Wired, out: tuple[str, ...]) -> Emit:
        return self.emission.emitter(entry, out) if self.repetitions.shape(entry) is None else _never

    def _event(self, entry: Wired) -> Callable[[], int] | None:
        """Return what tells the event being offered, where it may replace its own partner."""
        state = self.base.state
        return (lambda: state.current) if self.base.meets_itself(entry) else None

    def _runner(self, entry: Wired, node: p.Repetition) -> Runner:
        element = node.element.exports
        limits = self._limits(entry, node, node.shared)
        out = self.columns_out(entry)
        ids = element.index("$ids") if "$ids" in element else None

        def export(values: Values, token: Token, ids: frozenset[int], rope: Rope) -> Values:
            own = {"$token": token, "$ids": ids, "$parts": rope}
            return tuple(own[v] if v in own else values[element.index(v)] for v in out)

        return Runner(
            policy=node.policy, limits=limits, shared=picker(element, node.shared),
            emit=self._emit(entry, out),
            export=export, window=self.keep(node), rope_of=rope_of(element),
            ids_of=None if ids is None else itemgetter(ids),
        )  # fmt: skip
