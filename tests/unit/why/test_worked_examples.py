"""The worked examples of explanations, each asked as a user asks and compared with all that is told.

Of `why` the text, of `why not` with its repair; what else an example states stands in the tests behind the tables.
"""

from __future__ import annotations

import json
from textwrap import dedent
from typing import Any

import pytest

import etalis

pytestmark = pytest.mark.filterwarnings("ignore::etalis.errors.ProgramWarning")
Rows = list[tuple[Any, ...]]  # name, values, moment

SEQUENCE = "c <- a seq b."
KEYED = "m(X) <- p(X) seq q(X)."
GAP = "c <- (a seq b) cnot x."
FAR = "fraud(C) <- w(C, A) seq w(C, B) where far(A, B). far(bern, rome)."
ABSENT = "c <- a seq (not b within 5)."
SUM = "s(R) <- o seq aggregate(sum(X), p(X), R)."
CLOSURE = "r(X, Y) <- e(X, Y). r(X, Z) <- r(X, Y) and e(Y, Z)."
LINKED = ":- knowledge linked/2. m(A, B) <- p(A) seq q(B) where linked(A, B)."
REVISED = ":- set_flag(revision_flag, on). c <- a seq b."
LATE = ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 10). c <- a seq b."
TWO = [("w", "c", "basel", 1), ("w", "c", "bern", 2)]
EDGES = [("e", 1, 2, 1), ("e", 2, 3, 2), ("e", 1, 3, 2)]
SUMMED = [("o", 1), ("p", 2, 2), ("p", 3, 3)]
AAB = [("a", 1), ("a", 2), ("b", 3)]


def run(text: str, rows: Rows, until: float | None = None, policy: str = "unrestricted") -> etalis.Engine:
    engine = etalis.compile(text).engine(justification="full", policy=policy)
    for name, *args, at in rows:
        engine.push(name, *args, at=at)
    if until is not None:
        engine.advance(to=until)
    return engine


