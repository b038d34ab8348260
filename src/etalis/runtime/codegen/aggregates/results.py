"""What a match of an aggregate has: the value of an element, the result as written, what both bind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.language.traversal import term_variables
from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.runtime.codegen.aggregates.slides import SlideCode
from etalis.runtime.codegen.emission import Emission
from etalis.runtime.codegen.match_tests import MatchTests
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.rule_code import Names, RuleCode
from etalis.runtime.codegen.source import Code, tuple_of
from etalis.runtime.codegen.terms import build, fits
from etalis.runtime.operators.base import Values

MARKS = ("$parts", "$ids")


class OtherOperators(Protocol):
    """What aggregates ask of the other operators of a rule set."""

    base: RuleCode
    tests: MatchTests
    emission: Emission

    def operator(self, entry: Wired) -> Any: ...
    def columns_out(self, entry: Wired) -> tuple[str, ...]: ...
    def keep(self, node: p.Node) -> int | None: ...
    def fail(self, entry: Wired) -> Callable[[str], None]: ...


class FoldResults:
    """Writes what elements bring to the aggregates of a rule set, and what becomes of a value that is reached."""

    def __init__(self, special: OtherOperators) -> None:
        self.special = special
        self.base, self.emission = special.base, special.emission

    def hand_on(
        self,
        code: Code,
        entry: Wired,
        node: p.Fold,
        known: Names,
        writer: SlideCode,
        t1: str,
        t2: str,
        fits: str | None,
    ) -> None:
        """Write what becomes of the value that an element reaches."""
        tests = [f"{writer.result} is not None", *self._meet(code, node, known, writer.result)]
        with code.block(f"if {' and '.join(tests)}:"):
            for name in [v for v in known if not known[v].isidentifier()]:
                local = code.fresh("m")
                code(f"{local} = {known[name]}")
                known[name] = local
            low, high = known.get("$first", t1), known.get("$last", t2)
            passing = self.special.tests.write(code, entry, known, entry.sure, t1, t2, low, high, fits)
            self.emission.guarded(code, entry, passing, known, t1, t2)

    def value(self, code: Code, node: p.Fold, names: Names) -> str:
        """Write the value that an element adds; return its name."""
        term = s.Const(0) if node.value is None else node.value
        written = build(code, term, names, sure(node.element))
        if written.isidentifier():
            return written
        local = code.fresh("v")
        code(f"{local} = {written}")
        return local

    def type_of(self, entry: Wired, node: p.Fold) -> str | None:
        """Return the type of the values, as far as it is known."""
        if not isinstance(node.value, s.Var):
            return None
        reader = next(r for r in entry.inputs[-1].readers if r.target is entry and r.place == len(entry.inputs) - 1)
        own = {theirs: mine for mine, theirs in reader.renames.items()}.get(node.value.name, node.value.name)
        return self.base.types(entry.inputs[-1]).get(own)

    def _meet(self, code: Code, node: p.Fold, known: Names, result: str) -> list[str]:
        """Return the tests that a value meets the result as written; what that binds is added to `known`."""
        match node.result:
            case s.Var(name=name) if name.startswith("_#"):
                return []
            case s.Var(name=name) if name not in self.before(node):
                known[name] = result
                return []
            case s.Const(value=value):
                return [f"{result} == {code.constant(value)}"]
        plain = tuple(v for v in known if v not in MARKS)
        row, met = code.fresh("f"), code.constant(self.result(node, plain))
        test = f"({row} := {met}({tuple_of([known[v] for v in plain]) if plain else '()'}, {result})) is not None"
        known.update({v: f"{row}[{i}]" for i, v in enumerate(plain)})
        return [test]

    def result(self, node: p.Fold, out: tuple[str, ...]) -> Callable[[Values, Value], Values | None]:
        """Return how the value reached joins the others: None where a bound result differs."""
        term = node.result

        def result(found: Values, value: Value) -> Values | None:
            bound = {v: x for v, x in zip(out, found, strict=True) if x is not None}
            if not fits(term, value, bound):
                return None
            return tuple(bound.get(v, x) for v, x in zip(out, found, strict=True))

        return result

    def columns(self, entry: Wired, node: p.Fold) -> tuple[str, ...]:
        """Return what a fold hands on; its result too, where that may be bound before."""
        out = self.special.columns_out(entry)
        before = self.before(node)
        return (*out, *(v for v in term_variables(node.result) if v not in out and v in before))

    def before(self, node: p.Fold) -> set[str]:
        """Return what may be bound when the value is reached."""
        return {*(() if node.opener is None else node.opener.exports), *node.groups}
