"""The table of what stands directly under a node says all: every pattern or term that a node holds is in it."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from etalis.language import syntax as s
from etalis.language.traversal import ACTION_PARTS, PARTS

pytestmark = pytest.mark.fast

TERMS, PATTERNS, ACTIONS = set(get_args(s.Term)), set(get_args(s.Pattern)), set(get_args(s.Action))


def held(node: type, kinds: set[type]) -> set[str]:
    """Return the fields of a node that hold values of some types, one or several."""
    hints = get_type_hints(node)
    inside = {
        name: {hint, *get_args(hint), *(x for a in get_args(hint) for x in get_args(a))} for name, hint in hints.items()
    }
    return {field.name for field in fields(node) if inside[field.name] & kinds}


def test_every_node_is_in_the_table() -> None:
    assert PARTS.keys() == PATTERNS
    assert ACTION_PARTS.keys() == ACTIONS


@pytest.mark.parametrize("node", PARTS, ids=lambda node: node.__name__)
def test_no_field_is_left_out(node: type) -> None:
    if node is s.EventPattern:  # the names of attributes are no terms of their own
        assert held(node, TERMS) == {"args", "names"}
        return
    assert held(node, PATTERNS) == set(PARTS[node].patterns)
    assert held(node, TERMS) == set(PARTS[node].terms)


@pytest.mark.parametrize("node", ACTION_PARTS, ids=lambda node: node.__name__)
def test_no_field_of_an_action_is_left_out(node: type) -> None:
    parts = ACTION_PARTS[node]
    assert held(node, TERMS) == set(parts.terms)
    assert held(node, PATTERNS) == set(parts.patterns)
    assert held(node, ACTIONS) == set(parts.actions)
