"""Explanations: the text says what is kept and shared; pictures are well formed whatever a program is called."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import etalis
from etalis.errors import ProgramError
from etalis.pictures.paint.lettering import wrap
from helpers.drawn import check_dot, check_svg

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").rglob("*.etalis"))

FRAUD = r"""
:- event(withdrawal(card: string, city: string, amount: float)).
fraud(Card, Total) <- (withdrawal(Card, A, X) seq withdrawal(Card, B, Y)) within 600 where (A \= B, Total is X + Y).
"""

EVERY_OPERATOR = r"""
s(Id) <- (a(Id) seq b(Id)) cnot c(Id, _).
t(X) <- a(X) fnot b(X) do write(X).
r(N) <- n(N) seq (t ntimes N) within 5.
u(X) <- x(X) ntimes (2, 3).
v(Id) <- a(Id) seq b(Id) star_times seq c(Id, _).
m(S, M) <- aggregate(avg(P), price(S, P), M) last 2.
n(S, N) <- start(S) seq aggregate(count, price(S, P), N).
late(I) <- order(I) seq (not shipped(I) within 60).
exceptionAlarm(reminder(Id), 30) <- order(Id).
z(X) <- iso(a(X) during (b(X) or c(X, Y))).
seven <- 7 seq a(X) event_multiply member(X, [1, 2]).
k(X) <- any(2, [a(X), b(X), c(X, _)]) check t1(X).
p(X, Z) <- p(X, Y) seq e(Y, Z).
p(X, Y) <- e(X, Y).
q(X) <- p(X, _) and p(_, X).
print_trigger(q/1).
"""

NASTY = r"""
'a "b" \\ <c> & ]]> --> \x1\ %s {'('D\nE', '&lt;', "</text>") <- 'x\\'(X) seq '"'(X) where X \= '</svg>'.
"""


def test_text() -> None:
    assert etalis.compile(FRAUD).explain() == (
        r"""
rule 1: fraud(Card, Total), reported
└─ seq
   │  a.end < b.start; on the hull
   │  policy recent
   │  join key: Card
   │  within 600 (10 min)
   │  where A \= B, Total is X + Y
   ├─ a: withdrawal(Card, A, X)
   │     kept: A, X, interval by Card, until 600 s after its end or matched
   │     within 600 (10 min)
   └─ b: withdrawal(Card, B, Y)
         kept: nothing: no partner can come later
         within 600 (10 min)

policies
  recent  the latest candidate; what was matched leaves; the arriving instance waits only if it found none

events
  withdrawal/3  received           card: string, city: string, amount: float
  fraud/2       derived by rule 1  string, float

partition
  rule 1: by attribute 1 of withdrawal/3, attribute 1 of fraud/2
""".strip()
    )


def test_policy() -> None:
    program = etalis.compile("p(X) <- a(X) seq b(X).")
    assert "interval by X, for ever" in program.explain(policy="unrestricted")
    assert "until a newer one comes" in program.explain(policy="snoop_recent")
    with pytest.raises(ProgramError, match="unknown policy best"):
        program.explain(policy="best")


def test_a_shared_part_is_told_once() -> None:
    text = etalis.compile("p(X) <- a(X) seq b(X). q(Y) <- a(Y) seq b(Y). r(Y) <- a(Y) seq b(Z).").explain()
    assert "└─ [1] seq" in text
    assert "shared with rule 2" in text
    assert "└─ [1] as in rule 1\n      Y is X there" in text
    assert "[2]" not in text
    apart = etalis.compile("p(X) <- a(X) seq b(X). q(Y) <- a(Y) seq b(Y).", rule_sharing="off").explain()
    assert "[1]" not in apart


def test_a_shared_part_is_drawn_once() -> None:
    rules = [f"d{k}(X) <- a(X) seq b(X)." for k in range(16)]
    assert etalis.compile(" ".join(rules)).explain_dot().count('label="seq\\l') == 1


def test_code_is_shown() -> None:
    code = etalis.compile("p(X) <- a(X) seq b(X).").code()
    assert "def " in code
    compile(code, "code", "exec")


def test_the_constants_of_code_are_named() -> None:
    code = etalis.compile("p(X) <- a(X) seq 'it''s\\nb'(X) where X > 3. q <- a(X) and (b(X) or c) cnot d.").code()
    compile(code, "code", "exec")
    named = {line.split(": ", 1)[1] for line in code.splitlines() if line.startswith("# k")}
    assert {"store of a(X), side a of seq", "store of a(X), side a of and", "kind p/1 of rule 1", "3"} <= named


@pytest.mark.parametrize("text", [EVERY_OPERATOR, NASTY, *(path.read_text() for path in EXAMPLES)])
@pytest.mark.parametrize("policy", ["unrestricted", "recent"])
def test_everything_is_explained(text: str, policy: str) -> None:
    program = etalis.compile(text)
    assert "rule " in program.explain(policy=policy)
    check_svg(program.explain_svg(policy=policy))
    check_dot(program.explain_dot(policy=policy))


def test_no_rules() -> None:
    program = etalis.compile("fact(1).")
    assert program.explain() == "no rules"
    check_svg(program.explain_svg())
    check_dot(program.explain_dot())


def test_what_a_program_says_is_no_markup() -> None:
    program = etalis.compile(NASTY)
    root = ET.fromstring(program.explain_svg())
    shown = "".join(root.itertext())
    assert r"""'a "b" \\ <c> & ]]> --> \x1\ %s {'""" in shown
    assert "</svg>" in shown
    dot = program.explain_dot()
    assert r"'&amp;lt;'" in dot
    assert r"\"b\" \\\\ <c>" in dot


@pytest.mark.parametrize("text", ["a" * 200, "one two three " * 20, "日本語" * 40, "", " ", "a b", "x" * 45 + " y"])
def test_wrapped_lines_fit(text: str) -> None:
    lines = wrap(text, 46)
    assert all(len(line) <= 46 for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
