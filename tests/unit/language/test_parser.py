"""Clauses and patterns: every notation gives the tree it stands for."""

from __future__ import annotations

import time

import pytest

from etalis.errors import ProgramError
from etalis.language.printer import print_item, print_pattern
from etalis.language.read.parser import parse, parse_collect, parse_event, parse_rule, parse_term
from etalis.language.syntax import (
    Alarm,
    Binary,
    Clause,
    Condition,
    Const,
    Declare,
    EventDeclaration,
    EventPattern,
    Export,
    Import,
    Initially,
    LabelProperty,
    NotWithin,
    Property,
    Rule,
    SetFlag,
    SubRule,
    Trigger,
    Var,
)

A, B, C = (EventPattern(name, ()) for name in "abc")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a SEQ b", "a seq b"),
        ("a 'seq' b", "a seq b"),
        ("a Seq b WHERE p", "a seq b where p"),
        ("a * b", "a seq b"),
        ("a # b", "a par b"),
        ("a \\/ b /\\ c", "a or b and c"),
        ("a ⊗ b ∧ c", "a seq b and c"),
        ("((a))", "a"),
        ("a seq b and c", "a seq b and c"),
        ("(a seq b) and c", "a seq b and c"),
        ("a seq (b and c)", "a seq (b and c)"),
        ("a seq b seq c", "a seq b seq c"),
        ("a seq (b seq c)", "a seq (b seq c)"),
        ("a or b par c and d", "a or b par c and d"),
        ("NOT(c).[a, b]", "a seq b cnot c"),
        ("NOT(c)[a, b]", "a seq b cnot c"),
        ("not(c).[a seq b]", "a seq b cnot c"),
        ("NOT(c or d, seq(a, b and e))", "a seq (b and e) cnot (c or d)"),
        ("(a seq b).7", "a seq b within 7"),
        ("(a).1.5 seq b.2", "(a within 1.5) seq (b within 2)"),
        ("a within 1r4", "a within 0.25"),
        ("a within 5*60", "a within 300"),
        ("a within 1 where p within 2", "a within 1 where p within 2"),
        ("a timestamp t1(T)", "a check t1(T)"),
        ("a seq prolog(p(X))", "a where p(X)"),
        ("a seq db((p, q)) seq b", "(a where (p, q)) seq b"),
        ("query(p) seq a", "a where p"),
        ("a seq (not c within 3)", "a seq (not c within 3)"),
        ("a seq b seq (not(c) within 3) where p", "a seq b seq (not c within 3) where p"),
        ("a seq b star_times seq c", "a seq b star_times seq c"),
        ("(a seq b) star_times", "(a seq b) star_times"),
        ("a seq b ntimes 3", "a seq b ntimes 3"),
        ("b ntimes (2, N)", "b ntimes (2, N)"),
        ("b ntimes (3, 3)", "b ntimes 3"),
        ("a event_multiply (p ; q)", "a event_multiply (p ; q)"),
        ("aggregate(count, a, N) last 5", "aggregate(count, a, N) last 5"),
        ("o seq aggregate(sum(X), p(X) where X > 1, S)", "o seq aggregate(sum(X), p(X) where X > 1, S)"),
        ("iso(a seq b)", "iso(a seq b)"),
        ("any(2, [a seq b, c, d])", "any(2, [a seq b, c, d])"),
        ("a during (0 seq 6)", "a during (0 seq 6)"),
        ("a seq -1.5", "a seq -1.5"),
        ("a do p, q", "a do p, q"),
        ("a where p do q", "a where p do q"),
        ("a seq check(X)", "a seq check(X)"),
        ("'A b'(1) seq \"x\"", "'A b'(1) seq x"),
        ("a() seq seq()", "a seq seq()"),
        ("a where X =.. [f | Y]", "a where X =.. [f | Y]"),
        ("a where =<(X, Y)", "a where X =< Y"),
        ("a where (X is Y*2 /\\ 3)", "a where X is Y*2 /\\ 3"),
    ],
)
def test_a_pattern(text: str, plain: str) -> None:
    pattern = parse_rule(f"d <- {text}.").pattern
    assert print_pattern(pattern) == plain
    assert parse_rule(f"d <- {plain}").pattern == pattern


@pytest.mark.parametrize("arrow", ["<-", "←", "iff", "IFF", "'<-'"])
def test_the_arrow(arrow: str) -> None:
    assert parse(f"d {arrow} a.").items == (Rule(EventPattern("d", ()), A),)


@pytest.mark.parametrize("mark", ["rule:", "rule :", "'rule:'", "RULE:", ":"])
def test_the_mark_of_a_label(mark: str) -> None:
    assert parse(f"r1 {mark} c <- a.").items == (Rule(C, A, "r1"),)


def test_a_label_has_properties() -> None:
    rule = parse_rule("r([property(window, 2), ooo_window(10)]) rule: c <- a")
    assert rule.properties == (Property("window", Const(2)), Property("ooo_window", Const(10)))


def test_an_alarm() -> None:
    assert parse_rule("exceptionAlarm(c, T) <- a") == Rule(C, A, alarm=Alarm("after", Var("T")))
    assert parse_rule("exceptionAlarmAbsoluteDatetime(c, T) <- a") == Rule(C, A, alarm=Alarm("at", Var("T")))


def test_an_action() -> None:
    assert parse_rule("c do p <- a") == Rule(C, A, action=Const("p"))
    assert print_item(parse("a do p.").items[0]) == "trigger_action(p) <- a do p."


