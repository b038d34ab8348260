"""What a newcomer reads when a text is wrong, word by word; docs/errors.md lists every code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from etalis.errors import ProgramError
from etalis.language.read.parser import parse, parse_collect

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"^\| (E1\d\d) \| (.*?) \| (?:`([^`]*)`|.*) \|$", re.MULTILINE)
TABLE = {code: example for code, _, example in ROW.findall((ROOT / "docs" / "errors.md").read_text())}

MESSAGES = [
    (
        "hit <- a then b.",
        """
test:1:10: error E109: `then` is not an operator of patterns
    1 | hit <- a then b.
                 ^^^^
  hint: did you mean seq?""",
    ),
    (
        "hit <- a wihtin 5.",
        """
test:1:10: error E109: `wihtin` is not an operator of patterns
    1 | hit <- a wihtin 5.
                 ^^^^^^
  hint: did you mean within?""",
    ),
    (
        "hit(X) <- a(X) > 5.",
        """
test:1:16: error E109: `>` is not an operator of patterns
    1 | hit(X) <- a(X) > 5.
                       ^
  hint: a condition is written behind `where`: a(X) where X > 1""",
    ),
    (
        "hit <- a not b.",
        """
test:1:10: error E110: `not` is not written between events
    1 | hit <- a not b.
                 ^^^
  hint: use cnot: (a seq b) cnot c, or fnot for never before""",
    ),
    (
        "hit <- a seq b\nhit <- c.",
        """
test:1:14: error E106: a full stop is missing behind `b`
    1 | hit <- a seq b
                     ^
  hint: every clause ends with a full stop""",
    ),
    (
        "hit <- a seq b",
        """
test:1:14: error E106: a full stop is missing behind `b`
    1 | hit <- a seq b
                     ^
  hint: every clause ends with a full stop""",
    ),
    (
        "p(X) :- q(X)\nr(1).",
        """
test:1:12: error E106: a full stop is missing behind `)`
    1 | p(X) :- q(X)
                   ^
  hint: every clause ends with a full stop""",
    ),
    (
        "hit(X <- a(X).",
        """
test:1:4: error E107: this `(` is never closed
    1 | hit(X <- a(X).
           ^
  hint: write `)` before the full stop""",
    ),
    (
        "hit <- (a seq (b or c).",
        """
test:1:8: error E107: this `(` is never closed
    1 | hit <- (a seq (b or c).
               ^
  hint: write `)` before the full stop""",
    ),
    (
        "hit <- a where X > 1, p(X).",
        """
test:1:21: error E117: a comma does not join events
    1 | hit <- a where X > 1, p(X).
                            ^
  hint: join events with `and` or `seq`; put several goals in brackets: where (X > 1, p(X))""",
    ),
    (
        "hit <- a where X<-1.",
        """
test:1:17: error E108: a second arrow in one rule
    1 | hit <- a where X<-1.
                        ^^
  hint: put a space between < and the minus: X < -1""",
    ),
    (
        "hit <- Withdrawal(X).",
        """
test:1:8: error E113: the variable `Withdrawal` cannot be an event
    1 | hit <- Withdrawal(X).
               ^^^^^^^^^^
  hint: names of events begin with a small letter, or are quoted: 'Withdrawal'""",
    ),
    (
        "hit <- a within 5 minuts.",
        """
test:1:19: error E125: `minuts` is no unit of time
    1 | hit <- a within 5 minuts.
                          ^^^^^^
  hint: did you mean minutes?""",
    ),
    (
        "hit <- a where p seq b.",
        """
test:1:18: error E111: `seq` needs brackets around its left side
    1 | hit <- a where p seq b.
                         ^^^
  hint: put the event with its condition in brackets: (a(X) where X > 5) seq b(X)""",
    ),
    (
        "hit <- a seq not c within 5.",
        """
test:1:14: error E114: `not` needs brackets around it and its `within`
    1 | hit <- a seq not c within 5.
                     ^^^
  hint: write a seq (not c within 5), NOT(c).[a, b] or (a seq b) cnot c""",
    ),
    (
        "hit <- a(b seq c).",
        """
test:1:12: error E111: the operator `seq` is not allowed here
    1 | hit <- a(b seq c).
                   ^^^
  hint: events are joined outside of their brackets: a(X) seq b(Y)""",
    ),
    (
        "hit :- a seq b.",
        """
test:1:8: error E116: `seq` joins events, not goals
    1 | hit :- a seq b.
               ^^^^^^^
  hint: event rules are written Head <- Pattern""",
    ),
    (
        "hit <- 'a.\nhit <- b.",
        """
test:1:8: error E102: this quote is never closed
    1 | hit <- 'a.
               ^
  hint: close it with ' on the same line; inside, a quote is doubled: '', a line break is \\n""",
    ),
    (
        "hit <- go seq aggregate(average(X), p(X), A).",
        """
test:1:25: error E114: this is no kind of aggregate
    1 | hit <- go seq aggregate(average(X), p(X), A).
                                ^^^^^^^^^^
  hint: the kinds are count, sum(X), min(X), max(X), avg(X), distinct(X), first(X), last(X), list(X)""",
    ),
]


@pytest.mark.parametrize(("text", "message"), MESSAGES, ids=[text for text, _ in MESSAGES])
def test_the_message(text: str, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse(text, "test")
    assert str(caught.value) == message.strip("\n")


def test_all_errors_of_a_text_are_reported() -> None:
    _, problems = parse_collect("a <- b.\nc <- d then e.\nf <- (g.\nh <- 'i.\nj <- k.\nl <- m, n.")
    assert [(p.code, str(p.span)) for p in problems] == [
        ("E109", "<program>:2:8"),
        ("E107", "<program>:3:6"),
        ("E102", "<program>:4:6"),
        ("E117", "<program>:6:7"),
    ]


def test_a_tab_and_a_long_line_keep_the_caret_in_place() -> None:
    for start in ("\thit <- a", "hit <- " + "a seq " * 40 + "a"):
        with pytest.raises(ProgramError) as caught:
            parse(f"{start} then b.")
        _, line, carets, _ = str(caught.value).split("\n")
        assert line[carets.index("^") : carets.rindex("^") + 1] == "then"


def test_the_table_has_exactly_the_codes_of_the_source() -> None:
    package = ROOT / "src" / "etalis"
    files = [*(package / "language").rglob("*.py"), package / "temporal" / "duration.py"]
    source = "".join(path.read_text() for path in files)
    assert set(TABLE) == set(re.findall(r'"(E1\d\d)"', source))


@pytest.mark.parametrize("code", [code for code, example in TABLE.items() if example])
def test_the_example_gives_its_code(code: str) -> None:
    assert [problem.code for problem in parse_collect(TABLE[code])[1]] == [code]