# number: program, rows, options of the run, question, its options, what is told
WHY: dict[str, tuple[str, Rows, dict[str, Any], str, dict[str, Any], str]] = {
    "1": (SEQUENCE, [("a", 1), ("b", 2)], {}, "c", {}, """
        c [1, 2]   by rule 1: c <- a seq b.
        ├─ a [1, 1]   input 1
        └─ b [2, 2]   input 2"""),
    "4": ("hit <- p seq q seq r.", [("p", 1), ("q", 2), ("r", 3)], {}, "hit", {}, """
        hit [1, 3]   by rule 1: hit <- p seq q seq r.
        ├─ p [1, 1]   input 1
        ├─ q [2, 2]   input 2
        └─ r [3, 3]   input 3"""),
    "6": ("hit(X) <- p(X) where X > 0.", [("p", 1, 1)], {}, "hit(_)", {}, """
        hit(1) [1, 1]   by rule 1: hit(X) <- p(X) where X > 0.
        ├─ p(1) [1, 1]   input 1
        └─ where 1 > 0   built in"""),
    "7": (GAP, [("a", 1), ("b", 3)], {}, "c", {}, """
        c [1, 3]   by rule 1: c <- a seq b cnot x.
        ├─ a [1, 1]   input 1
        ├─ b [3, 3]   input 2
        └─ no x after 1, before 3"""),
    "15": (ABSENT, [("a", 1)], {"until": 6}, "c", {}, """
        c [1, 6]   by rule 1: c <- a seq (not b within 5).
        ├─ a [1, 1]   input 1
        └─ no b after 1, up to 6"""),
    "16": (SUM, SUMMED, {}, "s(5)", {}, """
        s(5) [1, 3]   by rule 1: s(R) <- o seq aggregate(sum(X), p(X), R).
        ├─ o [1, 1]   input 1
        └─ sum 5 of 2 elements
           ├─ p(2) [2, 2]   input 2
           └─ p(3) [3, 3]   input 3"""),
    "17": ("m <- a seq b star_times seq d.", [("a", 1), ("b", 2), ("b", 3), ("d", 4)], {}, "m", {}, """
        m [1, 4]   by rule 1: m <- a seq b star_times seq d.
        ├─ a [1, 1]   input 1
        ├─ 2 times
        │  ├─ b [2, 2]   input 2
        │  └─ b [3, 3]   input 3
        └─ d [4, 4]   input 4"""),
    "18 by two edges": (CLOSURE, EDGES, {}, "r(1, 3)", {"interval": (1, 2)}, """
        r(1, 3) [1, 2]   by rule 2: r(X, Z) <- r(X, Y) and e(Y, Z).
        ├─ r(1, 2) [1, 1]   by rule 1: r(X, Y) <- e(X, Y).
        │  └─ e(1, 2) [1, 1]   input 1
        └─ e(2, 3) [2, 2]   input 2"""),
    "18 by one": (CLOSURE, EDGES, {}, "r(1, 3)", {"interval": (2, 2)}, """
        r(1, 3) [2, 2]   by rule 1: r(X, Y) <- e(X, Y).
        └─ e(1, 3) [2, 2]   input 3"""),
    "19": ("r <- e do event(x(1)). y(Z) <- x(Z).", [("e", 1)], {}, "y(1)", {}, """
        y(1) [1, 1]   by rule 2: y(Z) <- x(Z).
        └─ x(1) [1, 1]   raised by an action of
           └─ r [1, 1]   by rule 1: r <- e do event(x(1)).
              └─ e [1, 1]   input 1"""),
    "20": (LINKED, [("p", "a", 1), ("linked", "a", "b", 3), ("q", "b", 4)], {}, "m(a, b)", {}, """
        m(a, b) [1, 4]   by rule 1: m(A, B) <- p(A) seq q(B) where linked(A, B).
        ├─ p(a) [1, 1]   input 1
        ├─ q(b) [4, 4]   input 3
        └─ where linked(a, b)   fact since 3, input 2"""),
    "21": (REVISED, [("a", 1), ("b", 2), ("rev", "a", 1)], {}, "c", {}, """
        c [1, 2]   by rule 1: c <- a seq b.
        ├─ a [1, 1]   input 1
        ├─ b [2, 2]   input 2
        └─ note: taken back by the correction of input 1
        note: input 1, a at 1, was taken back"""),
    "23": ("c(X) <- p(X) or q(X). q(X) <- p(X).", [("p", 1, 1)], {}, "c(1)", {}, """
        c(1) [1, 1]   by rule 1: c(X) <- p(X) or q(X).
        └─ alternative 1
           └─ p(1) [1, 1]   input 1"""),
    "26": (SEQUENCE, AAB, {"policy": "cumulative"}, "c", {}, """
        c [1, 3]   by rule 1: c <- a seq b.
        ├─ a [1, 1]   input 1
        ├─ a [2, 2]   input 2
        ├─ b [3, 3]   input 3
        └─ chosen under cumulative"""),
    "27": ("exceptionAlarm(late, 5) <- a.", [("a", 1)], {"until": 6}, "late", {}, """
        late [6, 6]   by rule 1: exceptionAlarm(late, 5) <- a.
        ├─ a [1, 1]   input 1
        └─ rings at 6"""),
}  # fmt: skip

