"""Justifications and why-not answers of worked examples, made by hand: those that pictures and printers are shown."""

from __future__ import annotations

from etalis.language.read.parser import parse_rule, parse_term
from etalis.why import justification as j
from etalis.why import why_not as w

SECOND = 1_000_000


def received(number: int, name: str, at: float, *args: object) -> j.Received:
    return j.Received(name, args, int(at * SECOND), int(at * SECOND), number)


def derived(
    name: str,
    args: tuple[object, ...],
    start: float,
    end: float,
    body: j.Body,
    *tests: j.Test,
    rule: str = "1",
    text: str = "",
    **bindings: object,
) -> j.Derived:
    return j.Derived(name, args, int(start * SECOND), int(end * SECOND), rule, text, bindings, body, tests)


def why(root: j.Derived | j.Raised | j.Received) -> j.Justification:
    return j.Justification(root, "sha256:0")


def sequence() -> j.Justification:
    """6.17 of the manual."""
    body = j.PairOf("seq", received(1, "a", 1), received(2, "b", 2))
    return why(derived("c", (), 1, 2, body, text="c <- a seq b."))


def absence() -> j.Justification:
    pattern = parse_rule("c <- x(Id).").pattern
    nothing = j.Nothing(pattern, {"Id": 7}, 1 * SECOND, 3 * SECOND, "gap")
    body = j.PairOf("seq", received(1, "a", 1, 7), received(2, "b", 3, 7))
    return why(derived("c", (7,), 1, 3, body, nothing, text="c(Id) <- (a(Id) seq b(Id)) cnot x(Id).", Id=7))


def fold() -> j.Justification:
    elements = tuple(received(n, "p", n, n) for n in range(2, 14))
    body = j.FoldedValue("sum", received(1, "o", 1), elements, 90)
    return why(derived("s", (90,), 1, 13, body, text="s(R) <- o seq aggregate(sum(X), p(X), R)."))


def knowledge() -> j.Justification:
    told = received(2, "linked", 3, "a", "b")
    fact = j.KnownFact(parse_term("linked(a, b)"), 3 * SECOND, told)
    clause = j.ByClause(parse_term("near(a, b)"), (fact, j.BuiltIn(parse_term("1 < 2"))))
    held = j.ConditionHeld("where", parse_term("near(a, b)"), {"A": "a", "B": "b"}, (clause,))
    body = j.PairOf("seq", received(1, "p", 1, "a"), received(3, "q", 4, "b"))
    return why(derived("m", ("a", "b"), 1, 4, body, held, text="m(A, B) <- p(A) seq q(B) where near(A, B)."))


def chain(depth: int) -> j.Justification:
    """Derivations inside each other."""
    text = "n(Y) <- n(X) seq e where Y is X + 1."
    event = derived("n", (0,), 0, 0, received(1, "start", 0), rule="1", text="n(0) <- start.")
    for level in range(1, depth + 1):
        goal = parse_term(f"{level} is {level - 1} + 1")
        held = j.ConditionHeld("where", goal, {}, (j.BuiltIn(goal),))
        body = j.PairOf("seq", event, received(level + 1, "e", level))
        event = derived("n", (level,), 0, level, body, held, rule="2", text=text, X=level - 1, Y=level)
    return why(event)


def shared() -> j.Justification:
    """One derived event in two places."""
    inner = derived("c", (), 1, 2, j.PairOf("seq", received(1, "a", 1), received(2, "b", 2)), text="c <- a seq b.")
    body = j.PairOf("and", inner, j.PairOf("seq", inner, received(3, "d", 5)))
    return why(derived("twice", (), 1, 5, body, rule="2", text="twice <- c and (c seq d)."))


def part(
    text: str, event: j.Occurred | None = None, after: float | None = None, before: float | None = None, **more: object
) -> w.AttemptPart:
    low = None if after is None else w.TimeBound(int(after * SECOND), True)
    high = None if before is None else w.TimeBound(int(before * SECOND), True)
    missing = event is None
    return w.AttemptPart(
        text, event, w.TimeRange(low, None) if missing else None, w.TimeRange(None, high) if missing else None, **more
    )  # type: ignore[arg-type]


def answer(question: str, *rules: w.RuleAnswer) -> w.WhyNot:
    return w.WhyNot(question, rules)


def missing() -> w.WhyNot:
    """6.18 of the manual."""
    lost = part("b", after=1)
    attempt = w.Attempt((part("a", received(1, "a", 1)), lost), (w.MissingPart(lost),), (1, 0, 0))
    return answer("c", w.RuleAnswer("1", "c <- a seq b.", (attempt,)))


def blocked() -> w.WhyNot:
    parts = (part("a", received(1, "a", 1)), part("b", received(4, "b", 3)))
    causes = (w.BlockedBy((received(2, "x", 2), received(3, "x", 2.5))),)
    return answer("c", w.RuleAnswer("1", "c <- (a seq b) cnot x.", (w.Attempt(parts, causes, (0, 1, 0)),)))


def several_causes() -> w.WhyNot:
    """A window, an order, a nearest miss, a condition and a policy, in three rules."""
    p, q = received(1, "p", 0, 1), received(2, "q", 12, 1)
    window = w.Attempt((part("p(1)", p), part("q(1)", q)), (w.TooLong(10 * SECOND, 12 * SECOND),), (0, 1, 2 * SECOND))
    early = received(3, "q", 5, 2)
    order = w.Attempt(
        (part("p(2)", received(4, "p", 7, 2)), part("q(2)", early)),
        (w.OutOfOrder("seq", received(4, "p", 7, 2), early, 2 * SECOND),),
        (0, 1, 2 * SECOND),
    )
    lost = part("q(3)", after=2, nearest=w.NearestMiss(received(5, "q", 9, 4), "X", 3, 4))
    near = w.Attempt((part("p(3)", received(6, "p", 2, 3)), lost), (w.MissingPart(lost),), (1, 0, 0))
    goal = parse_term("far(basel, bern)")
    refuted = w.Attempt(
        (part("w(c, basel)", received(7, "w", 1, "c", "basel")), part("w(c, bern)", received(8, "w", 2, "c", "bern"))),
        (w.Refuted(goal, goal, {"A": "basel", "B": "bern"}),),
        (0, 1, 1),
    )
    taken = j.Occurred("r", (), 2 * SECOND, 4 * SECOND)
    rival = w.Attempt(
        (part("p", received(9, "p", 2)), part("q", received(10, "q", 5))),
        (w.Withheld("consumed", received(9, "p", 2), (taken,)),),
        (0, 1, 0),
    )
    return answer(
        "r(X)",
        w.RuleAnswer("1", "r(X) <- (p(X) seq q(X)) within 10.", (window, order, near), more=4),
        w.RuleAnswer("2", "r(C) <- w(C, A) seq w(C, B) where far(A, B).", (refuted,)),
        w.RuleAnswer(
            "third", "r(1) <- p seq q.", (rival,), affairs=(w.Affair("not_there", "the rule is there since 5"),)
        ),
    )
