"""Aggregates in generated code: over the last elements here, since openers in `openers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from etalis.plan import algebra as p
from etalis.runtime.codegen.aggregates.openers import OpenerFolds
from etalis.runtime.codegen.aggregates.results import MARKS, FoldResults, OtherOperators
from etalis.runtime.codegen.aggregates.slides import SlideCode
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.rule_code import Names
from etalis.runtime.codegen.source import Code, tuple_of
from etalis.runtime.operators.aggregate import Slider
from etalis.temporal.aggregate import FOLDS


class Folds:
    """Writes the aggregates of a rule set."""

    def __init__(self, special: OtherOperators) -> None:
        self.special = special
        self.base = special.base
        self.results = FoldResults(special)
        self.openers = OpenerFolds(self.results)
        self.outlined: dict[int, Callable[..., None]] = {}

    def slider(self, entry: Wired, node: p.Fold) -> Slider:
        """Return the state of an aggregate without opener."""
        out = self.results.columns(entry, node)
        return Slider(
            fold=FOLDS[node.kind], within=node.within, last=node.last, keeps="$ids" in out,
            fail=self.special.fail(entry), told=self.base.told if "$parts" in out else None,
        )  # fmt: skip

    def take(self, code: Code, entry: Wired, names: Names, t1: str, t2: str) -> None:
        """Write what an aggregate does with an element: in line, or as a call from within a probe."""
        node = entry.node
        assert isinstance(node, p.Fold)
        if not code.probes:
            self._take(code, entry, node, names, t1, t2)
            return
        exports = node.element.exports
        if id(entry) not in self.outlined:
            apart = Code([*(f"v{i}" for i in range(len(exports))), "t1", "t2"])
            self._take(apart, entry, node, dict(zip(exports, apart.parameters, strict=False)), "t1", "t2")
            self.outlined[id(entry)] = self.base.finish(apart, "fold")
        given = ", ".join([*(names[v] for v in exports), t1, t2])
        code(f"{code.constant(self.outlined[id(entry)])}({given})")
        code.queues = True

    def _take(self, code: Code, entry: Wired, node: p.Fold, names: Names, t1: str, t2: str) -> None:
        if node.opener is None:
            self._slide(code, entry, node, names, t1, t2)
        else:
            self.openers.write(code, entry, node, names, t1, t2)

    def _slide(self, code: Code, entry: Wired, node: p.Fold, names: Names, t1: str, t2: str) -> None:
        slider, out = self.special.operator(entry), self.results.columns(entry, node)
        values = [names[v] for v in node.groups]
        key = values[0] if len(values) == 1 else tuple_of(values) if values else "0"
        marks = [v for v in MARKS if v in out]
        value, type_ = self.results.value(code, node, names), self.results.type_of(entry, node)
        writer = SlideCode(code, slider, type_, value, t1, t2, names["$parts"] if "$parts" in marks else None)
        writer.expire(slider)
        item = tuple_of([t1, writer.value, *(names[v] for v in marks)])
        take = f"{code.constant(slider.take)}({key}, {item}, {t2})"
        writer.write(code.constant(slider.groups), key, item, take)
        known = {v: names[v] if v in node.groups else "None" for v in out}
        if "$ids" in marks:
            known["$ids"] = f"{code.constant(unite_ids(slider, 2 + marks.index('$ids')))}({key})"
        if "$parts" in marks and slider.is_running:
            known["$parts"] = f"{writer.group}.log.tell(None, {writer.group}.count)"
        elif "$parts" in marks:
            known["$parts"] = f"{writer.group}.rope({code.constant(slider.last)})"
        self.results.hand_on(
            code, entry, node, known, writer, writer.start, t2, "True" if self._fits_windows(node) else None
        )

    def _fits_windows(self, node: p.Fold) -> bool:
        """Tell whether what an aggregate slides over is never longer than a window allows."""
        return node.within is not None and all(
            test.duration >= node.within for test in node.tests if isinstance(test, p.Window)
        )


def unite_ids(slider: Slider, place: int) -> Callable[[Any], frozenset[int]]:
    """Return what tells the part events of all items that the value of a group is taken over."""

    def unite(key: Any) -> frozenset[int]:
        return frozenset[int]().union(*(item[place] for item in slider.groups[key].counted(slider.last)))

    return unite