WHY_NOT: dict[str, tuple[str, Rows, dict[str, Any], str, dict[str, Any], str]] = {
    "2": (SEQUENCE, [("a", 1)], {}, "c", {}, """
        c did not occur.  Rule 1: c <- a seq b.
          a [1, 1]  input 1                 present
          b         after 1                 missing: no event b has come
          repair: add b at 1.000001 (proved smallest)"""),
    "5": ("hit <- p seq q. hit <- r and s.", [("p", 1), ("r", 2)], {}, "hit", {}, """
        hit did not occur.
        Rule 1: hit <- p seq q.
          p [1, 1]  input 1                 present
          q         after 1                 missing: no event q has come
        Rule 2: hit <- r and s.
          r [2, 2]  input 2                 present
          s         at any time             missing: no event s has come
          repair: add q at 1.000001 (proved smallest)"""),
    "7": (GAP, [("a", 1), ("x", 2), ("b", 3)], {}, "c", {}, """
        c did not occur.  Rule 1: c <- a seq b cnot x.
          a [1, 1]  input 1                 present
          b [3, 3]  input 3                 present
          x [2, 2]  input 2                 blocks it
          and 3 further attempts (--all)
          repair: remove x at 2 (proved smallest)"""),
    "8": (GAP, [("a", 1), ("x", 2), ("x", 2.5), ("b", 3)], {}, "c", {}, """
        c did not occur.  Rule 1: c <- a seq b cnot x.
          a [1, 1]      input 1                 present
          b [3, 3]      input 4                 present
          x [2, 2]      input 2                 blocks it
          x [2.5, 2.5]  input 3                 blocks it
          and 3 further attempts (--all)
          repair: add b at 1.000001 (proved smallest)"""),
    "8 on an interval": (GAP, [("a", 1), ("x", 2), ("x", 2.5), ("b", 3)], {}, "c", {"interval": (1, 3)}, """
        c did not occur.  Rule 1: c <- a seq b cnot x.
          a [1, 1]      input 1                 present
          b [3, 3]      input 4                 present
          x [2, 2]      input 2                 blocks it
          x [2.5, 2.5]  input 3                 blocks it
          and 3 further attempts (--all)
          repair: remove x at 2, remove x at 2.5 (proved smallest)"""),
    "9": ("m(X) <- (p(X) seq q(X)) within 10.", [("p", 1, 0), ("q", 1, 12)], {}, "m(1)", {}, """
        m(1) did not occur.  Rule 1: m(X) <- p(X) seq q(X) within 10.
          p(1) [0, 0]    input 1                 present
          q(1) [12, 12]  input 2                 present
          window: 12 s long, within 10 s; 2 s too long
          and 3 further attempts (--all)
          repair: move q(1) from 12 to 10 (proved smallest)"""),
    "10": (KEYED, [("p", 1, 0), ("q", 2, 1)], {}, "m(_)", {}, """
        m(_) did not occur.  Rule 1: m(X) <- p(X) seq q(X).
          p(1) [0, 0]  input 1                 present
          q(1)         after 0                 missing: nearest q(2) [1, 1], where X is 2, not 1
          and 1 further attempt (--all)
          repair: add q(1) at 0.000001 (proved smallest)"""),
    "11": (KEYED, [("q", 1, 0), ("p", 1, 1)], {}, "m(1)", {}, """
        m(1) did not occur.  Rule 1: m(X) <- p(X) seq q(X).
          p(1) [1, 1]  input 2                 present
          q(1) [0, 0]  input 1                 present
          order: p(1) [1, 1] seq q(1) [0, 0] does not hold, by 1 s
          and 3 further attempts (--all)
          repair: move q(1) from 0 to 1.000001 (proved smallest)"""),
    "12": (
        "m <- p seq q.", [("p", 1), ("p", 2), ("q", 3), ("q", 4), ("q", 5)], {"policy": "chronological"}, "m",
        {"at": 5}, """
        m did not occur.  Rule 1: m <- p seq q.
          p [2, 2]  input 2                 consumed by m [2, 4]
          q [5, 5]  input 5                 present
          and 4 further attempts (--all)
          repair: remove q at 4 (proved smallest)"""),
    "13": (
        "m <- p seq q.", [("p", 1), ("p", 1.5), ("p", 2), ("q", 3)], {"policy": "recent"}, "m",
        {"interval": (1, 3)}, """
        m did not occur.  Rule 1: m <- p seq q.
          p [1, 1]  input 1                 not chosen: p [2, 2], p [1.5, 1.5] go before it
          q [3, 3]  input 4                 present
          and 3 further attempts (--all)
          repair: remove p at 1.5, remove p at 2 (proved smallest)"""),
    "14": (FAR, TWO, {}, "fraud(c)", {}, """
        fraud(c) did not occur.  Rule 1: fraud(C) <- w(C, A) seq w(C, B) where far(A, B).
          w(c, basel) [1, 1]  input 1                 present
          w(c, bern) [2, 2]   input 2                 present
          condition: far(basel, bern) has no proof
          and 5 further attempts (--all)
          repair: add w(c, rome) at 2.000001 (proved smallest)"""),
    "15 pending": (ABSENT, [("a", 1)], {"until": 4}, "c", {}, """
        c did not occur.  Rule 1: c <- a seq (not b within 5).
          a [1, 1]  input 1                 present
          pending until 6"""),
    "15 blocked": (ABSENT, [("a", 1), ("b", 3)], {"until": 9}, "c", {}, """
        c did not occur.  Rule 1: c <- a seq (not b within 5).
          a [1, 1]  input 1                 present
          b [3, 3]  input 2                 blocks it
          repair: remove b at 3 (proved smallest)"""),
    "16": (SUM, SUMMED, {}, "s(4)", {}, """
        s(4) did not occur.  Rule 1: s(R) <- o seq aggregate(sum(X), p(X), R).
          o [1, 1]                           input 1                 present
          aggregate(sum(X), p(X), 4) [2, 3]  2 elements              present
          value: wanted 4, found 5 at 3, 2 at 2, 0 at 1
          and 3 further attempts (--all)
          repair: add p(-1) at 3.000001 (proved smallest)"""),
    "18": (CLOSURE, EDGES, {}, "r(3, 1)", {}, """
        r(3, 1) did not occur.
        Rule 1: r(X, Y) <- e(X, Y).
          e(3, 1)  at any time             missing: no event e(3, 1) has come
        Rule 2: r(X, Z) <- r(X, Y) and e(Y, Z).
          r(3, Y)  at any time             missing: no event r(3, Y) has occurred
            Rule 1: r(X, Y) <- e(X, Y).
              e(3, Y)  at any time             missing: no event e(3, Y) has come
            Rule 2: r(X, Z) <- r(X, Y) and e(Y, Z).
              r(3, 1)         at any time             missing: no event r(3, 1) has occurred; needs itself
              e(1, 3) [2, 2]  input 3                 present
              and 3 further attempts (--all)
          e(Y, 1)  at any time             missing: no event e(Y, 1) has come
          repair: add e(3, 1) at 2.000001 (proved smallest)"""),
    "20": (LINKED, [("p", "a", 1), ("q", "b", 4), ("linked", "a", "b", 5)], {}, "m(a, b)", {}, """
        m(a, b) did not occur.  Rule 1: m(A, B) <- p(A) seq q(B) where linked(A, B).
          p(a) [1, 1]  input 1                 present
          q(b) [4, 4]  input 2                 present
          knowledge: it holds by what was known later: linked(a, b) only since 5
          and 3 further attempts (--all)"""),
    "22": (LATE, [("b", 20), ("a", 8)], {}, "c", {}, """
        c did not occur.  Rule 1: c <- a seq b.
          a           before 20               missing: no event a has come
          b [20, 20]  input 1                 present
          pending until 20
        too late: a [8, 8]: a at 8 came too late: by 12 s, 10 s are allowed"""),
    "25": ("fraud(A, B) <- p(A, B).", [], {}, "fraudd(c1)", {}, """
        fraudd(c1) did not occur: no rule makes fraudd/1; did you mean fraud/2?"""),
    "26 merged": (SEQUENCE, AAB, {"policy": "cumulative"}, "c", {"interval": (2, 3)}, """
        c did not occur.  Rule 1: c <- a seq b.
          a [2, 2]  input 2                 merged in c [1, 3]
          b [3, 3]  input 3                 present
          and 3 further attempts (--all)
          repair: remove a at 1 (proved smallest)"""),
    "26 replaced": (SEQUENCE, AAB, {"policy": "snoop_recent"}, "c", {"interval": (1, 3)}, """
        c did not occur.  Rule 1: c <- a seq b.
          a [1, 1]  input 1                 replaced by a [2, 2]
          b [3, 3]  input 3                 present
          and 3 further attempts (--all)
          repair: remove a at 2 (proved smallest)"""),
    "27": ("exceptionAlarm(late, 5) <- a.", [("a", 1)], {"until": 4}, "late", {}, """
        late did not occur.  Rule 1: exceptionAlarm(late, 5) <- a.
          a [1, 1]  input 1                 present
          pending until 6"""),
}  # fmt: skip


