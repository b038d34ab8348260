"""Queries as they are printed: the standard form, and that it reads as what was printed."""

from __future__ import annotations

from random import Random

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etalis.epsparql.printer import print_unit
from etalis.epsparql.read import read_unit
from etalis.epsparql.read.namespaces import KNOWN
from helpers.chapter_seven import QUERIES, RUNNING_COUNT
from helpers.random_queries import PlainQueryMaker, QueryMaker

HOME = "http://x/"


@given(st.randoms(use_true_random=False))
def test_what_is_printed_reads_as_what_was_printed(random: Random) -> None:
    unit = QueryMaker(random).unit()
    assert read_unit(print_unit(unit)) == unit
    assert read_unit(print_unit(unit, prefixes={"ex": HOME, "": "urn:n:"})) == unit


@given(st.randoms(use_true_random=False))
def test_what_has_no_time_is_printed_as_sparql(random: Random) -> None:
    known = "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in KNOWN.items())
    pyoxigraph.Store().query(known + print_unit(PlainQueryMaker(random).unit()))


@pytest.mark.parametrize("text", QUERIES)
def test_the_queries_of_003_are_printed_in_the_standard_form(text: str) -> None:
    unit = read_unit(text, vocabulary=HOME)
    printed = print_unit(unit, prefixes={"": HOME})
    assert read_unit(printed) == unit


def test_the_running_count_is_printed_as_sparql_writes_it() -> None:
    printed = print_unit(read_unit(RUNNING_COUNT, vocabulary=HOME), prefixes={"": HOME})
    assert (
        printed
        == """\
PREFIX : <http://x/>
CONSTRUCT { _:aaa :hasCount ?count . _:aaa :hasSum ?sum }
WHERE {
  SELECT (?prevcount + 1 AS ?count) (?prevsum + ?price AS ?sum)
  WHERE {
    {
      {
        ?point :hasCount ?prevcount .
        ?point :hasSum ?prevsum .
      }
      SEQ { :ACME :hasStockPrice ?price }
    }
    EQUALSOPTIONAL {
      {
        ?point :hasCount ?prevcount .
        ?point :hasSum ?prevsum .
      }
      SEQ { :ACME :hasStockPrice ?inbetween }
      SEQ { :ACME :hasStockPrice ?price }
    }
    FILTER (!BOUND(?inbetween) && getDURATION() < "P10D"^^xsd:duration)
  }
}
"""
    )
