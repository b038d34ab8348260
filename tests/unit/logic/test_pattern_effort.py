"""What patterns may cost: never less than a matcher that goes back takes, and soon known."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from etalis.logic.sparql.errors import ExpressionError
from etalis.logic.sparql.pattern_effort import MOST_STEPS, PatternEffort, PatternSizeError
from etalis.logic.sparql.patterns import matches, replace

SLOW = [
    ("(a+)+$", "a" * 40 + "b"),
    ("(a*)*b", "a" * 40),
    ("(a|a)*b", "a" * 40),
    ("(a|aa)+$", "a" * 60 + "b"),
    ("(a?){30}a{30}", "a" * 30),
    ("(x+x+)+y", "x" * 40),
    ("(a{1,100}){1,100}b", "a" * 50),
    (r"(\w+\s?)+$", "word " * 10 + "!"),
    (r"(?:(?:a|\x61)*)*b", "a" * 30),
    (".*a.*a.*a.*a.*b", "a" * 300),
    ("(?=(a+)+$)b", "a" * 40 + "b"),
    ("(?i:(Aa?|a)+)b", "a" * 40),
]
SOON = [
    (r"^(\d+\.)*\d+$", "1.2.3.4." * 50 + "x"),
    (r"^[\w.+-]+@[\w-]+(\.[\w-]+)+$", "some.body+x@mail.example.org"),
    ("^([a-z]+,)*[a-z]+$", "abc," * 200 + "1"),
    ("^foo.*$", "foo" + "x" * 1_000_000),
    ("foo", "x" * 1_000_000),
    (r"(?=.*\d)(?=.*[a-z]).{8,}", "x1" * 20),
    (r"(['\"]).*?\1", 'say "x" or ' * 20),
    (r"(.)\1+", "abccd" * 40),
    ("[a-z]{1,1000}", "a" * 100),
    ("(a|b|c)*d", "abc" * 30),
    ("", "abc"),
    (r"\A(?:a|b)(?<=a)(?(1)x|y)?\Z|(q)", "ab"),
]


@pytest.mark.parametrize(("pattern", "text"), SLOW)
def test_what_may_take_for_ever_is_an_error(pattern: str, text: str) -> None:
    for call in (lambda: matches(text, pattern), lambda: replace(text, pattern, "")):
        with pytest.raises(ExpressionError, match="may take too long"):
            call()


@pytest.mark.parametrize(("pattern", "text"), SOON)
def test_what_ends_soon_is_looked_for(pattern: str, text: str) -> None:
    assert matches(text, pattern) == (re.search(pattern, text) is not None)


def test_a_slow_pattern_is_fine_on_texts_that_it_ends_on() -> None:
    assert matches("aaa", "(a+)+$")
    assert not matches("b" * 500, "(a+)+$")
    assert replace("xaay", "(a+)+", "-") == "x-y"


def test_a_pattern_that_repeats_nothing_too_often_is_too_large() -> None:
    with pytest.raises(PatternSizeError):
        PatternEffort.of("(a*|b*){1000}", 0)
    with pytest.raises(PatternSizeError):
        PatternEffort.of("(" * 3 + "abcdefghij" + "{30})" * 2 + "{30}){30}", 0)


# against a matcher that goes back and counts

Node = tuple[Any, ...]


def draw(rng: Random, depth: int) -> Node:
    kind = rng.choice(("a", "b", ".", "ab", "|", "*", "+", "?", "{")) if depth else rng.choice("ab.")
    if kind in "ab." and len(kind) == 1:
        return (kind,)
    if kind == "ab":
        return ("then", *(draw(rng, depth - 1) for _ in range(rng.randint(1, 3))))
    if kind == "|":
        return ("or", draw(rng, depth - 1), draw(rng, depth - 1))
    least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(kind, (rng.randint(0, 2), rng.randint(2, 3)))
    return ("repeat", draw(rng, depth - 1), least, most)


def written(node: Node) -> str:
    match node:
        case ("then", *parts):
            return "".join(map(written, parts))
        case ("or", a, b):
            return f"(?:{written(a)}|{written(b)})"
        case ("repeat", part, least, most):
            return f"(?:{written(part)}){{{least},{'' if most is None else most}}}"
    return str(node[0])


class Matcher:
    """Goes back through all ways, and counts the characters that it looks at."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.looks = 0

    def search(self, node: Node) -> None:
        for start in range(len(self.text)):
            self.go(node, start, lambda _: None)

    def go(self, node: Node, at: int, then: Callable[[int], None]) -> None:
        if self.looks > 20_000:
            return
        match node:
            case ("then",):
                then(at)
            case ("then", first, *rest):
                self.go(first, at, lambda end: self.go(("then", *rest), end, then))
            case ("or", a, b):
                self.go(a, at, then)
                self.go(b, at, then)
            case ("repeat", part, least, most):
                self.repeat(part, least, most, at, then)
            case (character,):
                self.looks += 1
                if at < len(self.text) and character in (".", self.text[at]):
                    then(at + 1)

    def repeat(self, part: Node, least: int, most: int | None, at: int, then: Callable[[int], None]) -> None:
        def again(end: int) -> None:
            if least or end > at:  # an empty round ends the repetition
                self.repeat(part, max(0, least - 1), None if most is None else most - 1, end, then)

        if most != 0:
            self.go(part, at, again)
        if not least:
            then(at)


@pytest.mark.parametrize("seed", range(20))
def test_no_way_is_left_out(seed: int) -> None:
    rng = Random(seed)
    for _ in range(20):
        node = draw(rng, 3)
        text = "".join(rng.choices("aab", k=rng.randint(1, 9)))
        matcher = Matcher(text)
        matcher.search(node)
        effort = PatternEffort.of(written(node), 0)
        # `re` looks once where alternatives are single characters
        assert matcher.looks <= 3 * effort.steps(text), (written(node), text)
        assert effort.is_bounded(text) or effort.steps(text) > MOST_STEPS
