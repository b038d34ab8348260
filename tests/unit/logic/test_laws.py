"""Laws of terms: unification is symmetric, copies are variants, the standard order is total."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.data.values import Struct, order_key, real, to_value
from etalis.logic.terms.order import compare, sort_key
from etalis.logic.terms.unify import Trail, Variable, copy, deref, from_value, undo, unify, variables
from etalis.logic.terms.unify import to_value as term_to_value
from etalis.logic.terms.write import decimal_text, format_term

pytestmark = pytest.mark.property

ATOMIC = st.one_of(
    st.sampled_from(["a", "b", "[]", "", "é"]),
    st.integers(-3, 3),
    st.sampled_from([0.5, 1.0, -1.0, 2.5]).map(real),
    st.just(()),
)


@st.composite
def term_lists(draw: st.DrawFn, count: int) -> list[Any]:
    """Draw terms that share a few variables."""
    shared = [Variable() for _ in range(3)]
    leaves = st.one_of(ATOMIC, st.sampled_from(shared))
    terms = st.recursive(
        leaves,
        lambda t: st.one_of(
            st.tuples(st.sampled_from(["f", "g"]), t),
            st.tuples(st.sampled_from(["f", "[|]"]), t, t),
        ),
        max_leaves=8,
    )
    return [draw(terms) for _ in range(count)]


VALUES = st.recursive(
    ATOMIC,
    lambda v: st.one_of(
        st.lists(v, max_size=3).map(tuple), st.lists(v, min_size=1, max_size=2).map(lambda a: Struct("f", a))
    ),
    max_leaves=8,
)


@given(term_lists(2))
def test_unification_is_symmetric(terms: list[Any]) -> None:
    a, b = terms
    trail = Trail()
    forth = unify(a, b, trail)
    undo(trail, 0)
    assert unify(b, a, trail) == forth
    undo(trail, 0)
    assert all(v.ref is None for v in variables(("f", a, b)))


@given(term_lists(2))
def test_unified_terms_are_identical(terms: list[Any]) -> None:
    a, b = terms
    trail = Trail()
    if unify(a, b, trail) and acyclic(a) and acyclic(b):
        assert compare(a, b) == 0
        assert unify(a, b, trail)


def acyclic(term: Any, above: tuple[int, ...] = ()) -> bool:
    term = deref(term)
    if not isinstance(term, tuple):
        return True
    return id(term) not in above and all(acyclic(part, (*above, id(term))) for part in term[1:])


@given(term_lists(1))
def test_a_copy_has_the_same_shape_and_other_variables(terms: list[Any]) -> None:
    (term,) = terms
    twin = copy(term)
    assert not set(variables(term)) & set(variables(twin))
    assert [variables(term).index(v) for v in variables(term)] == [variables(twin).index(v) for v in variables(twin)]
    assert format_term(term) == format_term(twin)
    assert unify(term, twin, Trail())


@given(term_lists(3))
def test_the_standard_order_is_total(terms: list[Any]) -> None:
    for a, b in product(terms, terms):
        assert compare(a, b) == -compare(b, a)
    a, b, c = sorted(terms, key=sort_key)
    assert max(compare(a, b), compare(b, c), compare(a, c)) <= 0


@given(VALUES, VALUES)
def test_ground_terms_agree_with_their_values(a: Any, b: Any) -> None:
    assert term_to_value(from_value(a)) == a
    assert to_value(a) == a
    assert unify(from_value(a), from_value(b), Trail()) == (a == b)
    if compare(from_value(a), from_value(b)) < 0:
        assert order_key(a) <= order_key(b)


@given(st.integers(0, 4000), st.integers(-(10**40), 10**40))
def test_long_integers_are_written_in_full(zeros: int, number: int) -> None:
    assert decimal_text(number * 10**zeros * 10**zeros) == (str(number) + "0" * zeros + "0" * zeros if number else "0")
