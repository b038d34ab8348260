"""A leaf of a registered expression: what fills it, and what it then binds its variables to.

It is fed in one of two ways: by type, by every instance of its operator and language that has its parameters and
constants; or, where somebody provides it, by its own id, with bindings alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from etalis.snoop.expression import Expression, Path, leaves
from etalis.snoop.normal_form import outputs_of, used_values
from etalis.snoop.values import convert

Values: TypeAlias = tuple[Any, ...]  # of the outputs of a leaf, in their order, as the engine holds them


@dataclass(frozen=True, slots=True)
class RequiredValue:
    """A parameter that must have a value."""

    name: str
    type: str | None
    value: Any


@dataclass(frozen=True, slots=True)
class Discarded:
    """Why an instance is none of a leaf."""

    reason: str


@dataclass(frozen=True, slots=True)
class ExpressionLeaf:
    """A leaf: its outputs, the parameters that bind them, the constants; `by_id` where its provider signals it."""

    path: Path
    expression: Expression
    outputs: tuple[str, ...]
    inputs: Mapping[str, str]
    by_id: bool
    constants: tuple[RequiredValue, ...] = ()
    binds: tuple[tuple[str, str | None, int], ...] = ()  # parameter, type, which output
    types: Mapping[str, str | None] = field(default_factory=dict)

    def fill(self, parameters: Mapping[str, str]) -> Values | None:
        """Return what an instance of its type binds its outputs to; None if it is none of the leaf."""
        for constant in self.constants:
            told = parameters.get(constant.name)
            if told is None or convert(told, constant.type) != constant.value:
                return None
        values: list[Any] = [None] * len(self.outputs)
        for name, type, place in self.binds:  # noqa: A001
            text = parameters.get(name)
            value = None if text is None else convert(text, type)
            if value is None or values[place] not in (None, value):
                return None
            values[place] = value
        return tuple(values)

    def bind(self, bindings: Mapping[str, str]) -> Values | Discarded:
        """Return the values of the outputs that a provider tells; `Discarded` if they are not those of the leaf."""
        reasons = [f"{name} undeclared" for name in bindings if name not in self.outputs and name not in self.inputs]
        for name, value in self.inputs.items():
            if name in bindings and not self._is_input(name, bindings[name], value):
                reasons.append(f"{name} is {bindings[name]}, not {value}")
        found: list[Any] = []
        for name in self.outputs:
            told = convert(bindings[name], self.types.get(name)) if name in bindings else None
            found.append(told)
            if name not in bindings:
                reasons.append(f"{name} unbound")
            elif told is None:
                reasons.append(f"{name} is {bindings[name]}, which is no {self.types[name]}")
        return Discarded(", ".join(reasons)) if reasons else tuple(found)

    def _is_input(self, name: str, told: str, value: str) -> bool:
        type = self.types.get(name)  # noqa: A001
        return convert(told, type) == convert(value, type)


def leaves_of(expression: Expression, provided: Collection[str] = ()) -> tuple[ExpressionLeaf, ...]:
    """Return the leaves of an expression in normal form; `provided` are the languages that have a provider."""
    uses = used_values(expression)
    return tuple(_leaf(path, node, uses, provided) for path, node in leaves(expression))


def _leaf(path: Path, node: Expression, uses: dict[str, str], provided: Collection[str]) -> ExpressionLeaf:
    outputs = outputs_of(node, uses)
    if node.kind != "atomic":
        return ExpressionLeaf(path, node, outputs, uses, True)
    constants: list[RequiredValue] = []
    binds: list[tuple[str, str | None, int]] = []
    types: dict[str, str | None] = {}
    for given in node.parameters:
        text = given.value if given.variable is None else uses.get(given.variable)
        if given.variable is not None:
            types.setdefault(given.variable, given.type)
        if text is not None:
            constants.append(RequiredValue(given.name, given.type, convert(text, given.type)))
        elif given.variable is not None:
            binds.append((given.name, given.type, outputs.index(given.variable)))
    by_id = node.language in provided
    return ExpressionLeaf(path, node, outputs, uses, by_id, tuple(constants), tuple(binds), types)
