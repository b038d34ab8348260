"""Aggregates with an opener in generated code: every element is folded into the openers before it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from etalis.data.values import Value
from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.runtime.codegen.aggregates.results import FoldResults
from etalis.runtime.codegen.aggregates.slides import SlideCode
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.rule_code import Names
from etalis.runtime.codegen.source import Code, tuple_of
from etalis.runtime.operators.aggregate import Folder, Opener
from etalis.runtime.operators.base import Values
from etalis.runtime.operators.combine import combiner, picker, repeater, rope_of, sharer, waiting_rope
from etalis.runtime.operators.store import Once
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.rope import FoldRope, Rope


class OpenerFolds:
    """Writes the aggregates with an opener of a rule set."""

    def __init__(self, results: FoldResults) -> None:
        self.results = results
        self.special = results.special
        self.base, self.emission = results.base, results.emission

    def write(self, code: Code, entry: Wired, node: p.Fold, names: Names, t1: str, t2: str) -> None:
        """Write that an element is folded into every opener before it."""
        folder: Folder = self.special.operator(entry)
        assert node.opener is not None
        if folder.marked:
            given = ", ".join([*(names[v] for v in node.element.exports), t1, t2])
            code(f"{code.constant(folder.on_element)}({given})")
            code.queues = True
            return
        value = self.results.value(code, node, names)
        counts = f"if type({value}) is float or type({value}) is int or {code.constant(folder.countable)}({value}):"
        with code.block(counts) if folder.fold.numeric else nullcontext():
            place = tuple_of([names[v] for v in self._firm(node)]) if self._firm(node) else "()"
            opener, several = code.fresh("o"), code.fresh("w")
            code(f"{several} = {code.constant(folder.openers.groups)}.get({place})")
            with code.block(f"if {several} is not None:"):
                if folder.keep is not None:
                    limit = code.fresh("l")
                    code(f"{limit} = {t2} - {code.constant(folder.keep)}")
                    with code.block(f"if {several}[0].end < {limit}:"):
                        code(f"{several} = {code.constant(folder.recent)}({place}, {limit})")
                key, shares = self._shared_key(code, node, folder, names, opener)
                with code.block(f"for {opener} in {several}:"):
                    start = code.fresh("s")
                    code(f"{start} = {opener}.start")
                    lasts = [f"{start} >= {limit}"] if folder.keep is not None else []
                    with code.block(f"if {' and '.join([f'{opener}.end < {t1}', *lasts, *shares])}:"):
                        rope = names["$parts"] if folder.told is not None else None
                        writer = SlideCode(code, folder, self.results.type_of(entry, node), value, t1, t2, rope)
                        given = ", ".join([opener, key, value, t1, *([rope] if rope else [])])
                        writer.write(f"{opener}.totals", key, value, f"{code.constant(folder.take)}({given})")
                        known = self._known(entry, node, names, opener, writer.start)
                        if rope:
                            known["$parts"] = f"{code.constant(folder.rope)}({opener}, {writer.group})"
                        self.results.hand_on(code, entry, node, known, writer, start, t2, "True")

    def _firm(self, node: p.Fold) -> list[str]:
        """Return the groups that openers are found by."""
        assert node.opener is not None
        both = sure(node.opener) & sure(node.element)
        return [v for v in node.groups if v in node.opener.exports and v in both]

    def _shared_key(self, code: Code, node: p.Fold, folder: Folder, names: Names, opener: str) -> tuple[str, list[str]]:
        """Return the name of the groups' values, and the tests that an opener and an element have the same."""
        assert node.opener is not None
        key, firm, element = code.fresh("q"), self._firm(node), node.element.exports
        if all(v in firm or v not in node.opener.exports for v in node.groups):
            code(f"{key} = {tuple_of([names[v] for v in node.groups]) if node.groups else '()'}")
            return key, []
        values = tuple_of([names[v] for v in element])
        return key, [f"({key} := {code.constant(folder.shared)}({opener}.values, {values})) is not None"]

    def _known(self, entry: Wired, node: p.Fold, names: Names, opener: str, last: str) -> Names:
        """Return the values of a match: those of the opener, and of its groups what it does not bind."""
        assert node.opener is not None
        left, known = node.opener.exports, {"$token": "None", "$first": f"{opener}.end", "$last": last}
        for name in self.results.columns(entry, node):
            if name in left and name != "$last":
                known[name] = mine = f"{opener}.values[{left.index(name)}]"
                if name in node.groups and name not in sure(node.opener):
                    known[name] = f"({names[name]} if {mine} is None else {mine})"
            elif name not in known:
                known[name] = names[name] if name in node.groups else "None"
        return {name: known[name] for name in self.results.columns(entry, node)}

    def folder(self, entry: Wired, node: p.Fold) -> Folder:
        """Return the operator of an aggregate with an opener."""
        assert node.opener is not None
        left, element = node.opener.exports, node.element.exports
        out = self.results.columns(entry, node)
        # what is aggregated has no value outside: the opener may have a variable of the same name
        seen = [v if v in node.groups or v[0] == "$" else "" for v in element]
        result, combine = self.results.result(node, out), combiner(out, left, seen)
        nothing = tuple(None for _ in element)
        row = FOLDS[node.kind]

        def at_opener(opener: Opener) -> Values | None:
            bound = dict(zip(left, opener.values, strict=True))
            found = combine(
                opener, nothing, None, bound.get("$last", opener.start), [], FoldRope(bound.get("$parts"), [], 0, 0)
            )
            if any(bound.get(v) is None for v in node.at_opener):
                return None
            return result(found, row.first)

        def with_value(
            opener: Opener, values: Values, value: Value, last: int, taken: list[Values], rope: Rope
        ) -> Values | None:  # fmt: skip
            return result(combine(opener, values, None, last, taken, rope), value)

        firm = self._firm(node)
        return Folder(
            left_key=picker(left, firm), element_key=picker(element, firm),
            fold=row, value=self._value_function(node), shared=sharer(left, element, node.groups),
            combine=with_value, at_opener=at_opener, emit=self.emission.emitter(entry, out),
            repeats=None if Once.among(left) is None else repeater(left),
            keep=self.special.keep(node), fail=self.special.fail(entry), marked="$ids" in element,
            told=self.base.told if "$parts" in element else None, rope_of=rope_of(element),
            waiting_rope=waiting_rope(left),
        )  # fmt: skip

    def _value_function(self, node: p.Fold) -> Callable[..., Value]:
        exports = node.element.exports
        code = Code([f"v{i}" for i in range(len(exports))])
        code(f"return {self.results.value(code, node, {v: f'v{i}' for i, v in enumerate(exports)})}")
        return self.base.finish(code, "aggregated value")
