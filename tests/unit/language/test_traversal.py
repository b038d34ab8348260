"""The table of what stands directly under a node says all: every pattern or term that a node holds is in it."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from etalis.errors import Source
from etalis.language import syntax as s
from etalis.language.flags import Settings, settings
from etalis.language.read.parser import parse, parse_rule
from etalis.language.traversal import ACTION_PARTS, PARTS, Walk, fold, pattern_variables, postorder

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


@pytest.mark.parametrize(
    "body", ["a(X) seq b(X) where X > 1 within 5", "(a(X) or b) cnot c(Y)", "any(2, [a, b(X), 7])"]
)
def test_a_walk_finds_what_is_found_without_it(body: str) -> None:
    pattern = parse_rule(f"d <- {body}").pattern
    walk, nodes = Walk(pattern), postorder(pattern)
    assert [id(node) for node in walk.nodes] == [id(node) for node in nodes]
    assert list(walk.variables()) == list(pattern_variables(pattern))
    assert walk.fold(lambda node, parts: (node, parts)) == fold(pattern, lambda node, parts: (node, parts))
    for kind in PARTS:
        assert list(walk.of(kind)) == [node for node in nodes if isinstance(node, kind)]
        assert walk.has(kind) == any(isinstance(node, kind) for node in nodes)


@pytest.mark.parametrize("text", ["", "\n", "a\nbc\n\n\u2028d\r\ne", "\n\nx"])
def test_places_are_counted_by_line_ends(text: str) -> None:
    for offset in range(len(text) + 2):
        line = text.count("\n", 0, offset)
        column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        assert Source("t", text, 3).place(offset) == (line + 3, column)


def test_a_program_without_flags_has_the_default_settings() -> None:
    assert settings(parse("d <- a.")) == Settings()
    assert settings(parse(":- set_flag(rule_sharing, off).")) == Settings(sharing=False)
    assert settings(s.Tree(()), {"rule_sharing": "off"}) == Settings(sharing=False)
