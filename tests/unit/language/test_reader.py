"""Terms: every notation of standard Prolog gives the tree it stands for."""

from __future__ import annotations

import pytest

from etalis.data.values import real
from etalis.errors import ProgramError
from etalis.language.read.parser import parse, parse_term
from etalis.language.read.reader import MAX_DEPTH
from etalis.language.syntax import Compound, Const, Initially, ListTerm, Term, Var


def c(name: str, *args: Term | str | int | float) -> Compound:
    return Compound(name, tuple(Const(arg) if isinstance(arg, str | int | float) else arg for arg in args))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        ("1_000_000", 1_000_000),
        ("-7", -7),
        ("1.5", 1.5),
        ("-1.5e3", real(-1500.0)),
        ("1e10", real(1e10)),
        ("1.0E-2", 0.01),
        ("0xff", 255),
        ("0o17", 15),
        ("0b101", 5),
        ("16'FF", 255),
        ("36'z", 35),
        ("0'a", 97),
        ("0' ", 32),
        ("0'''", 39),
        ("0''", 39),
        ("0'\\n", 10),
        ("0'\\x41\\", 65),
        ("0'\\\\", 92),
        ("6r3", 2),
        ("abc", "abc"),
        ("'A b'", "A b"),
        ("'it''s'", "it's"),
        ("'a\\'b'", "a'b"),
        ("'\\x41\\\\101\\\\u00e9\\U0001F600'", "AAé\U0001f600"),
        ("'a\\\nb'", "ab"),
        ("'a\\c\n   b'", "ab"),
        ("'\\a\\b\\f\\n\\r\\t\\v\\0\\\\e\\s'", "\a\b\f\n\r\t\v\0\x1b "),
        ('"x"', "x"),
        ('"it\'\'s ""x"""', "it''s \"x\""),
        ("`x``y`", "x`y"),
        ("''", ""),
        ("straße", "straße"),
        ("événement", "événement"),
        ("日本", "日本"),
        ("[]", ()),
        ("{}", "{}"),
        ("'[]'", "[]"),
        ("!", "!"),
        ("a()", "a"),
        ("=..", "=.."),
    ],
)
def test_a_constant(text: str, value: object) -> None:
    expected: Term = ListTerm(()) if value == () else Const(value)
    assert parse_term(text) == expected


def test_an_integral_float_is_no_integer() -> None:
    assert parse_term("1.0") != parse_term("1")


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("f(X, _, _Y)", c("f", Var("X"), Var("_#1"), Var("_Y"))),
        ("f(_, _)", c("f", Var("_#1"), Var("_#2"))),
        ("Été", Var("Été")),
        ("[a, b]", ListTerm((Const("a"), Const("b")))),
        ("[a, b | T]", ListTerm((Const("a"), Const("b")), Var("T"))),
        ("[a | [b | [c]]]", ListTerm((Const("a"), Const("b"), Const("c")))),
        ("{a, b}", c("{}", c(",", "a", "b"))),
        ("1 + 2 * 3", c("+", 1, c("*", 2, 3))),
        ("1 - 2 - 3", c("-", c("-", 1, 2), 3)),
        ("2 ** 3", c("**", 2, 3)),
        ("2 ^ 3 ^ 4", c("^", 2, c("^", 3, 4))),
        ("a :- b, c ; d -> e", c(":-", "a", c(";", c(",", "b", "c"), c("->", "d", "e")))),
        ("(a | b)", c(";", "a", "b")),
        ("(a *-> b ; c)", c(";", c("*->", "a", "b"), "c")),
        ("\\+ a, b", c(",", c("\\+", "a"), "b")),
        ("\\+ (a, b)", c("\\+", c(",", "a", "b"))),
        ("\\+(a, b)", c("\\+", "a", "b")),
        ("X is 7 mod 2 rdiv 3", c("is", Var("X"), c("rdiv", c("mod", 7, 2), 3))),
        ("a xor b << 2", c("xor", "a", c("<<", "b", 2))),
        ("- 1", c("-", 1)),
        ("-(1)", c("-", 1)),
        ("- a", c("-", "a")),
        ("-(-(1))", c("-", c("-", 1))),
        ("a - 1", c("-", "a", 1)),
        ("a -1", c("-", "a", 1)),
        ("a - -1", c("-", "a", -1)),
        ("-1 + 2", c("+", -1, 2)),
        ("- - a", c("-", c("-", "a"))),
        ("f(-, +)", c("f", "-", "+")),
        ("[-]", ListTerm((Const("-"),))),
        ("- = x", c("=", "-", "x")),
        ("X = (:-)", c("=", Var("X"), ":-")),
        ("=<(A, B)", c("=<", Var("A"), Var("B"))),
        ("a:b:c", c(":", "a", c(":", "b", "c"))),
        ("a = \\+", c("=", "a", "\\+")),
        ("dynamic", Const("dynamic")),
        ("dynamic a, b", c("dynamic", c(",", "a", "b"))),
        ("f(:- a)", None),
        ("f((:- a))", c("f", c(":-", "a"))),
        ("{}(x)", c("{}", "x")),
        ("'seq'(a, b)", c("seq", "a", "b")),
        ("(h <- a seq b where p)", c("<-", "h", c("where", c("seq", "a", "b"), "p"))),
        ("f(% a comment\n x /* and /* another */ one */ )", c("f", "x")),
        ("a /* 'open */", Const("a")),
        ("Y1 · 1.5 ≤ 3", c("=<", c("*", Var("Y1"), 1.5), 3)),
    ],
)
def test_a_term(text: str, term: Term | None) -> None:
    if term is None:
        with pytest.raises(ProgramError):
            parse_term(text)
    else:
        assert parse_term(text) == term


