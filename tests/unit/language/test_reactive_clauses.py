"""Clauses of reactive rules: where their words are words, how actions group, and what is said of those that are wrong.

Definition 24.1, 24.2, 24.3, 24.4, 24.6 and 24.7.
"""

from __future__ import annotations

import pytest

from etalis.errors import ProgramError
from etalis.language import syntax as s
from etalis.language.check.checks import check
from etalis.language.printer import print_action, print_program
from etalis.language.read.parser import parse

NAMES = [
    "on(x) <- a.",
    "on <- a.",
    "on rule: d <- a.",
    "on : d <- a.",
    "on(x).",
    "action(x) :- b.",
    "action :- b.",
    "action rule: d <- a.",
    "always :- x.",
    "always(x).",
    "constraint(1).",
    "state(1).",
    ":- state(1).",
    ":- state.",
    "d <- on seq action.",
    "d <- a where (state(X), key(X)).",
    "never(a).",
]
CLAUSES = {
    "on a do skip.": s.Reaction,
    "on (a seq b) do skip.": s.Reaction,
    "ON a IF p DO skip ELSE skip UNDO skip.": s.Reaction,
    "on 10 do skip.": s.Reaction,
    "on on do on.": s.Reaction,
    "r rule: on a do skip.": s.Reaction,
    "r([property(window, 5)]) : on a seq b do skip.": s.Reaction,
    "action p :- skip.": s.ActionClause,
    "action p(X) :- q(X), skip.": s.ActionClause,
    "always \\+ p.": s.Always,
    "always (p, q).": s.Always,
    "constraint c: never a.": s.Constraint,
    "constraint c: a requires b next.": s.Constraint,
    ":- state p/1, q/2 key 1.": s.StateDeclaration,
}


@pytest.mark.parametrize("text", NAMES)
def test_words_of_reactive_rules_are_names_elsewhere(text: str) -> None:
    (item,) = parse(text).items
    assert isinstance(item, s.Rule | s.Clause | s.Initially)
    assert parse(print_program(s.Tree((item,)))).items == (item,)


@pytest.mark.parametrize("text", CLAUSES)
def test_they_are_words_where_a_clause_begins(text: str) -> None:
    (item,) = parse(text).items
    assert isinstance(item, CLAUSES[text])


def action_of(text: str) -> s.Action:
    (item,) = parse(f"on e do {text}.").items
    assert isinstance(item, s.Reaction)
    return item.action


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a, b seq c, d", "(a seq b) seq (c seq d)"),
        ("a seq b seq c", "(a seq b) seq c"),
        ("a par b seq c", "a par (b seq c)"),
        ("a or b par c", "a or (b par c)"),
        ("a or b ; c", "a or (b or c)"),
        ("a seq b subject_to never(ins(p))", "(a seq b) subject_to never(ins(p))"),
        ("a or b subject_to never(ins(p))", "a or (b subject_to never(ins(p)))"),
        ("a -> b ; c -> d ; e", "(a -> b ; (c -> d ; e))"),
        ("a, b -> c ; d", "(a, b -> c ; d)"),
        ("a -> b par c ; d", "(a -> (b par c) ; d)"),
        ("A = 1 SEQ 'PAR'() Par c", "(A = 1 seq 'PAR'()) par c"),
        ("skip seq abort", "(skip) seq (abort)"),
    ],
)
def test_actions_group_by_their_table(text: str, plain: str) -> None:
    assert action_of(text) == action_of(plain)


def test_brackets_belong_to_a_goal_where_it_goes_on() -> None:
    assert action_of("(X + 1) * 2 > Y seq p") == s.Composed(
        "seq", s.Perform(action_goal("(X + 1) * 2 > Y")), s.Perform(s.Const("p"))
    )
    assert isinstance(action_of("ins(p) = X"), s.Perform)
    assert isinstance(action_of("(ins(p))"), s.FactChange)


def action_goal(text: str) -> s.Term:
    found = action_of(text)
    assert isinstance(found, s.Perform)
    return found.goal


def test_few_brackets_are_written() -> None:
    text = "p(X) seq (ins(q) or (X > 1, r -> iso(del(s(_)) par skip) ; raise(e, after(600)))) subject_to never(ins(s))"
    assert print_action(action_of(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "constraint c: (never) requires b next.",
        "constraint c: never never.",
        "constraint c: a requires after after within 5.",
        "on (rule) do skip.",
        "on (iff()) do skip.",
        "on (-5) do skip.",
        "on if if if do else() or undo().",
        "always (- 5).",
        "action (- x) :- skip.",
        "on a if meets(b, c) do 'during'(b, c) seq seq().",
    ],
)
def test_names_that_are_words_read_back(text: str) -> None:
    program = parse(text)
    assert parse(print_program(program)) == program


