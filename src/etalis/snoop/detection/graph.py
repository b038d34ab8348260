"""The event graph of 004 (sections 3.1 and 3.2): a picture of all registrations, computed from their trees.

A leaf stands for an event type, operator and language; an operator node for the operator over its parts' nodes. Both
are shared by all expressions that have them, and keep a definition for each; opaque leaves are never shared.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from etalis.snoop.detection.registration import Registration
from etalis.snoop.detection.rules import count_of, parts_of
from etalis.snoop.expression import Expression, Kind, Path, name_path
from etalis.snoop.markup.write_text import write_leaf


@dataclass(frozen=True, slots=True)
class Definition:
    """What one expression says at a node: its parameters at a leaf, and how many instances wait there."""

    registration: int
    path: Path
    text: str
    waiting: int
    state: str  # of a leaf: alive, ended or failed; else that of the registration


@dataclass(slots=True)
class GraphNode:
    """An event type or an operator over others; `below` are the numbers of its parts' nodes."""

    number: int
    label: str
    kind: Kind
    language: str | None
    below: tuple[int, ...] = ()
    definitions: list[Definition] = field(default_factory=list)

    @property
    def waiting(self) -> int:
        """How many instances wait there, of all definitions."""
        return sum(definition.waiting for definition in self.definitions)


@dataclass(frozen=True, slots=True)
class EventGraph:
    """The nodes of all registered expressions, parts before what is made of them."""

    nodes: tuple[GraphNode, ...]

    def to_plain(self) -> dict[str, Any]:
        """Return nodes, links and definitions as plain data."""
        nodes = [
            {
                "id": str(node.number), "label": node.label, "kind": node.kind, "language": node.language,
                "waiting": node.waiting, "definitions": list(map(_plain, node.definitions)),
            }
            for node in self.nodes
        ]  # fmt: skip
        links = [{"from": str(part), "to": str(node.number)} for node in self.nodes for part in node.below]
        return {"nodes": nodes, "links": links}


def _plain(definition: Definition) -> dict[str, Any]:
    return {
        "expression": definition.registration, "path": name_path(definition.path), "text": definition.text,
        "waiting": definition.waiting, "state": definition.state,
    }  # fmt: skip


def draw_graph(registrations: Iterable[Registration]) -> EventGraph:
    """Return the graph of what is registered now."""
    builder = _Builder()
    for registration in registrations:
        status = registration.status()
        states = {leaf.path: leaf.state for leaf in status.leaves}
        builder.add(registration, registration.expression, (), status.waiting, states)
    return EventGraph(tuple(builder.nodes.values()))


class _Builder:
    def __init__(self) -> None:
        self.nodes: dict[Hashable, GraphNode] = {}

    def add(
        self, registration: Registration, node: Expression, path: Path, waiting: Mapping[Path, int],
        states: Mapping[Path, str],
    ) -> int:  # fmt: skip
        """Add the tree of an expression, bottom up; return the number of its node."""
        below: tuple[int, ...] = ()
        if not node.is_leaf:
            below = tuple(
                self.add(registration, argument.expression, place, waiting, states)
                for place, argument in parts_of(node, path)
            )
        key, label = self._key(registration, node, path, below)
        found = self.nodes.get(key)
        if found is None:
            language = node.language if node.is_leaf else None
            found = self.nodes[key] = GraphNode(len(self.nodes) + 1, label, node.kind, language, below)
        text = write_leaf(node) if node.is_leaf else label
        state = states.get(path, registration.state)
        found.definitions.append(Definition(registration.number, path, text, waiting.get(path, 0), state))
        return found.number

    def _key(
        self, registration: Registration, node: Expression, path: Path, below: tuple[int, ...]
    ) -> tuple[Hashable, str]:
        match node.kind:
            case "composite":
                label = f"ANY {count_of(node)}" if node.operator == "ANY" else node.operator or ""
                return (label, node.parameters, below), label
            case "opaque":
                return (registration.number, path), "opaque"
            case "atomic":
                return (node.language, node.operator), node.operator or ""
            case "external":
                return (node.language, node.operator, node.arguments), node.operator or ""
