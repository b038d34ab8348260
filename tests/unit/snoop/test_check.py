"""Every problem of an expression has its code, its place and mostly a hint; all are told at once."""

from __future__ import annotations

import json

import pytest

from etalis.errors import DocumentError, RegistrationError
from etalis.snoop import Argument, Expression, check, checked, read_json, read_text, read_xml
from etalis.snoop.markup.json_form import MOST_BYTES
from helpers.snoop_examples import SHOP, with_prefixes

pytestmark = pytest.mark.service  # it needs the extra

FIVE = "shop:a(), shop:b(), shop:c(), shop:d(), shop:e()"
LEAF = f'<expression operator="a" language="{SHOP}"'
REFUSED = [
    ("E881", "SQE(shop:a(), shop:b())", "SNOOP-R has no operator SQE"),
    ("E882", "SEQ(shop:a())", "SEQ takes at least 2 arguments, not 1"),
    ("E882", "NOT(shop:a(), shop:b())", "NOT takes 3 arguments, not 2"),
    ("E884", "SEQ(shop:a(), shop:b()) context latest", "contexts: recent, chronicle"),
    ("E884", "SEQ(shop:a(), shop:b()) time point", "hint: times: intervals and points"),
    ("E885", "shop:a(v: X, v: Y)", "the parameter v is given 2 times"),
    ("E885", "SEQ(2, shop:a(), shop:b())", "SEQ has no parameter numberToDetect"),
    ("E886", "shop:a(v: X^^xsd:int)", "did you mean xsd:integer?"),
    ("E886", 'shop:a(v: "one"^^xsd:integer)', "the parameter v: one is no xsd:integer"),
    ("E886", 'shop:a(v: X^^xsd:boolean) with X = "yes"', "X is yes, which is no xsd:boolean"),
    ("E888", 'shop:a(v: X) with X = "1", X = "2"', "the variable X is 1 and 2"),
    ("E889", "SEQ(shop:a(v: Title), shop:b()) result Titel", "did you mean Title?"),
    ("E889", 'SEQ(shop:a(v: X, w: Y), shop:b()) with X = "1" result X', "the variable X has a value"),
    ("E890", "ANY(shop:a(), shop:b())", "ANY without numberToDetect"),
    ("E890", "ANY(0, shop:a(), shop:b())", "detect 1 or more"),
    ("E890", "ANY(1.5, shop:a(), shop:b())", "numberToDetect is a whole number, not 1.5"),
    ("E891", 'ANY(1, shop:a(v: X, w: "1"), shop:b(), shop:a(w: "1", v: Y))', "arguments 1 and 3 of ANY are equal"),
    ("E891", 'ANY(1, shop:a(v: X), shop:a(v: "1")) with X = "1"', "hint: several events of one kind are counted"),
    ("E893", r'shop:a(v: "\u0000")', "U+0000"),
]


@pytest.mark.parametrize(("code", "text", "says"), REFUSED)
def test_an_expression_is_refused(code: str, text: str, says: str) -> None:
    problems = check(expression_of(text))
    assert [p.code for p in problems] == [code]
    assert problems[0].span is not None
    assert says in str(problems[0])


def expression_of(text: str) -> Expression:
    """The expression of a text; an operator that text has not comes from JSON."""
    if text.startswith("SQE"):
        return read_xml(
            f'<expression operator="SQE" language="http://snoop-r.org"><argument>{LEAF}/></argument></expression>'
        )
    return read_text(with_prefixes(text))


@pytest.mark.parametrize(
    ("code", "document", "says"),
    [
        ("E883", '{"operator": "newCD"}', "the event newCD needs a language"),
        ("E883", '{"operator": "SEQQ"}', "did you mean SEQ?"),
        ("E883", '{"language": "http://x"}', "an expression without operator and literal"),
        ("E883", '{"operator": "a", "language": "a b"}', "the language a b is no URI"),
        ("E883", '{"operator": "a", "language": "u", "literal": "p"}', "an expression with operator and literal"),
        ("E883", '{"literal": "p", "language": "u", "having": {"x": {"value": 1}}}', "an opaque expression with"),
        ("E885", '{"operator": "a", "language": "u", "having": {"x": {}}}', "x needs a variable or a value"),
        ("E887", '{"operator": "a", "language": "u", "with": {"Titel": {}}, "having": {"x": {"bindVar": "Title"}}}',
         "did you mean Titel?"),
        ("E888", '{"operator": "a", "language": "u", "with": {"X": {"mode": "use"}}}', "X of mode use has no value"),
    ],
)  # fmt: skip
def test_an_expression_of_json_is_refused(code: str, document: str, says: str) -> None:
    problems = [p for p in check(read_json(document)) if p.code == code]
    assert problems
    assert says in str(problems[0])


def test_a_place_in_the_tree_is_told() -> None:
    found = check(read_json('{"operator": "OR", "arguments": [{"operator": "a", "language": "u"}, {"operator": "b"}]}'))
    assert [p.message for p in found] == ["argument 2: the event b needs a language"]