def test_a_program_defines_operators() -> None:
    program = parse(":- op(700, xfx, near). :- op(200, xf, [squared, cubed]). p(X, Y) :- X near Y, q(X squared).")
    assert isinstance(program.items[0], Initially)
    assert program.items[2] == parse("p(X, Y) :- near(X, Y), q(squared(X)).").items[0]


def test_an_operator_can_be_taken_away() -> None:
    with pytest.raises(ProgramError):
        parse(":- op(0, xfx, is). p :- X is 1.")


def test_a_full_stop_needs_layout_behind_it() -> None:
    assert len(parse("a. b.\nc.% d.\ne.").items) == 4
    with pytest.raises(ProgramError):
        parse("a.b.")


NO_TERMS = ["f(a", "[a|b,c]", "[|b]", "f(,)", "a b", "1.0Inf", "1.5NaN", "1e999", "2'3", "99'1", "1r0", "1r3"]
NO_TERMS += ["'a\nb'", "a = b = c", "'\\ud800'", "'\\q'", "", "a. b", "X<-1", "- :- a", ")", "{a"]


@pytest.mark.parametrize("text", NO_TERMS)
def test_no_term(text: str) -> None:
    with pytest.raises(ProgramError):
        parse_term(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + "a" + ")" * 5000,
        "[" * 5000 + "a" + "]" * 5000,
        "f(" * 5000 + "a" + ")" * 5000,
        "- " * 5000 + "a",
        "a, " * 5000 + "a",
        "1 + " * 5000 + "1",
    ],
)
def test_what_is_too_deep_is_refused(text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse_term(text)
    assert caught.value.code == "E112"


def test_what_is_deep_is_read() -> None:
    depth = MAX_DEPTH - 10
    for text in ("f(" * depth + "a" + ")" * depth, "1 + " * depth + "1", "a, " * depth + "a"):
        assert parse_term(text) == parse_term(text)


def test_every_node_knows_its_place() -> None:
    text = "foo( Bar, [1 | T] ) :- - x, {y}"
    term = parse_term(text)
    waiting = [term]
    while waiting:
        node = waiting.pop()
        assert node.span is not None
        assert parse_term(text[node.span.start : node.span.end]) == node
        waiting += node.args if isinstance(node, Compound) else node.items if isinstance(node, ListTerm) else ()
