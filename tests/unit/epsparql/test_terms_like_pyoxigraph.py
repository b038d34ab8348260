"""Constants and IRIs of queries are the terms that pyoxigraph makes of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import QuerySolutions, Store

from etalis.data.values import Value
from etalis.epsparql import syntax as s
from etalis.epsparql.read import read_unit
from etalis.logic.rdf.exact_terms import encode

REFERENCES = """
g:h g ./g g/ /g //g ?y g?y #s g#s g?y#s ;x g;x g;x?y#s . ./ .. ../ ../g ../.. ../../ ../../g ../../../g
../../../../g /./g /../g g. .g g.. ..g ./../g ./g/. g/./h g/../h g;x=1/./y g;x=1/../y g?y/./x g?y/../x g#s/./x g#s/../x
""".split()  # noqa: SIM905 - a list of this length says less
BASES = ("http://a/b/c/d;p?q", "http://a", "http://a/b/", "http://a/b#c", "https://u@a:80/b//c")


def ours(constant: str, base: str) -> Value:
    (query,) = read_unit(f"{base} SELECT ?x {{ VALUES ?x {{ {constant} }} }}").queries
    (values,) = query.body.elements
    assert isinstance(values, s.Values)
    ((cell,),) = values.rows
    assert cell is not None
    return cell.value


def theirs(constant: str, base: str) -> Value:
    prefix = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"
    found = Store().query(f"{prefix} {base} SELECT ({constant} AS ?x) {{ }}")
    assert isinstance(found, QuerySolutions)
    (row,) = found
    return encode(row["x"])


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("reference", ["", *REFERENCES])
def test_references_are_resolved(reference: str, base: str) -> None:
    assert ours(f"<{reference}>", f"BASE <{base}>") == theirs(f"<{reference}>", f"BASE <{base}>")


@given(st.sampled_from(('"', "'", '"""', "'''")), st.text(alphabet="ab\"'\\ \n\té\U0001f600nrtu041"))
def test_texts_are_unescaped(quote: str, text: str) -> None:
    constant = f"{quote}{text}{quote}"
    try:
        expected = theirs(constant, "")
    except SyntaxError:
        return
    assert ours(constant, "") == expected


@pytest.mark.parametrize(
    "constant",
    [
        "1", "-1", "+1", "1.5", "-.5", "1e3", "1.e3", "1.5E-3", "true", "false", "007", "12345678901234567890", "0.1",
        '"a"@en', '"a"@EN-gb', '"1"^^xsd:int', '"x"^^xsd:int', '"true"^^xsd:boolean', '"1"^^xsd:boolean',
        '"P1D"^^xsd:duration', '"2020-01-01T00:00:00"^^xsd:dateTime', '"<a>"', "<http://x/\\u00e9>",
        '"null"', '"_:a"', '"\\""', '"a"^^xsd:string', '"\\u00e9\\U0001F600"',
    ],
)  # fmt: skip
def test_literals_are_the_same_terms(constant: str) -> None:
    assert ours(constant, "") == theirs(constant, "")
