"""Which leaves of all registrations an instance fills, by operator and language, then by a constant that they ask for.

So an instance among a thousand expressions costs what it touches: leaves that ask for another artist are not looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, TypeAlias

from etalis.snoop.detection.leaf import ExpressionLeaf, Values
from etalis.snoop.detection.registration import Registration
from etalis.snoop.expression import Path
from etalis.snoop.values import convert

Key: TypeAlias = tuple[str, str]  # operator, language
Entry: TypeAlias = tuple[Registration, ExpressionLeaf]
Named: TypeAlias = dict[tuple[int, Path], Entry]


class _Leaves:
    """The leaves of one operator and language."""

    def __init__(self) -> None:
        self.others: Named = {}
        self.by_constant: dict[tuple[str, str | None], dict[Any, Named]] = {}

    def bucket(self, leaf: ExpressionLeaf) -> Named:
        """Return where a leaf belongs."""
        if not leaf.constants:
            return self.others
        first = leaf.constants[0]
        return self.by_constant.setdefault((first.name, first.type), {}).setdefault(first.value, {})

    def drop(self, leaf: ExpressionLeaf, name: tuple[int, Path]) -> None:
        """Remove a leaf, and its bucket if that is empty."""
        bucket = self.bucket(leaf)
        bucket.pop(name, None)
        if leaf.constants and not bucket:
            first = leaf.constants[0]
            values = self.by_constant[(first.name, first.type)]
            del values[first.value]
            if not values:
                del self.by_constant[(first.name, first.type)]

    def __bool__(self) -> bool:
        return bool(self.others or self.by_constant)


class LeafIndex:
    """The leaves of many registrations that are fed by type."""

    def __init__(self) -> None:
        self._leaves: dict[Key, _Leaves] = {}

    def add(self, registration: Registration) -> None:
        """Add the leaves of a registration."""
        for leaf in registration.leaves:
            if not leaf.by_id:
                found = self._leaves.setdefault(_key_of(leaf), _Leaves())
                found.bucket(leaf)[registration.number, leaf.path] = registration, leaf

    def remove(self, registration: Registration) -> None:
        """Remove the leaves of a registration."""
        for leaf in registration.leaves:
            key = _key_of(leaf)
            if not leaf.by_id and key in self._leaves:
                self._leaves[key].drop(leaf, (registration.number, leaf.path))
                if not self._leaves[key]:
                    del self._leaves[key]

    def find(
        self, operator: str, language: str, parameters: Mapping[str, str]
    ) -> list[tuple[Registration, dict[Path, Values]]]:
        """Return what an instance fills, by registration, those that were registered first before others."""
        leaves = self._leaves.get((operator, language))
        if leaves is None:
            return []
        buckets = [leaves.others] if leaves.others else []
        for (name, type), values in leaves.by_constant.items():  # noqa: A001
            text = parameters.get(name)
            value = None if text is None else convert(text, type)
            if value is not None and value in values:
                buckets.append(values[value])
        found: dict[int, dict[Path, Values]] = defaultdict(dict)
        registrations: dict[int, Registration] = {}
        for bucket in buckets:
            for (number, path), (registration, leaf) in bucket.items():
                filled = leaf.fill(parameters)
                if filled is not None:
                    found[number][path] = filled
                    registrations[number] = registration
        return [(registrations[number], found[number]) for number in sorted(found)]

    def __len__(self) -> int:
        """Return how many leaves there are."""
        found = 0
        for leaves in self._leaves.values():
            buckets = [leaves.others, *(bucket for values in leaves.by_constant.values() for bucket in values.values())]
            found += sum(map(len, buckets))
        return found


def _key_of(leaf: ExpressionLeaf) -> Key:
    return leaf.expression.operator or "", leaf.expression.language or ""