@pytest.mark.parametrize("name", WHY)
def test_why(name: str) -> None:
    program, rows, options, question, times, told = WHY[name]
    assert str(run(program, rows, **options).justify(question, **times)) == dedent(told).strip()


@pytest.mark.parametrize("name", WHY_NOT)
def test_why_not_and_repair(name: str) -> None:
    program, rows, options, question, times, told = WHY_NOT[name]
    assert str(run(program, rows, **options).why_not(question, **times, repair=True)) == dedent(told).strip()


def test_1_and_2_as_terms() -> None:
    engine = run(SEQUENCE, [("a", 1)])
    failed = (
        "failed(seq(justification(unlabeled,head(a,[1,1]),default),justification(unlabeled,head(b,[_3,_4]),failed)))"
    )
    for goal in ("justify_event", "justify_event_negative"):
        (row,) = engine.query(f"{goal}(c, I, J), term_to_atom(J, T)")
        assert row["T"] == f"[justification(unlabeled,head(c,[_1,_2]),{failed})]"
    assert engine.query("justify_event_positive(c, I, J)") == []
    engine.push("b", at=2)
    leaves = [f"justification(unlabeled,head({name},[{at},{at}]),default)" for name, at in (("a", 1), ("b", 2))]
    for goal in ("justify_event", "justify_event_positive"):
        (row,) = engine.query(f"{goal}(c, I, J)")
        assert row["I"] == (1, 2)
        assert str(row["J"]) == f"justification(unlabeled,head(c,[1,2]),seq({','.join(leaves)}))"
    assert engine.query("justify_event_negative(c, I, J)") == []