def test_a_rule_inside_a_rule() -> None:
    assert parse_rule("c <- a seq (b <- a)").pattern == Binary("seq", A, SubRule(Rule(B, A)))
    assert parse_rule("c <- (r : b <- a)").pattern == SubRule(Rule(B, A, "r"))


def test_a_rule_as_a_term() -> None:
    rule = parse_rule("c <- a do ins_event_rule((r1 rule: h(X) <- p(X) seq q(X) where X > 1))")
    assert print_item(rule) == "c <- a do ins_event_rule((r1 'rule:' h(X) <- p(X) seq q(X) where X > 1))."


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("p(1).", Clause(parse_term("p(1)"))),
        ("p :- q, r.", Clause(Const("p"), parse_term("q, r"))),
        ("db(p(1)).", Clause(parse_term("p(1)"))),
        ("static((p :- q)).", Clause(Const("p"), Const("q"))),
        ("prolog(p).", Clause(Const("p"))),
        ("db(db(1)).", Clause(parse_term("db(1)"))),
        ("print_trigger(a/1).", Trigger("print_trigger", parse_term("a/1"))),
        ("external_trigger(all_events).", Trigger("external_trigger", Const("all_events"))),
        ("event_rule_property(r, window, 1).", LabelProperty("r", Property("window", Const(1)))),
        (":- event(a(x: int, 'Y': float)).", EventDeclaration("a", (("x", "int"), ("Y", "float")))),
        (":- event(a).", EventDeclaration("a", ())),
        (":- table p/2.", Declare("table", (("p", 2),))),
        (":- dynamic p/1, q/2.", Declare("dynamic", (("p", 1), ("q", 2)))),
        (":- dynamic(p/1).", Declare("dynamic", (("p", 1),))),
        (":- dynamic [p/1, q/2].", Declare("dynamic", (("p", 1), ("q", 2)))),
        (":- table p(_, _).", Declare("table", (("p", 2),))),
        (":- export a/1, b/2.", Export((("a", 1), ("b", 2)))),
        (":- import a/1, b/2 from 'm.event'.", Import((("a", 1), ("b", 2)), "m.event")),
        (":- import(a/1) from m.", Import((("a", 1),), "m")),
        (":- set_flag(garbage_control, general).", SetFlag("garbage_control", Const("general"))),
        (":- set_etalis_flag(garbage_window, 1).", SetFlag("garbage_window", Const(1))),
        (":- assertz(p(1)).", Initially(parse_term("assertz(p(1))"))),
        ("?- p.", Initially(Const("p"))),
    ],
)
def test_a_clause(text: str, item: object) -> None:
    program = parse(text)
    assert program.items == (item,)
    assert parse(print_item(program.items[0])).items == (item,)


def test_anonymous_variables_are_numbered_in_each_clause() -> None:
    program = parse("c <- a(_) seq b(_). c <- a(_).")
    assert [str(item).count("_#1") for item in program.items] == [1, 1]


def test_anonymous_variables_read_back_where_the_tree_has_another_order() -> None:
    for text in ("d <- NOT(c(_)).[a(_), b(_)]", "d <- prolog(p(_)) seq a(_)", "d <- NOT(c(_), seq(a(_), b(_)))"):
        rule = parse_rule(text)
        assert parse(print_item(rule)).items == (rule,)


def test_what_stands_left_of_an_absence() -> None:
    assert parse_rule("d <- a seq b seq (not c within 2)").pattern == NotWithin(Binary("seq", A, B), C, 2_000_000)


def test_times_are_exact() -> None:
    assert parse_rule("d <- a within 0.1").pattern == parse_rule("d <- a within 1r10").pattern
    assert parse_rule("d <- a within 1700000000.123457").pattern.duration == 1_700_000_000_123_457


def test_an_event_is_ground() -> None:
    assert parse_event("a(1, f(x))") == EventPattern("a", (Const(1), parse_term("f(x)")))
    assert parse_event("a.") == A
    for text in ("a(X)", "a(_)", "X", "1", "a b", "[a]", "", "a. b."):
        with pytest.raises(ProgramError):
            parse_event(text)


def test_a_condition_never_swallows_a_modifier() -> None:
    pattern = parse_rule("d <- a where p within 5").pattern
    assert print_pattern(pattern) == "a where p within 5"
    assert isinstance(pattern.pattern, Condition)


def test_what_can_be_read_is_read() -> None:
    program, problems = parse_collect("a <- b. c <- d e. f <- g.")
    assert [item.head.name for item in program.items] == ["a", "f"]
    assert [problem.code for problem in problems] == ["E109"]


def test_errors_are_counted_to_a_hundred() -> None:
    _, problems = parse_collect("a b. " * 1000)
    assert len(problems) == 101
    assert problems[-1].code == "E119"


def test_large_programs_read_in_time() -> None:
    text = "\n".join(f"e{n + 1}(Id) <- e{n}(Id)." for n in range(10_000))
    start = time.process_time()
    assert len(parse(text).items) == 10_000
    assert time.process_time() - start < 1.6  # a fifth of the 50,000 rules that may take 8 s


@pytest.mark.parametrize(
    "unit", ["a ", "(", "'a\n", "/* /* */ ", "0'", "f(", "a, ", "£", "NOT(", "iso(", "a seq ", "\\", "- "]
)
def test_no_text_takes_long(unit: str) -> None:
    start = time.process_time()
    parse_collect("x <- " + unit * (50_000 // len(unit)) + ".")
    assert time.process_time() - start < 1
