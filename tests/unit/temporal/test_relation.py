"""The truth table of the relations, by hand: every relation on the 13 configurations of Allen, and on instants.

Written out from section 3 of the language's definition, not computed; it pins `temporal.relation`, from which every
back end derives its tests.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from etalis.temporal.relation import RELATIONS, WEAK_RELATIONS, Relation

Interval = tuple[int, int]

# How A stands to B, each with A = [a1, a2] and B = [b1, b2].
CONFIGURATIONS: dict[str, tuple[Interval, Interval]] = {
    "A before B": ((1, 2), (3, 4)),
    "A after B": ((3, 4), (1, 2)),
    "A meets B": ((1, 2), (2, 3)),
    "A met by B": ((2, 3), (1, 2)),
    "A overlaps B": ((1, 3), (2, 4)),
    "A overlapped by B": ((2, 4), (1, 3)),
    "A starts B": ((1, 2), (1, 3)),
    "A started by B": ((1, 3), (1, 2)),
    "A during B": ((2, 3), (1, 4)),
    "A contains B": ((1, 4), (2, 3)),
    "A finishes B": ((2, 3), (1, 3)),
    "A finished by B": ((1, 3), (2, 3)),
    "A equals B": ((1, 3), (1, 3)),
    "instants, equal": ((2, 2), (2, 2)),
    "instants, A first": ((1, 1), (2, 2)),
    "instants, B first": ((2, 2), (1, 1)),
    "instant A before B": ((1, 1), (2, 4)),
    "instant A at start of B": ((2, 2), (2, 4)),
    "instant A inside B": ((3, 3), (2, 4)),
    "instant A at end of B": ((4, 4), (2, 4)),
    "instant A after B": ((5, 5), (2, 4)),
    "A before instant B": ((2, 4), (5, 5)),
    "instant B at end of A": ((2, 4), (4, 4)),
    "instant B inside A": ((2, 4), (3, 3)),
    "instant B at start of A": ((2, 4), (2, 2)),
    "A after instant B": ((2, 4), (1, 1)),
}

# In which configurations a relation holds; all others it does not.
STRICT: dict[str, set[str]] = {
    "seq": {"A before B", "instants, A first", "instant A before B", "A before instant B"},
    "forall_seq": {"A before B", "instants, A first", "instant A before B", "A before instant B"},
    "follows": {
        "A before B",
        "A meets B",
        "A overlaps B",
        "A starts B",
        "A during B",
        "instants, A first",
        "instant A before B",
        "instant A at start of B",
        "instant A inside B",
        "A before instant B",
    },
    "and": set(CONFIGURATIONS),
    "par": {
        "A overlaps B",
        "A overlapped by B",
        "A starts B",
        "A started by B",
        "A during B",
        "A contains B",
        "A finishes B",
        "A finished by B",
        "A equals B",
    },
    "equals": {"A equals B", "instants, equal"},
    "meets": {"A meets B", "instants, equal", "instant A at start of B", "instant B at end of A"},
    "during": {"A during B", "instant A inside B"},
    "starts": {"A starts B", "instant A at start of B"},
    "finishes": {"A finishes B", "instant A at end of B"},
}

WEAK: dict[str, set[str]] = STRICT | {
    "during": {
        "A during B",
        "A starts B",
        "A finishes B",
        "A equals B",
        "instants, equal",
        "instant A at start of B",
        "instant A inside B",
        "instant A at end of B",
    },
    "starts": {"A starts B", "A equals B", "instants, equal", "instant A at start of B"},
    "finishes": {"A finishes B", "A equals B", "instants, equal", "instant A at end of B"},
}

# The hull of A and B in the configurations where it is not B.
HULLS: dict[str, Interval] = {
    "A before B": (1, 4),
    "A after B": (1, 4),
    "A meets B": (1, 3),
    "A met by B": (1, 3),
    "A overlaps B": (1, 4),
    "A overlapped by B": (1, 4),
    "A started by B": (1, 3),
    "A contains B": (1, 4),
    "A finished by B": (1, 3),
    "instants, A first": (1, 2),
    "instants, B first": (1, 2),
    "instant A before B": (1, 4),
    "instant A after B": (2, 5),
    "A before instant B": (2, 5),
    "instant B at end of A": (2, 4),
    "instant B inside A": (2, 4),
    "instant B at start of A": (2, 4),
    "A after instant B": (1, 4),
}
OCCURS_ON_B = {"during", "starts", "finishes"}


@pytest.mark.parametrize(("rows", "table"), [(RELATIONS, STRICT), (WEAK_RELATIONS, WEAK)], ids=["strict", "weak"])
@pytest.mark.parametrize("name", sorted(STRICT))
def test_relation_holds_in_exactly_these_configurations(
    name: str, rows: Mapping[str, Relation], table: dict[str, set[str]]
) -> None:
    assert {c for c, (a, b) in CONFIGURATIONS.items() if rows[name].holds(a, b)} == table[name]


@pytest.mark.parametrize(("rows", "table"), [(RELATIONS, STRICT), (WEAK_RELATIONS, WEAK)], ids=["strict", "weak"])
@pytest.mark.parametrize("name", sorted(STRICT))
def test_interval_of_a_pair(name: str, rows: Mapping[str, Relation], table: dict[str, set[str]]) -> None:
    for configuration in table[name]:
        a, b = CONFIGURATIONS[configuration]
        expected = b if name in OCCURS_ON_B else HULLS.get(configuration, b)
        assert rows[name].interval(a, b) == expected, configuration


def test_the_tables_name_the_same_operators() -> None:
    assert set(RELATIONS) == set(WEAK_RELATIONS) == set(STRICT)


def test_only_seq_and_forall_seq_count_as_sequence() -> None:
    assert {name for name, row in RELATIONS.items() if row.sequential} == {"seq", "forall_seq"}