def test_durations_are_read_as_elsewhere() -> None:
    assert action_of("raise(e, after(1 h 30 min))") == action_of("raise(e, after(5400))")
    assert action_of("raise(e, after(PT10M))") == action_of('raise(e, after("10 min"))')
    assert action_of("p(PT10M) seq raise(e, after(PT10M))") != action_of("p(PT10M) seq raise(e, after(600))")
    assert action_of("await(a within 2 min)") == s.Await(s.EventPattern("a", ()), 120_000_000)


def test_constraints_say_where_what_is_required_may_lie() -> None:
    texts = ("requires b within 5", "requires b after within 5", "requires b before", "requires b next")
    found = [parse(f"constraint c: a {text}.").items[0] for text in texts]
    assert [(item.mode, item.duration) for item in found if isinstance(item, s.Constraint)] == [
        ("around", 5_000_000),
        ("after", 5_000_000),
        ("before", None),
        ("next", None),
    ]
    within = parse("constraint c: a requires ((b seq c) within 2) within 5.").items[0]
    assert isinstance(within, s.Constraint)
    assert isinstance(within.required, s.Within)


def test_state_has_keys() -> None:
    (item,) = parse(":- state stock/3 key 1, seen(_), '-'/2 key 2.").items
    assert item == s.StateDeclaration((("stock", 3, 1), ("seen", 1, None), ("-", 2, 2)))


REFUSED = [
    ("on a do ins(p) and ins(q).", "E122", "in any order a par b"),
    ("on a do p | q.", "E122", "a par b"),
    ("on a do ins(p) where q.", "E122", "a test is a step"),
    ("on a do p ntimes 3.", "E122", "calls itself"),
    ("on a do not p.", "E122", "\\+ p(X)"),
    ("on a do if p then q.", "E122", "(Test -> Action ; Action)"),
    ("on a do (p *-> q ; r).", "E122", "a choice is written"),
    ("on a if p and q do skip.", "E122", "joined by a comma"),
    ("always p or q.", "E122", "joins no goals"),
    ("on a do (p -> q).", "E121", "; skip)"),
    ("on a do (p -> q or r).", "E121", "(A or B)"),
    ("on a do (ins(p) -> q ; r).", "E121", "the test of `->` is a goal"),
    ("on a do seq(p, q).", "E121", "between its two sides"),
    ("on a do X.", "E121", "the variable `X` is no step"),
    ("on a do [p].", "E121", "no step"),
    ("on a do ins(X).", "E121", "this is no fact"),
    ("on a do ins(p, q).", "E121", "ins(Fact)"),
    ("on a do raise(X).", "E121", "this is no event"),
    ("on a do raise(b, 5).", "E121", "after(10 min)"),
    ("on a do effect(X).", "E121", "program.effect"),
    ("on a do await(b).", "E121", "within"),
    ("on a do p star_times.", "E122", "repeats events"),
    ("on a do p <> q.", "E109", "unequal is written"),
    ("on a do ins(p) ins(q).", "E109", "joined by seq, par and or"),
    ("on a do p seq.", "E108", "an action is missing"),
    ("on a do (p seq q.", "E107", "never closed"),
    ("on a do p\non b do q.", "E106", "full stop is missing"),
    ("on a.", "E123", "does nothing"),
    ("on a if p.", "E123", "does nothing"),
    ("on a when X > 5 do skip.", "E109", "behind `if`"),
    ("action p.", "E123", "no body"),
    ("action 5 :- skip.", "E123", "has a name"),
    ("action p q :- skip.", "E123", "expected `:-`"),
    ("constraint a seq b.", "E123", "has a label"),
    ("constraint c: a.", "E123", "says no constraint"),
    (":- state p/2 key x.", "E123", "must be a number"),
    (":- state [p/1, q/1].", "E123", "names no predicate"),
    ("r rule: action p :- skip.", "E118", "in front"),
    ("r rule: constraint c: never a.", "E118", "constraint name"),
]


@pytest.mark.parametrize(("text", "code", "says"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_what_stands_in_the_wrong_place_is_named(text: str, code: str, says: str) -> None:
    with pytest.raises(ProgramError) as refused:
        parse(text)
    (problem,) = refused.value.problems
    assert problem.code == code
    assert says in f"{problem.message} {problem.hint}"


def test_what_is_nested_too_deep_is_refused() -> None:
    for text in ("(" * 150 + "p" + ")" * 150, "iso(" * 70 + "p" + ")" * 70, "p seq " * 300 + "p", "p or " * 300 + "p"):
        with pytest.raises(ProgramError, match="E112"):
            parse(f"on a do {text}.")
    deep = "(" * 90 + "p" + ")" * 90
    assert action_of(deep) == action_of("p")


def test_a_variable_of_a_reaction_that_looks_like_another_is_told() -> None:
    problems = check(parse("on a(Amount) do raise(b(Amout))."))
    assert [problem.code for problem in problems if problem.code == "E276"] == ["E276"]
    assert "did you mean Amount?" in str(problems)
