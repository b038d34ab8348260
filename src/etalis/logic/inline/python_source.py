"""The expressions that goals are inlined to, and how each is written as Python.

Every node is written in brackets. A `Local` is a variable by the name the caller gives it; a `Number` is a local that
has no declared type and is computed before use unless it is a plain number. Python's `and`, `or` and `if` evaluate in
the order of the goals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, assert_never

from etalis.data.values import Real, Value
from etalis.logic.arithmetic.arithmetic import evaluate
from etalis.logic.arithmetic.functions import BINARY, UNARY, numbers_equal
from etalis.logic.arithmetic.functions import Number as Numeric
from etalis.logic.terms.unify import from_value, rim_number


@dataclass(frozen=True, slots=True)
class Truth:
    """True or False."""

    holds: bool


@dataclass(frozen=True, slots=True)
class Local:
    """A bound variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """The number that a variable of no declared type stands for; an error if it is none."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A value of the program."""

    value: Value


@dataclass(frozen=True, slots=True)
class Infix:
    """A Python operator between two expressions."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Sum:
    """`+` or `-` of which an operand has no declared type: plain where both are integers, else the checked function."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of `HELPERS`."""

    function: str
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """A test that is passed in."""

    test: Callable[..., bool]
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """A variable that gets its value here; always true."""

    name: str
    value: Node


@dataclass(frozen=True, slots=True)
class Both:
    """One after the other."""

    first: Node
    second: Node


@dataclass(frozen=True, slots=True)
class Either:
    """The first, else the second."""

    first: Node
    second: Node


@dataclass(frozen=True, slots=True)
class Negated:
    """Not."""

    node: Node


@dataclass(frozen=True, slots=True)
class Branch:
    """`then` if the test holds, else `otherwise`."""

    test: Node
    then: Node
    otherwise: Node


Node: TypeAlias = (
    Truth | Local | Number | Constant | Infix | Sum | Apply | Ask | Bind | Both | Either | Negated | Branch
)
Names: TypeAlias = Mapping[str, str]
ConstantNames: TypeAlias = Callable[[Any], str]  # of a value, or of a function that is passed in


def write(node: Node, names: Names, constant: ConstantNames) -> str:
    """Write an expression as Python."""
    match node:
        case Truth(holds=holds):
            return str(holds)
        case Local(name=name):
            return names[name]
        case Number(name=name):
            x = names[name]
            return f"({x} if {x}.__class__ in logic_numbers else logic_number({x}))"
        case Constant(value=value):
            return constant(value)
        case Infix(operator=operator, left=left, right=right):
            return f"({write(left, names, constant)} {operator} {write(right, names, constant)})"
        case Sum():
            return _write_sum(node, names, constant)
        case Apply(function=function, args=args):
            return f"{function}({', '.join(write(arg, names, constant) for arg in args)})"
        case Ask(test=test, args=args):
            return f"{constant(test)}({', '.join(write(arg, names, constant) for arg in args)})"
        case Bind(name=name, value=value):
            return f"(({names[name]} := {_write_result(value, names, constant)}) is not None)"
        case Both(first=first, second=second):
            return f"({write(first, names, constant)} and {write(second, names, constant)})"
        case Either(first=first, second=second):
            return f"({write(first, names, constant)} or {write(second, names, constant)})"
        case Negated(node=inner):
            return f"(not {write(inner, names, constant)})"
        case Branch(test=test, then=then, otherwise=otherwise):
            parts = (write(part, names, constant) for part in (then, test, otherwise))
            return "({} if {} else {})".format(*parts)
        case _:
            assert_never(node)


def _write_result(node: Node, names: Names, constant: ConstantNames) -> str:
    """Write what a variable is bound to; computed from a value of no declared type it may be a rational."""
    match node:
        case Sum():
            return _write_sum(node, names, constant, rim=True)
        case Number(name=name):
            x = names[name]
            return f"({x} if {x}.__class__ in logic_numbers else logic_rim(logic_number({x})))"
        case Apply(args=args) if any(map(_is_undeclared, args)):
            return f"logic_rim({write(node, names, constant)})"
        case _:
            return write(node, names, constant)


def _is_undeclared(node: Node) -> bool:
    match node:
        case Number():
            return True
        case Apply(args=args):
            return any(map(_is_undeclared, args))
        case Sum(left=left, right=right) | Infix(left=left, right=right):
            return _is_undeclared(left) or _is_undeclared(right)
        case _:
            return False


def _write_sum(node: Sum, names: Names, constant: ConstantNames, *, rim: bool = False) -> str:
    guards = [f"{names[x.name]}.__class__ is int" for x in (node.left, node.right) if isinstance(x, Number)]
    plain = [write(Local(x.name) if isinstance(x, Number) else x, names, constant) for x in (node.left, node.right)]
    checked = write(Apply(helper(node.operator, 2), (node.left, node.right)), names, constant)
    if rim:
        checked = f"logic_rim({checked})"
    return f"({plain[0]} {node.operator} {plain[1]} if {' and '.join(guards)} else {checked})"


_WORDS = MappingProxyType(
    {
        "+": "add",
        "-": "subtract",
        "*": "multiply",
        "/": "divide",
        "//": "quotient",
        "**": "power",
        "^": "caret",
        ">>": "shift_right",
        "<<": "shift_left",
        "/\\": "bit_and",
        "\\/": "bit_or",
        "\\": "bit_not",
    }
)


def helper(name: str, arity: int) -> str:
    """Return the Python name of an arithmetic function."""
    word = _WORDS.get(name, name)
    return f"logic_{'negate' if (name, arity) == ('-', 1) else word}_{arity}"


def number(value: Value) -> Numeric:
    """Compute the number that a value stands for, or raise the solver's error."""
    return evaluate(from_value(value))


HELPERS: Mapping[str, Any] = MappingProxyType(
    {
        "logic_numbers": frozenset((int, float, Real)),
        "logic_number": number,
        "logic_equal": numbers_equal,
        "logic_rim": rim_number,
        **{helper(name, 2): function for name, function in BINARY.items()},
        **{helper(name, 1): function for name, function in UNARY.items()},
    }
)