def test_3_as_pictures() -> None:
    engine = run(SEQUENCE, [("a", 1)])
    missing = engine.why_not("c").to_svg()
    assert "stroke-dasharray" in missing
    assert "b is missing after 1" in missing
    engine.push("b", at=2)
    assert "input 2" in engine.justify("c").to_svg()


def test_7_as_json() -> None:
    found = json.loads(run(GAP, [("a", 1), ("b", 3)]).justify("c").to_json())
    assert (found["root"], found["level"], found["complete"]) == (3, "full", True)
    assert found["nodes"] == [
        {"n": 1, "kind": "received", "atom": "a", "start": 1, "end": 1, "input": 1},
        {"n": 2, "kind": "received", "atom": "b", "start": 3, "end": 3, "input": 2},
        {
            "n": 3, "kind": "derived", "atom": "c", "start": 1, "end": 3, "rule": "1", "text": "c <- a seq b cnot x.",
            "bindings": {}, "body": {"pair": "seq", "left": 1, "right": 2},
            "tests": [{"nothing": "x", "after": 1, "before": 3, "where": "gap"}],
        },
    ]  # fmt: skip


def test_14_strangers_change_nothing() -> None:
    program, rows, _, question, _, told = WHY_NOT["14"]
    among = run(program, [*rows, ("w", "d", "rome", 3)]).why_not(question)
    assert str(among).splitlines() == dedent(told).strip().splitlines()[:-1]


@pytest.mark.parametrize("policy", ["unrestricted", "recent", "chronological", "snoop_recent", "cumulative"])
def test_17_under_every_policy(policy: str) -> None:
    engine = run("m <- a seq b star_times seq d.", [("a", 1), ("b", 2), ("b", 3)], policy=policy)
    assert [match.parts for match in engine.push("d", at=4)] == [(1, 2, 3, 4)]


def test_19_20_and_26_parts() -> None:
    raised = run("r <- e do event(x(1)). y(Z) <- x(Z).", []).push("e", at=1)
    assert [(match.name, match.parts) for match in raised] == [("r", (1,)), ("y", (1,))]
    (known,) = run(LINKED, [("p", "a", 1), ("linked", "a", "b", 3)]).push("q", "b", at=4)
    assert known.parts == (1, 3)
    for policy, start, parts in (("cumulative", 1, (1, 2, 3)), ("snoop_recent", 2, (2, 3))):
        (match,) = run(SEQUENCE, AAB[:2], policy=policy).push("b", at=3)
        assert (match.start, match.end, match.parts) == (start, 3, parts)


def test_23_is_one_event() -> None:
    (match,) = run("c(X) <- p(X) or p(X).", []).push("p", 1, at=1)
    assert match.parts == (1,)


def test_24_a_rule_that_was_not_there() -> None:
    engine = run("d <- a and b.", [("a", 1), ("b", 2)], until=5)
    engine.insert_rule("c <- a seq b")
    assert str(engine.why_not("c", repair=True)).splitlines()[:4] == [
        "c did not occur.  Rule 2: c <- a seq b.",
        "  a [1, 1]  input 1                 present",
        "  b [2, 2]  input 2                 present",
        "  not there: the rule is there since 5",
    ]
