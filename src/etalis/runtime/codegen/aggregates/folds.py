"""Aggregates in generated code: the value of an element, what a match has, and how the result is met."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Protocol

from etalis.data.values import Value
from etalis.language import syntax as s
from etalis.plan import algebra as p
from etalis.plan.binarize import term_variables
from etalis.plan.bindings import sure
from etalis.runtime.codegen.aggregates.slides import SlideCode
from etalis.runtime.codegen.network import Wired
from etalis.runtime.codegen.source import Code, tuple_of
from etalis.runtime.codegen.terms import build, fits
from etalis.runtime.operators.aggregate import Folder, Opener, Slider
from etalis.runtime.operators.base import Values
from etalis.runtime.operators.combine import combiner, mark_value, marked, picker, repeater, sharer
from etalis.runtime.operators.store import Once
from etalis.temporal.aggregate import FOLDS

Names = dict[str, str]
MARKS = ("$parts", "$ids")


class Operators(Protocol):
    """What aggregates ask of the other operators of a rule set."""

    compiler: Any

    def operator(self, entry: Wired) -> Any: ...
    def columns_out(self, entry: Wired) -> tuple[str, ...]: ...
    def keep(self, node: p.Node) -> int | None: ...
    def fail(self, entry: Wired) -> Callable[[str], None]: ...


class Folds:
    """Writes the aggregates of a rule set."""

    def __init__(self, special: Operators) -> None:
        self.special = special
        self.compiler = special.compiler
        self.outlined: dict[int, Callable[..., None]] = {}

    # over the last elements

    def slider(self, entry: Wired, node: p.Fold) -> Slider:
        """Return the state of an aggregate without opener."""
        keeps = any(v in MARKS for v in self.columns(entry, node))
        return Slider(
            fold=FOLDS[node.kind], within=node.within, last=node.last, keeps=keeps, fail=self.special.fail(entry)
        )

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
            self.outlined[id(entry)] = self.compiler.finish(apart, "fold")
        given = ", ".join([*(names[v] for v in exports), t1, t2])
        code(f"{code.constant(self.outlined[id(entry)])}({given})")
        code.queues = True

    def _take(self, code: Code, entry: Wired, node: p.Fold, names: Names, t1: str, t2: str) -> None:
        if node.opener is None:
            self._slide(code, entry, node, names, t1, t2)
        else:
            self._fold(code, entry, node, names, t1, t2)

    def _slide(self, code: Code, entry: Wired, node: p.Fold, names: Names, t1: str, t2: str) -> None:
        slider, out = self.special.operator(entry), self.columns(entry, node)
        values = [names[v] for v in node.groups]
        key = values[0] if len(values) == 1 else tuple_of(values) if values else "0"
        marks = [v for v in MARKS if v in out]
        writer = SlideCode(code, slider, self._type(entry, node), self._value(code, node, names), t1, t2)
        writer.expire(slider)
        item = tuple_of([t1, writer.value, *(names[v] for v in marks)])
        take = f"{code.constant(slider.take)}({key}, {item}, {t2})"
        writer.write(code.constant(slider.groups), key, item, take)
        known = {v: names[v] if v in node.groups else "None" for v in out}
        for place, mark in enumerate(marks, 2):
            known[mark] = f"{code.constant(unite_marks(slider, mark, place))}({key})"
        self._hand_on(code, entry, node, known, writer, writer.start, t2, "True" if self._fits_windows(node) else None)

    def _hand_on(
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
            passing = self.compiler.tests(code, entry, known, entry.sure, t1, t2, low, high, fits)
            self.compiler.guarded(code, entry, passing, known, t1, t2)

    def _fits_windows(self, node: p.Fold) -> bool:
        """Tell whether what an aggregate slides over is never longer than a window allows."""
        return node.within is not None and all(
            test.duration >= node.within for test in node.tests if isinstance(test, p.Window)
        )

    def _value(self, code: Code, node: p.Fold, names: Names) -> str:
        """Write the value that an element adds; return its name."""
        term = s.Const(0) if node.value is None else node.value
        written = build(code, term, names, sure(node.element))
        if written.isidentifier():
            return written
        local = code.fresh("x")
        code(f"{local} = {written}")
        return local

    def _type(self, entry: Wired, node: p.Fold) -> str | None:
        """Return the type of the values, as far as it is known."""
        if not isinstance(node.value, s.Var):
            return None
        reader = next(r for r in entry.inputs[-1].readers if r.target is entry and r.place == len(entry.inputs) - 1)
        own = {theirs: mine for mine, theirs in reader.renames.items()}.get(node.value.name, node.value.name)
        found: str | None = self.compiler.types(entry.inputs[-1]).get(own)
        return found

    def _meet(self, code: Code, node: p.Fold, known: Names, result: str) -> list[str]:
        """Return the tests that a value meets the result as written; what that binds is added to `known`."""
        match node.result:
            case s.Var(name=name) if name.startswith("_#"):
                return []
            case s.Var(name=name) if name not in self._before(node):
                known[name] = result
                return []
            case s.Const(value=value):
                return [f"{result} == {code.constant(value)}"]
        plain = tuple(v for v in known if v not in MARKS)
        row, met = code.fresh("f"), code.constant(self._result(node, plain))
        test = f"({row} := {met}({tuple_of([known[v] for v in plain]) if plain else '()'}, {result})) is not None"
        known.update({v: f"{row}[{i}]" for i, v in enumerate(plain)})
        return [test]

    def _result(self, node: p.Fold, out: tuple[str, ...]) -> Callable[[Values, Value], Values | None]:
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
        before = self._before(node)
        return (*out, *(v for v in term_variables(node.result) if v not in out and v in before))

    def _before(self, node: p.Fold) -> set[str]:
        """Return what may be bound when the value is reached."""
        return {*(() if node.opener is None else node.opener.exports), *node.groups}

    # since openers

    def _fold(self, code: Code, entry: Wired, node: p.Fold, names: Names, t1: str, t2: str) -> None:
        """Write that an element is folded into every opener before it."""
        folder: Folder = self.special.operator(entry)
        assert node.opener is not None
        if folder.marked:
            given = ", ".join([*(names[v] for v in node.element.exports), t1, t2])
            code(f"{code.constant(folder.on_element)}({given})")
            code.queues = True
            return
        value = self._value(code, node, names)
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
                    start = code.fresh("t")
                    code(f"{start} = {opener}.start")
                    lasts = [f"{start} >= {limit}"] if folder.keep is not None else []
                    with code.block(f"if {' and '.join([f'{opener}.end < {t1}', *lasts, *shares])}:"):
                        writer = SlideCode(code, folder, self._type(entry, node), value, t1, t2)
                        take = f"{code.constant(folder.take)}({opener}, {key}, {value}, {t1})"
                        writer.write(f"{opener}.totals", key, value, take)
                        known = self._known(entry, node, names, opener, writer.start)
                        self._hand_on(code, entry, node, known, writer, start, t2, "True")

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
        for name in self.columns(entry, node):
            if name in left and name != "$last":
                known[name] = mine = f"{opener}.values[{left.index(name)}]"
                if name in node.groups and name not in sure(node.opener):
                    known[name] = f"({names[name]} if {mine} is None else {mine})"
            elif name not in known:
                known[name] = names[name] if name in node.groups else "None"
        return {name: known[name] for name in self.columns(entry, node)}

    def folder(self, entry: Wired, node: p.Fold) -> Folder:
        """Return the operator of an aggregate with an opener."""
        assert node.opener is not None
        left, element = node.opener.exports, node.element.exports
        out = self.columns(entry, node)
        # what is aggregated has no value outside: the opener may have a variable of the same name
        seen = [v if v in node.groups or v[0] == "$" else "" for v in element]
        result, combine = self._result(node, out), combiner(out, left, seen)
        nothing = tuple(None for _ in element)
        row = FOLDS[node.kind]

        def at_opener(opener: Opener) -> Values | None:
            bound = dict(zip(left, opener.values, strict=True))
            found = combine(opener, nothing, None, bound.get("$last", opener.start), [])
            if any(bound.get(v) is None for v in node.at_opener):
                return None
            return result(found, row.first)

        def with_value(opener: Opener, values: Values, value: Value, last: int, taken: list[Values]) -> Values | None:
            return result(combine(opener, values, None, last, taken), value)

        firm = self._firm(node)
        return Folder(
            left_key=picker(left, firm), element_key=picker(element, firm),
            fold=row, value=self._value_function(node), shared=sharer(left, element, node.groups),
            combine=with_value, at_opener=at_opener, emit=self.compiler.emitter(entry, out),
            repeats=None if Once.among(left) is None else repeater(left),
            keep=self.special.keep(node), fail=self.special.fail(entry), marked=marked(element),
        )  # fmt: skip

    def _value_function(self, node: p.Fold) -> Callable[..., Value]:
        exports = node.element.exports
        code = Code([f"v{i}" for i in range(len(exports))])
        code(f"return {self._value(code, node, {v: f'v{i}' for i, v in enumerate(exports)})}")
        return self.compiler.finish(code, "aggregated value")  # type: ignore[no-any-return]


def unite_marks(slider: Slider, mark: str, place: int) -> Callable[[Any], Any]:
    """Return the marks of all items that the value of a group is taken over."""

    def unite(key: Any) -> Any:
        found = frozenset(n for item in slider.groups[key].counted(slider.last) for n in item[place])
        return mark_value(mark, found)

    return unite
