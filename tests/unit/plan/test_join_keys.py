"""Which conditions become the keys of which joins: the rule, then the keys of its joins, the outer ones first."""

from __future__ import annotations

import pytest

from etalis.language.flags import Settings
from etalis.language.read.parser import parse
from etalis.language.rules import event_rules
from etalis.plan import algebra as p
from etalis.plan.explain.wording import key_text
from etalis.plan.rules import plan_rules

ALONE = (
    ("a(I) seq b(J) where I = J", ["I = J"]),
    ("a(I) seq b(J) where J == I", ["I = J"]),
    ("a(I) and b(J) where (I = J, likes(I))", ["I = J"]),
    ("a(X) seq b(Y) where X =:= Y + 500", ["X =:= Y + 500"]),
    ("a(X) seq b(Y) where Y - X =:= 500", ["X + 500 =:= Y"]),
    ("a(X) seq b(Y) where X is Y mod 7", ["X =:= Y mod 7"]),
    ("a(X) seq b(Y) where (X > 0, X =:= Y)", ["X =:= Y"]),
    ("a(I) seq b(J) where link(J, I)", ["link(J, I)"]),
    ("a(I) seq b(J) where link(I, J, home)", ["link(I, J, home)"]),
    ("(a(I) or b(I)) seq c(J) where I = J", ["I = J"]),
    ("(a(I) or b(K)) seq c(I, K)", ["I where bound, K where bound"]),
    # what comes before must be silent
    ("a(I) seq b(J) where (likes(I), I = J)", [""]),
    ("a(I) seq b(J) where (I / J > 2, I = J)", [""]),
    ("a(I) seq b(J) where (\\+ I = 3, number(J), I = J)", ["I = J"]),
    # a look-up needs no second key, and is none
    ("a(I, K) seq b(J, K) where link(I, J)", [""]),
    ("a(I) seq b(J) where (I = J, link(I, J))", ["I = J"]),
    # what is not one variable of each side
    ("a(I, K) seq b(K) where I = K", [""]),
    ("a(I) seq b(J) where I = f(J)", [""]),
    ("a(I) seq b(J) where (I = J ; I = 3)", [""]),
    ("a(I) seq b(J) where \\+ I = J", [""]),
    ("(a(I) or b(K)) seq c(J) where I = J", [""]),
    ("a(I) ntimes 2 seq b(J) where I = J", [""]),
)
NESTED = (
    ("((a(I) seq b(J)) seq c(K)) where I = J", ["", "I = J"]),
    ("((a(I) seq b(J)) seq c(K)) where J = K", ["J = K", ""]),
    ("((a(I) seq b(J)) seq c(K)) where (K > 1, I = J)", ["", ""]),
    ("((a(I) seq b(J) where likes(I)) seq c(K)) where I = J", ["", ""]),
    ("((a(I) seq b(J)) or (c(I) seq a(J))) where I = J", ["I = J", "I = J"]),
    ("c(K) seq aggregate(count, (a(I) seq b(J)), N) where (N > 1, I = J)", [""]),
)


def keys(pattern: str, policy: str) -> list[str]:
    heads = plan_rules(event_rules(parse(f"r <- {pattern}.")), Settings(policy=policy))
    joins = [node for head in heads for node in p.walk(head.body) if isinstance(node, p.Join)]
    return [", ".join(map(key_text, join.keys_on)) for join in joins]


@pytest.mark.parametrize("policy", ["unrestricted", "chronological", "recent", "continuous", "cumulative"])
@pytest.mark.parametrize(("pattern", "expected"), ALONE)
def test_a_join_has_the_keys_of_its_own_condition(pattern: str, expected: list[str], policy: str) -> None:
    assert keys(pattern, policy) == expected


@pytest.mark.parametrize(("pattern", "expected"), NESTED)
def test_where_nothing_is_consumed_conditions_key_inner_joins(pattern: str, expected: list[str]) -> None:
    assert keys(pattern, "unrestricted") == expected
    only_own = [key if place == 0 and pattern.endswith("J = K") else "" for place, key in enumerate(expected)]
    assert keys(pattern, "recent") == only_own


@pytest.mark.parametrize(("pattern", "expected"), [*ALONE, *NESTED])
def test_the_newest_replaces_whatever_its_key(pattern: str, expected: list[str]) -> None:
    assert keys(pattern, "snoop_recent") == [""] * len(expected)


def test_numbers_that_must_be_plain_are_named() -> None:
    head = plan_rules(event_rules(parse("r <- a(X) seq b(Y) where (X > 0, X =:= Y).")), Settings(policy="recent"))[0]
    assert isinstance(head.body, p.Join)
    assert [pair.numbers for pair in head.body.keys_on] == [("X",)]
