"""Conditions as code for the machine: arithmetic and comparison of numbers, equality of values.

What the code cannot do exactly is asked of the function that the engine itself would call: a goal that has no code at
all, and a single answer where 64 bits do not hold a number, a float overflows, or a number is null.
"""

from __future__ import annotations

from collections.abc import Mapping

from etalis.columnar.data.flat import type_of
from etalis.columnar.recursion import opcodes as t
from etalis.columnar.recursion.encoding import Texts
from etalis.language.lower import to_logic
from etalis.logic.inline import python_source as n
from etalis.logic.inline.inline import inline
from etalis.plan import algebra as p

_SUMS = {
    "+": (t.ADD, t.ADD_R), "-": (t.SUB, t.SUB_R), "logic_add_2": (t.ADD, t.ADD_R),
    "logic_subtract_2": (t.SUB, t.SUB_R), "logic_multiply_2": (t.MUL, t.MUL_R),
}  # fmt: skip
_CHOICES = {"logic_min_2": t.LESSER, "logic_max_2": t.GREATER}
_OF_ONE = {"logic_negate_1": (t.NEGATE, t.NEGATE_R), "logic_abs_1": (t.ABSOLUTE, t.ABSOLUTE_R)}
_ORDER = {"<": (t.LESS, t.LESS_R), "<=": (t.AT_MOST, t.AT_MOST_R)}
_TURNED = {">": "<", ">=": "<="}


class _NoCodeError(Exception):
    """The machine has no code for this."""


def encode(test: p.Condition, types: Mapping[str, str], slots: Mapping[str, int], texts: Texts) -> list[int] | None:
    """Return the code of a condition over an instance's slots, None if it has none; jumps count from where they stand.

    `types` has those of its variables, of what it binds too.
    """
    if test.kind != "where":
        return None
    found = inline(to_logic(test.goal), {v: types[v] for v in test.inputs})
    if found is None or found.stands or {v for v, _ in found.bindings} != set(test.outputs):
        return None
    writer = _Writer(types, slots, texts)
    try:
        writer.truth(found.node)
    except _NoCodeError:
        return None
    return [*writer.code, t.END] if writer.most < t.CALC else None


class _Writer:
    def __init__(self, types: Mapping[str, str], slots: Mapping[str, int], texts: Texts) -> None:
        self.types = types
        self.slots = slots
        self.texts = texts
        self.code: list[int] = []
        self.height = 0
        self.most = 0

    def put(self, op: int, *operands: int, grows: int) -> None:
        self.code.extend((op, *operands))
        self.height += grows
        self.most = max(self.most, self.height)

    def truth(self, node: n.Node) -> None:
        """Write a test."""
        match node:
            case n.Truth(holds=holds):
                self.put(t.CONST, t.TRUE if holds else t.FALSE, grows=1)
            case n.Both(first=first, second=second):
                self._decided(t.UNLESS, first, second)
            case n.Either(first=first, second=second):
                self._decided(t.UNLESS_NOT, first, second)
            case n.Negated(node=inner):
                self.truth(inner)
                self.put(t.NOT, grows=0)
            case n.Branch():
                self._branch(node)
            case n.Bind(name=name, value=value):
                if self.value(value) != self.types[name]:
                    raise _NoCodeError
                self.put(t.BIND, self.slots[name], grows=0)
            case n.Infix(operator=operator, left=left, right=right) if operator in _TURNED:
                self.truth(n.Infix(_TURNED[operator], right, left))
            case n.Infix(operator=operator, left=left, right=right) if operator in _ORDER:
                self._numbers(_ORDER[operator], left, right, compares=True)
            case n.Infix(operator="==" | "!=" as operator, left=left, right=right):
                self._same(left, right)
                if operator == "!=":
                    self.put(t.NOT, grows=0)
            case n.Apply(function="logic_equal", args=(left, right)):
                self._numbers((t.EQUAL, t.EQUAL_R), left, right, compares=True)
            case _:
                raise _NoCodeError

    def _decided(self, jump: int, first: n.Node, second: n.Node) -> None:
        self.truth(first)
        self.put(jump, 0, grows=-1)
        place = len(self.code) - 1
        self.truth(second)
        self.code[place] = len(self.code) - place

    def _branch(self, node: n.Branch) -> None:
        self.truth(node.test)
        self.put(t.IF_NOT, 0, grows=-1)
        to_otherwise = len(self.code) - 1
        self.truth(node.then)
        self.put(t.JUMP, 0, grows=-1)
        to_end = len(self.code) - 1
        self.code[to_otherwise] = len(self.code) - to_otherwise
        self.truth(node.otherwise)
        self.code[to_end] = len(self.code) - to_end

    def _same(self, left: n.Node, right: n.Node) -> None:
        """Write whether two values are one: of one type, since nulls aside values of two types never are."""
        kinds = self.value(left), self.value(right)
        if kinds[0] != kinds[1]:
            raise _NoCodeError
        self.put(t.SAME_R if kinds[0] == "float" else t.SAME, grows=-1)

    def value(self, node: n.Node) -> str:
        """Write a value; return its type."""
        match node:
            case n.Local(name=name):
                self.put(t.LOAD, self.slots[name], grows=1)
                return self.types[name]
            case n.Constant(value=value):
                kind = type_of(value)
                if kind == "term" or value == "null":
                    raise _NoCodeError
                word = self.texts.word(value, kind)
                assert word is not None
                self.put(t.CONST, word, grows=1)
                return kind
            case n.Infix(operator=name, left=left, right=right) if name in _SUMS:
                return self._numbers(_SUMS[name], left, right, compares=False)
            case n.Apply(function=name, args=(left, right)) if name in _SUMS:
                return self._numbers(_SUMS[name], left, right, compares=False)
            case n.Apply(function=name, args=(left, right)) if name in _CHOICES:
                if (self.value(left), self.value(right)) != ("int", "int"):
                    raise _NoCodeError
                self.put(_CHOICES[name], grows=-1)
                return "int"
            case n.Apply(function=name, args=(only,)) if name in _OF_ONE:
                kind = self._number(only)
                self.put(_OF_ONE[name][kind == "float"], grows=0)
                return kind
            case _:
                raise _NoCodeError

    def _number(self, node: n.Node) -> str:
        kind = self.value(node)
        if kind == "string":
            raise _NoCodeError
        return kind

    def _numbers(self, ops: tuple[int, int], left: n.Node, right: n.Node, *, compares: bool) -> str:
        """Write an operation on two numbers; an integer beside a float becomes one."""
        kinds = self._kind(left), self._kind(right)
        real = "float" in kinds
        for node, kind in zip((left, right), kinds, strict=True):
            self._number(node)
            if real and kind == "int":
                self.put(t.TO_REAL, grows=0)
        self.put(ops[real], grows=-1)
        return "int" if compares or not real else "float"

    def _kind(self, node: n.Node) -> str:
        """Return the type of a number without writing it."""
        spare = _Writer(self.types, self.slots, self.texts)
        return spare.value(node)
