"""From an expression to the program that detects it (service: "from expression to detection").

The program knows the form of the expression alone: which leaf is of which kind of event, which variables leaves have in
common, operators, context and time. No text of a user is in it: kinds are `in1`, `in2`, variables `V1`, `V2`; constants
are compared before an instance comes here. So expressions that differ in constants and names share one program.

An instance is one event of its kind, of all leaves with its operator and language: its own text N, and of each leaf
whether the instance fills it, with the values of the leaf's variables. So all leaves are offered it at once. The head
is `found(V1, ..., N1, ..., Nk)`: what variables are bound to, and which instance each leaf contributed, or null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce

from etalis.language import syntax as s
from etalis.language.check.checks import check
from etalis.language.given_tree import read_tree
from etalis.runtime.compiled import CompiledProgram, compile_tree
from etalis.snoop.expression import CONTEXTS, NUMBER, OPERATORS, Argument, Expression, Path, contributing_leaves, leaves
from etalis.snoop.normal_form import outputs_of, used_values

MOST_WAITING = 10_000  # instances that one registration may hold
PROGRAMS = 1_024  # that are kept compiled
FOUND = "found"
FILLED, EMPTY = "+", "-"


@dataclass(frozen=True, slots=True)
class LeafColumns:
    """Where an event of `kind` has the part of a leaf: whether it fills it, then its variables."""

    kind: str
    first: int
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExpressionProgram:
    """The program of an expression: which events its leaves read, and what its head says."""

    tree: s.Tree
    variables: tuple[str, ...]
    contributing: tuple[Path, ...]
    gathered: frozenset[Path]  # leaves of which the head has the list of all instances
    leaves: Mapping[Path, LeafColumns]
    widths: Mapping[str, int]

    def program(self) -> CompiledProgram:
        """Return the program, compiled once for all expressions of the form."""
        return _compiled(self.tree)


@lru_cache(maxsize=PROGRAMS)
def _compiled(tree: s.Tree) -> CompiledProgram:
    read = read_tree(tree, "SNOOP-R")  # its warnings would tell the client nothing: the expression has been checked
    return compile_tree(read, check(read))


def translate(expression: Expression, *, most_waiting: int = MOST_WAITING) -> ExpressionProgram:
    """Return the program of an expression in its normal form."""
    uses = used_values(expression)
    found = {path: (leaf, outputs_of(leaf, uses)) for path, leaf in leaves(expression)}
    columns, widths = _columns(found)
    telling = [path for path, _ in contributing_leaves(expression)]
    gathered = frozenset(path for path in telling if is_gathered(expression, path))
    told = {name for path in telling if path not in gathered for name in found[path][1]}
    names = tuple(dict.fromkeys(name for _, outputs in found.values() for name in outputs))
    variables = {name: s.Var(f"V{i}") for i, name in enumerate(names, 1)}
    writer = _Writer(columns, widths, variables, "follows" if expression.time == "points" else "seq")
    pattern = writer.pattern(expression, ())
    head = s.EventPattern(
        FOUND, (*(variables[name] for name in names if name in told), *(s.Var(number_of(path)) for path in telling))
    )
    flags = (
        s.SetFlag("event_consumption_policy", s.Const(CONTEXTS[expression.context or "recent"])),
        s.SetFlag("hard_limit", s.Const(most_waiting)),
        s.SetFlag("shedding", s.Const("oldest")),
    )
    shown = tuple(name for name in names if name in told)
    return ExpressionProgram(s.Tree((*flags, s.Rule(head, pattern))), shown, tuple(telling), gathered, columns, widths)


def _columns(
    found: Mapping[Path, tuple[Expression, tuple[str, ...]]],
) -> tuple[dict[Path, LeafColumns], dict[str, int]]:
    """Give every leaf its columns: leaves of one operator and language have a kind of event in common."""
    kinds: dict[object, str] = {}
    widths: dict[str, int] = {}
    columns: dict[Path, LeafColumns] = {}
    for path, (leaf, outputs) in found.items():
        key: object = (leaf.operator, leaf.language) if leaf.kind == "atomic" else path
        kind = kinds.setdefault(key, f"in{len(kinds) + 1}")
        first = widths.setdefault(kind, 1)
        columns[path] = LeafColumns(kind, first, outputs)
        widths[kind] = first + 1 + len(outputs)
    return columns, widths


class _Writer:
    """Writes the pattern of one expression."""

    def __init__(
        self, columns: Mapping[Path, LeafColumns], widths: Mapping[str, int], variables: Mapping[str, s.Var], after: str
    ) -> None:
        self._columns = columns
        self._widths = widths
        self._variables = variables
        self._after = after
        self._anonymous = 0

    def pattern(self, node: Expression, path: Path, mark: str = "") -> s.Pattern:
        if node.is_leaf:
            return self._leaf(path, mark)
        gathered = OPERATORS[node.operator or ""].gathered
        parts = [
            self.pattern(argument.expression, (*path, i), "_each" if i == gathered else "")
            for i, argument in enumerate(node.arguments, 1)
        ]
        match node.operator:
            case "OR":
                return reduce(s.Or, parts)
            case "SEQ":
                return reduce(lambda a, b: s.Binary(self._after, a, b), parts)
            case "ANY":
                return s.AnyOf(count_of(node), tuple(parts))
            case "NOT":
                return s.Negation("cnot", s.Binary(self._after, parts[0], parts[2]), parts[1])
            case "ASTAR":
                instance = s.Var(f"{number_of((*path, 2))}_each")
                between = s.Aggregate("list", instance, parts[1], s.Var(number_of((*path, 2))))
                return s.Binary(self._after, s.Binary("seq", parts[0], between), parts[2])
            case "A":
                return s.Negation("cnot", s.Binary(self._after, parts[0], parts[1]), parts[2])
            case _:
                raise AssertionError(node.operator)

    def _leaf(self, path: Path, mark: str) -> s.EventPattern:
        columns = self._columns[path]
        args: list[s.Term] = [s.Var(f"_#{i}") for i in self._unnamed(self._widths[columns.kind])]
        args[0] = s.Var(number_of(path) + mark)
        args[columns.first] = s.Const(FILLED)
        args[columns.first + 1 : columns.first + 1 + len(columns.outputs)] = [
            self._variables[name] for name in columns.outputs
        ]
        return s.EventPattern(columns.kind, tuple(args))

    def _unnamed(self, count: int) -> Iterator[int]:
        first, self._anonymous = self._anonymous, self._anonymous + count
        return iter(range(first + 1, first + count + 1))


def is_gathered(expression: Expression, path: Path) -> bool:
    """Tell whether all occurrences of a leaf contribute to a result together."""
    node = expression
    for place in path[:-1]:
        node = node.arguments[place - 1].expression
    return bool(path) and OPERATORS[node.operator or ""].gathered == path[-1]


def number_of(path: Path) -> str:
    """Return the variable of the instance that a leaf contributes."""
    return "N" + "_".join(map(str, path))


def count_of(node: Expression) -> int:
    """Return how many of its arguments an ANY in normal form detects."""
    return next(int(p.value) for p in node.parameters if p.name == NUMBER and p.value is not None)


def parts_of(node: Expression, path: Path) -> Iterator[tuple[Path, Argument]]:
    """Yield the arguments of a node with their paths."""
    return (((*path, i), argument) for i, argument in enumerate(node.arguments, 1))