def test_too_much_is_refused() -> None:
    node = Expression("a", SHOP)
    for _ in range(61):
        node = Expression("OR", None, (Argument(None, node), Argument(None, Expression("b", SHOP))))
    assert {p.message for p in check(node)} == {
        "61 operators of two arguments, at most 60 are taken", "expressions nested more than 60 levels deep",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"OR({', '.join(f'shop:a{i}()' for i in range(62))})", "61 operators of two arguments"),
        (f"shop:a({', '.join(f'p{i}: X' for i in range(101))})", "101 parameters"),
        (f"OR({', '.join(f'shop:a(v: X{i}, w: Y{i}, x: Z{i}, y: V{i})' for i in range(60))})", "240 variables"),
        (f"ANY(4, {', '.join(f'shop:a{i}()' for i in range(10))}) context chronicle", "more than 200 events in all"),
        (f"ANY(2, {', '.join(f'ANY(3, {FIVE}, shop:e{i}())' for i in range(5))}) context continuous", "200 events"),
    ],
)  # fmt: skip
def test_what_would_cost_too_much_is_refused(text: str, says: str) -> None:
    (problem,) = check(read_text(with_prefixes(text)))
    assert problem.code == "E892"
    assert says in problem.message


@pytest.mark.parametrize(
    ("code", "document"),
    [
        ("E870", b"<expression"),
        ("E870", b"\xff\xfe<\x00"),
        ("E871", b'<!DOCTYPE x SYSTEM "http://x/y.dtd"><expression operator="a" language="u"/>'),
        ("E871", b'<!DOCTYPE x [<!ENTITY a "b">]><expression operator="&a;" language="u"/>'),
        ("E872", b"<expression>" + b"<argument>" * 300),
        ("E872", b"<a>" * 250 + b"</a>" * 250),
        ("E872", b" " * MOST_BYTES + b"<a/>"),
        ("E873", b"<signal/>"),
        ("E873", b'<expression operator="a"><literal>x</literal><literal>y</literal></expression>'),
        ("E873", b'<expression language="u"><literal>x<y/></literal></expression>'),
        ("E873", b'<expression operator="a"><with><Variable name="X" mode="buse"/></with></expression>'),
    ],
)  # fmt: skip
def test_a_document_of_xml_is_refused(code: str, document: bytes) -> None:
    with pytest.raises(DocumentError) as found:
        read_xml(document)
    assert found.value.code == code


@pytest.mark.parametrize(
    ("code", "document"),
    [
        ("E870", "{"),
        ("E870", b"\xff"),
        ("E870", '{"operator": NaN}'),
        ("E870", b'"\xed\xa0\x80"'),
        ("E870", r'{"operator": "\ud800"}'),
        ("E872", "[" * 300),
        ("E872", " " * MOST_BYTES + "{}"),
        ("E874", "[]"),
        ("E874", '{"operator": "a", "operator": "b"}'),
        ("E874", '{"operater": "a"}'),
        ("E874", '{"operator": ["a"]}'),
        ("E874", '{"literal": {"text": "a", "xml": "<a/>"}}'),
    ],
)
def test_a_document_of_json_is_refused(code: str, document: bytes | str) -> None:
    with pytest.raises(DocumentError) as found:
        read_json(document)
    assert found.value.code == code


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected an expression, found the end"),
        ("SEQ(shop:a()", "expected `)`, found the end"),
        ("SEQ(shop:a() shop:b())", "expected `)`, found `shop`"),
        ("shoop:a()", "unknown language shoop"),
        ("SEQ", "expected `(`, found the end"),
        ("shop:a(v X)", "expected `:`, found `X`"),
        ("shop:a(v: )", 'expected a value, as in "U2", found `)`'),
        ("shop:a(v: £)", "`£` means nothing here"),
        ('shop:a(v: "x)', "hint: close the quote"),
        (r'shop:a(v: "\q")', r"unknown escape \q"),
        ("shop:a() context recent context recent", "context is said twice"),
        ("shop:a() whith X", "expected the end, or with, result, context, time"),
        ("external {]", "what follows `external` is not a JSON object"),
        ('opaque(prolog, xml "<a")', "a literal is not XML"),
        ("OR(" * 201 + "shop:a()", "nested more than 100 levels deep"),
    ],
)
def test_a_text_is_refused(text: str, says: str) -> None:
    with pytest.raises(DocumentError) as found:
        read_text(with_prefixes(text))
    assert says in str(found.value)


def test_of_very_many_problems_a_hundred_are_told() -> None:
    many = ", ".join(f'"x{i}": 1' for i in range(50_000))
    with pytest.raises(DocumentError) as found:
        read_json(f"{{{many}}}")
    assert len(found.value.problems) == 100
    rows = {f"p{i}": {"bindVar": f"X{i}"} for i in range(99)}
    leaf = {"operator": "a", "language": SHOP, "having": rows, "with": {f"Y{i}": {} for i in range(199)}}
    assert len(check(read_json(json.dumps({"operator": "OR", "arguments": [leaf] * 60})))) == 100


def test_all_problems_are_raised_at_once() -> None:
    with pytest.raises(RegistrationError) as found:
        checked(read_text(with_prefixes('ANY(0, shop:a(v: "x"^^xsd:decimal), shop:a(v: X^^xsd:real)) context old')))
    assert [p.code for p in found.value.problems] == ["E884", "E890", "E886", "E886"]
