"""Prints of explanations: JSON and back, text, the manual's term and layout; all of them by loops."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields
from typing import Any

import pytest

import etalis
from etalis.data.values import Struct, real
from etalis.errors import InputError
from etalis.language.read.parser import parse_rule, parse_term
from etalis.why import justification as j
from etalis.why import why_not as w
from etalis.why.forms import json_rows
from etalis.why.forms.json_form import from_json

S = 1_000_000


def received(name: str, number: int, at: float, *args: Any) -> j.Received:
    return j.Received(name, args, int(at * S), int(at * S), number)


def derived(name: str, body: Any, *tests: Any, rule: str = "1", text: str = "c <- a seq b.", **more: Any) -> j.Derived:
    inside = [node for node in j.nodes(body) if isinstance(node, j.Occurred)]
    start, end = min(node.start for node in inside), max(node.end for node in inside)
    return j.Derived(name, (), start, end, rule, text, {}, body, tests, **more)


def pattern(text: str) -> Any:
    return parse_rule(f"x <- {text}").pattern


A, B = received("a", 1, 1), received("b", 2, 2)
C = j.Justification(derived("c", j.PairOf("seq", A, B)), "sha256:0")
MISSING = w.AttemptPart("b", None, *[w.TimeRange(w.TimeBound(S, True), None)] * 2)
ATTEMPT = w.Attempt((w.AttemptPart("a", A), MISSING), (w.MissingPart(MISSING),), (1, 0, 0))
NOT_C = w.WhyNot("c", (w.RuleAnswer("1", "c <- a seq b.", (ATTEMPT,)),))


def everything() -> j.Derived:
    """Return a derived event with every kind of node below it."""
    x = received("x", 3, 3, 1, "Basel", (2.5, Struct("f", ["null", real(1.0)])))
    old = j.Received(None, (), 0, 0, 4)
    told = received("linked", 5, 2, "a", "b")
    raised = j.Raised("y", (2**70,), 4 * S, 4 * S, derived("r", x, rule="r1", text="r1 rule: r <- x(X)."))
    proof = (
        j.ByClause(
            parse_term("near(a, b)"),
            (
                j.KnownFact(parse_term("linked(a, b)"), 2 * S, told),
                j.KnownFact(parse_term("far(a)")),
                j.BuiltIn(parse_term("1 < 2")),
                j.HostCall(parse_term("risk(a, 3)"), "4"),
                j.DeeperProof(parse_term("deep(a)")),
            ),
        ),
    )
    held = j.ConditionHeld("where", parse_term("near(X, b)"), {"X": "a"}, proof, "it answers otherwise now")
    run = j.RepeatedRun(A, (x, raised))
    fold = j.FoldedValue("sum", None, (x, old), 7)
    body = j.PairOf(
        "seq",
        j.Tested(
            j.PairOf("and", run, j.ChosenBranch(2, fold)),
            (j.WithinWindow(10 * S, 3 * S), j.TakenUnder("chronological")),
        ),
        (j.Rung(B, 9 * S), j.PointReached(4 * S), j.PutTogether((run,))),
    )
    nothing = j.Nothing(pattern("x(C)"), {"C": "c1"}, S, 3 * S, "gap")
    awaited = j.Awaited(B, j.Nothing(pattern("b"), {}, None, 6 * S + 1, "before", open_high=False))
    tests = (nothing, j.AloneBetween(S, 3 * S, "gap"), held)
    return derived("c", j.PairOf("or", body, awaited), *tests, arrival=(1, 0, 2), note="the rule was deleted at 9")


def every_cause() -> w.WhyNot:
    """Return an answer with every kind of cause."""
    miss = w.NearestMiss(received("b", 7, 5, 2), "X", 1, 2)
    why = w.WhyNot("b(1)", unknown="no rule makes b/1", complete=False, steps=100)
    part = w.AttemptPart("b(1)", None, None, None, miss, why, "needs itself", 3, pattern("b(1)"))
    goal = parse_term("far(A, B), A > 1")
    causes = (
        w.MissingPart(part),
        w.OutOfOrder("seq", A, B, S),
        w.TooLong(10 * S, 12 * S),
        w.Refuted(goal, parse_term("far(A, B)"), {"A": "basel", "B": "bern"}),
        w.Refuted(goal, goal, {}, "a type error"),
        w.KnownLater(parse_term("linked(a, b)"), ((parse_term("linked(a, b)"), 5 * S),)),
        w.WrongValue("4", ((5, 3 * S), (2, 2 * S))),
        w.BlockedBy((everything(),)),
        *(w.Withheld(kind, A, (B, B)) for kind in ("consumed", "not_chosen", "replaced", "merged")),
        w.Affair("too_late", "12 s late, 10 s allowed", A),
        w.StillPending(6 * S),
    )
    rule = w.RuleAnswer("1", "c <- a seq b(1).", (w.Attempt((w.AttemptPart("a", A), part), causes, (1, 9, 5)),), 4)
    late = w.Affair("not_there", "the rule is there since 5")
    occurred = w.WhyNot("d", occurred=j.Justification(everything(), "p", "ids", False, ("history begins at 3",)))
    more = w.RuleAnswer(
        "2", "c <- d.", (w.Attempt((w.AttemptPart("d", None, because=occurred),), (), (1, 0, 0), {"X": 1}),)
    )
    return w.WhyNot(
        "c", (rule, more, w.RuleAnswer("3", "c <- e.", (), 0, (late,))), affairs=(late,), events=(everything(),)
    )


@pytest.mark.parametrize("row", json_rows.ROWS, ids=lambda row: row.kind)
def test_every_field_is_written(row: json_rows.JsonRow) -> None:
    atom = {"name", "args", "start", "end"} if issubclass(row.cls, j.Occurred) else set()
    written = {field.name for field in fields(row.cls)} - {"dates"}  # how text tells times
    assert atom | {name for name, _, _ in row.fields} == written


def test_json_of_the_worked_example() -> None:
    root = derived("c", j.PairOf("seq", A, received("b", 2, 3)), j.Nothing(pattern("x"), {}, S, 3 * S, "gap"))
    assert j.Justification(root, "sha256:...").to_dict() == {
        "root": 3, "program": "sha256:...", "level": "full", "complete": True, "nodes": [
            {"n": 1, "kind": "received", "atom": "a", "start": 1, "end": 1, "input": 1},
            {"n": 2, "kind": "received", "atom": "b", "start": 3, "end": 3, "input": 2},
            {"n": 3, "kind": "derived", "atom": "c", "start": 1, "end": 3, "rule": "1", "text": "c <- a seq b.",
             "bindings": {}, "body": {"pair": "seq", "left": 1, "right": 2},
             "tests": [{"nothing": "x", "after": 1, "before": 3, "where": "gap"}]},
        ],
    }  # fmt: skip


@pytest.mark.parametrize("found", [C, NOT_C, j.Justification(everything(), "p"), every_cause()], ids=repr)
def test_json_is_read_back(found: Any) -> None:
    text = found.to_json()
    again: Any = from_json(text)
    assert type(again) is type(found)
    assert again.to_json() == text
    assert str(again) == str(found)
    assert again.to_text(all=True) == found.to_text(all=True)


def test_values_come_back_from_json() -> None:
    values = (
        1,
        real(1.0),
        2.5,
        float("inf"),
        "null",
        "Basel",
        "",
        "\ud800",
        2**70,
        (),
        (1, ("x",)),
        Struct("f", ["a b", ()]),
    )
    again: Any = from_json(j.Justification(j.Received("a", values, 1, 2**60 + 1, 1), "p").to_json())
    assert again.root.args == values
    assert list(map(type, again.root.args)) == list(map(type, values))
    assert again.root.end == 2**60 + 1


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"root": 1, "nodes": [{"n": 1, "kind": "wrong"}]}', '{"root": 1, "nodes": [{"n": 1}]}']
)
def test_what_is_no_explanation_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="E402"):
        from_json(text)


def test_text_of_the_worked_example() -> None:
    assert str(C) == "c [1, 2]   by rule 1: c <- a seq b.\n├─ a [1, 1]   input 1\n└─ b [2, 2]   input 2"
    assert repr(C) == "<Justification: c [1, 2] by rule 1>"
    assert "a [1970-01-01T00:00:01Z, 1970-01-01T00:00:01Z]" in C.to_text(dates=True)


def test_text_of_why_not() -> None:
    assert str(NOT_C) == (
        "c did not occur.  Rule 1: c <- a seq b.\n"
        "  a [1, 1]  input 1                 present\n"
        "  b         after 1                 missing: no event b has come"
    )
    assert repr(NOT_C) == "<WhyNot: c did not occur, nearest: b missing>"


def test_text_of_everything() -> None:
    assert str(j.Justification(everything(), "p", notes=("history begins at 1",))).splitlines() == [
        "c [0, 4]   by rule 1: c <- a seq b.",
        "├─ a [1, 1]   input 1",
        "├─ 2 times",
        "│  ├─ x(1, 'Basel', [2.5,f(null,1.0)]) [3, 3]   input 3",
        "│  └─ y(1180591620717411303424) [4, 4]   raised by an action of   #4",
        "│     └─ r [3, 3]   by rule r1: r <- x(X).",
        "│        └─ x(1, 'Basel', [2.5,f(null,1.0)]) [3, 3]   input 3",
        "├─ alternative 2",
        "│  └─ sum 7 of 2 elements",
        "│     ├─ x(1, 'Basel', [2.5,f(null,1.0)]) [3, 3]   input 3",
        "│     └─ input 4, no longer in the history",
        "├─ 3 s long, within 10",
        "├─ chosen under chronological",
        "├─ b [2, 2]   input 2",
        "├─ rings at 9",
        "├─ time 4",
        "├─ 1 match put together",
        "│  ├─ a [1, 1]   input 1",
        "│  └─ 2 times",
        "│     ├─ x(1, 'Basel', [2.5,f(null,1.0)]) [3, 3]   input 3",
        "│     └─ y(1180591620717411303424) [4, 4]   see #4",
        "├─ b [2, 2]   input 2",
        "├─ no b up to 6.000001",
        "├─ no x(c1) after 1, before 3",
        "├─ nothing else after 1, before 3",
        "├─ where near(a, b)   by a clause   it answers otherwise now",
        "│  ├─ linked(a, b)   fact since 2, input 5",
        "│  ├─ far(a)   fact",
        "│  ├─ 1 < 2   built in",
        "│  ├─ risk(a, 3)   called; now it answers 4",
        "│  └─ deep(a)   … more",
        "└─ note: the rule was deleted at 9",
        "note: history begins at 1",
    ]


def test_text_of_every_cause() -> None:
    text = every_cause().to_text(all=True)
    for line in (
        "missing: nearest b(2) [5, 5], where X is 2, not 1, 3 of it; needs itself",
        "order: a [1, 1] seq b [2, 2] does not hold, by 1 s",
        "window: 12 s long, within 10 s; 2 s too long",
        "condition: far(basel, bern) (of far(basel, bern), basel > 1) has no proof",
        "condition: far(A, B), A > 1 raised a type error",
        "knowledge: it holds by what was known later: linked(a, b) only since 5",
        "value: wanted 4, found 5 at 3, 2 at 2",
        "blocks it",
        "consumed by b [2, 2], b [2, 2]",
        "too late: a [1, 1]: 12 s late, 10 s allowed",
        "pending until 6",
        "and 4 further attempts",
        "not there: the rule is there since 5",
        "not all attempts were looked at: the budget of 100 steps is reached",
    ):
        assert line in text, text


def time_range(low: tuple[int, bool] | None, high: tuple[int, bool] | None) -> w.TimeRange:
    after, before = (None if x is None else w.TimeBound(x[0] * S, x[1]) for x in (low, high))
    return w.TimeRange(after, before)


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        ((None, None), ((5, False), (5, False)), "ends at 5"),
        (((3, True), None), ((1, False), (9, False)), "after 3, up to 9"),
        ((None, (9, True)), ((4, True), (9, True)), "ends after 4, before 9"),
        (((1, False), (1, False)), ((2, False), (2, False)), "starts at 1, ends at 2"),
        (((3, True), None), ((7, False), (9, False)), "starts after 3, ends from 7 on, up to 9"),
    ],
)
def test_where_a_missing_part_would_have_counted(start: Any, end: Any, said: str) -> None:
    part = w.AttemptPart("b", None, time_range(*start), time_range(*end))
    attempt = w.Attempt((part,), (w.MissingPart(part),), (1, 0, 0))
    text = str(w.WhyNot("c", (w.RuleAnswer("1", "c <- b.", (attempt,)),)))
    assert text.splitlines()[1] == f"  b  {said:<22}  missing: no event b has come"


def test_text_of_what_is_counted() -> None:
    missing = w.AttemptPart("b star_times", None, count=0)
    counted = w.AttemptPart("x ntimes 3", j.Occurred("x", (), S, 2 * S), count=2)
    attempt = w.Attempt((counted, missing), (w.MissingPart(missing),), (1, 0, 0))
    assert str(w.WhyNot("c", (w.RuleAnswer("1", "c <- x.", (attempt,)),))).splitlines()[1:] == [
        "  x ntimes 3 [1, 2]  2 elements              present",
        "  b star_times       at any time             missing: none has come",
    ]


def test_that_a_rule_was_not_there_is_told_once() -> None:
    engine = etalis.compile("d <- a.").engine(justification="full", policy="unrestricted")
    list(engine.run([("a", 1), ("b", 2)]))
    engine.insert_rule("c <- a seq b")
    assert str(engine.why_not("c")).count("not there: ") == 1


def test_why_not_is_a_screen() -> None:
    rules = tuple(
        w.RuleAnswer(str(n), "c <- a.", (w.Attempt((w.AttemptPart("a", A),), (), (1, 0, 0)),) * 3, 2) for n in range(50)
    )
    lines = str(w.WhyNot("c", rules)).splitlines()
    assert len(lines) == 40
    assert lines[3] == "  and 4 further attempts (--all)"
    assert lines[-1] == "and 112 further lines (--all)"
    assert len(w.WhyNot("c", rules).to_text(all=True).splitlines()) == 1 + 50 * 7


def test_the_repair_is_told_however_many_rules_there_are() -> None:
    text = "".join(f"c <- a{n} seq b{n}. " for n in range(30))
    lines = str(etalis.compile(text).why_not([("a0", 1)], "c", repair=True)).splitlines()
    assert len(lines) == 40
    assert lines[-2].endswith("further lines (--all)")
    assert lines[-1] == "  repair: add b0 at 1.000001 (proved smallest)"


def test_a_long_text_does_not_push_others_away() -> None:
    found = etalis.compile("c(X) <- a(X) seq b(X) seq d.").why_not([("a", "x" * 500, 1), ("d", 2)], "c(_)")
    lines = str(found).splitlines()
    assert lines[3] == "  d [2, 2]  input 2                 present"


def test_pickles_are_whole_however_deep() -> None:
    engine = etalis.compile("n(0) <- a. n(Y) <- n(X) seq s where Y is X + 1.").engine(
        justification="full", policy="recent"
    )
    engine.push("a", at="2026-01-01T00:00:00Z")
    for n in range(1, 3001):
        engine.push("s", at=1767225600 + n)
    deep = engine.justify("n(3000)")
    again = pickle.loads(pickle.dumps(deep))  # noqa: S301
    assert again.to_json() == deep.to_json()
    assert str(again).startswith("n(3000) [2026-01-01T00:00:00Z, 2026-01-01T00:50:00Z]")
    assert copy.deepcopy(deep) is deep
    answer = etalis.compile("c <- a seq b.").why_not([("a", "2026-01-01T00:00:00Z")], "c", repair=True)
    again = pickle.loads(pickle.dumps(answer))  # noqa: S301
    assert str(again) == str(answer)
    assert str(again.repair) == str(answer.repair)


def test_what_is_shared_is_told_once() -> None:
    shared = derived("s", A, rule="2", text="s <- a.")
    root = derived("c", j.PairOf("seq", shared, j.PairOf("seq", B, shared)))
    assert str(j.Justification(root, "p")).splitlines() == [
        "c [1, 2]   by rule 1: c <- a seq b.",
        "├─ s [1, 1]   by rule 2: s <- a.   #2",
        "│  └─ a [1, 1]   input 1",
        "├─ b [2, 2]   input 2",
        "└─ s [1, 1]   see #2",
    ]
    assert j.Justification(root, "p").to_term().count("shared") == 1


def test_a_long_run_is_its_first_its_last_and_its_number() -> None:
    run = tuple(received("b", n, n) for n in range(1, 1_003))
    found = str(j.Justification(derived("c", j.RepeatedRun(None, run)), "p")).splitlines()
    first, last = "   ├─ b [1, 1]   input 1", "   └─ b [1002, 1002]   input 1002"
    assert found[1:] == ["└─ 1,002 times", first, "   ├─ … 1,000 more …", last]


def deep(levels: int) -> j.Justification:
    event: Any = A
    for number in range(levels):
        event = derived_flat(event, number)
    return j.Justification(event, "p")


def derived_flat(below: Any, number: int) -> j.Derived:
    return j.Derived("r", (number,), S, 2 * S, "1", "r(Z) <- r(Y) and b.", {}, j.PairOf("and", below, B))


@pytest.mark.parametrize(
    "print_it", [str, j.Justification.to_json, j.Justification.to_term, lambda x: x.to_text(style="manual")]
)
def test_ten_thousand_nested_derivations_are_printed(print_it: Any) -> None:
    text = print_it(deep(10_000))
    assert 500_000 < len(text) < 15_000_000


def test_deep_trees_go_on_below() -> None:
    lines = str(deep(60)).splitlines()
    assert max(map(len, lines)) < 130
    assert [line for line in lines if not line or line.startswith("#")] == [
        "",
        "#37 r(34) [1, 2]   by rule 1",
        "",
        "#12 r(9) [1, 2]   by rule 1",
    ]
    assert sum(line.endswith("see #37 below") for line in lines) == 1


def test_term_of_the_worked_example() -> None:
    assert C.to_term() == (
        "justification(unlabeled,head(c,[1,2]),"
        "seq(justification(unlabeled,head(a,[1,1]),default),justification(unlabeled,head(b,[2,2]),default)))"
    )
    assert NOT_C.to_term() == (
        "[justification(unlabeled,head(c,[_1,_2]),failed("
        "seq(justification(unlabeled,head(a,[1,1]),default),justification(unlabeled,head(b,[_3,_4]),failed))))]"
    )


def test_term_of_everything_is_a_term() -> None:
    for found in (j.Justification(everything(), "p"), every_cause()):
        parse_term(found.to_term())


def test_layout_of_the_manual() -> None:
    assert C.to_text(style="manual").splitlines() == [
        "seq(", "        event(a,[1,1])", ",", "        event(b,[2,2])", ")", "--------------------", "event(c,[1,2])",
    ]  # fmt: skip
    assert NOT_C.to_text(style="manual").splitlines() == [
        "failed forall rules(",
        "        failed(",
        "        event(c,[_1,_2])",
        "        --------------------",
        "                seq(",
        "                        event(a,[1,1])",
        "                ,",
        "                        failed(event(b,[_1,_2]))",
        "                )",
        "        )",
        ")",
    ]


def test_attempts_have_the_shape_of_their_rule() -> None:
    def term(text: str, *events: str) -> str:
        parts = tuple(w.AttemptPart(name, None, pattern=pattern(name)) for name in events)
        found = w.WhyNot("c", (w.RuleAnswer("r1", f"r1 rule: c <- {text}.", (w.Attempt(parts, (), (1, 0, 0)),)),))
        return found.to_term().replace("justification(unlabeled,head", "").split("failed(", 1)[1]

    assert term("(a seq (b or d)) within 5 where X > 1", "a", "d").startswith(
        "where(within(seq((a,[_3,_4]),failed),(d,"
    )
    assert term("any(2, [a, b, d])", "b", "d").startswith("and((b,")
    assert term("a cnot x", "a").startswith("cnot((a,[_3,_4]),failed),(x,[_5,_6]),failed))")
    assert term("a seq (not x within 5)", "a").startswith("seq((a,[_3,_4]),failed),not((x,")
    assert term("a ntimes 3", "a").startswith("(a,")
    assert term("a seq b", "q", "z").startswith("parts([(q,")


def test_an_unknown_style_is_refused() -> None:
    with pytest.raises(ValueError, match="has no form wrong; it has brief, dict, dot, html, manual"):
        C.to_text(style="wrong")


def test_graph_of_the_old_viewer() -> None:
    assert C.to_udraw() == (
        '[l("1",n("",[a("OBJECT","c [1,2] = seq")],'
        '[e("",[],l("2",n("",[a("OBJECT","a [1,1]")],[]))),e("",[],l("3",n("",[a("OBJECT","b [2,2]")],[])))]))]'
    )
    assert '"failed b [_1,_2]"' in NOT_C.to_udraw()
    shared = derived("s", A, rule="2", text="s <- a.")
    twice = j.Justification(derived("c", j.PairOf("seq", shared, shared)), "p").to_udraw()
    assert twice.count('a("OBJECT","s [1,1]")') == 1
    assert 'e("",[],r("2"))' in twice
    quoted = j.Justification(received('say "hi"', 1, 1), "p").to_udraw()
    assert r"""a("OBJECT","'say \"hi\"' [1,1]")""" in quoted
    for found in (j.Justification(everything(), "p"), every_cause(), deep(10_000)):
        assert found.to_udraw().count("(") == found.to_udraw().count(")")
