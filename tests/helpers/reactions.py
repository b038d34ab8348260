"""Random programs with reactions over three state predicates, as texts, and streams for them."""

from __future__ import annotations

from random import Random

from etalis.temporal.event import Event

HEADER = """:- set_flag(max_reactions, 25).
:- set_flag(max_tries, 2000).
:- state flag/0, p/1, q/2 key 1.
print_trigger(_).
"""
FACTS = ("flag.", "p(1).", "p(2).", "q(1, 1).", "q(2, 5).")
RULES = (
    "d(X) <- a(X) where p(X).",
    "e(X, Y) <- a(X) seq b(Y).",
    "c(V) <- b(X) where q(X, V).",
    "exceptionAlarm(b(X), 2) <- a(X).",
)
CLAUSES = (
    "action take(X) :- q(X, V) seq V > 0 seq W is V - 1 seq set(q(X, W)).",
    "action take(X) :- \\+ q(X, _) seq ins(q(X, 3)).",
    "action both(X) :- iso(ins(p(X)) seq flag seq del(flag)).",
    "action clear :- p(X) seq del(p(X)) seq clear.",
    "action clear :- \\+ p(_).",
)
ALWAYS = ("always \\+ (q(_, V), V > 6).", "always \\+ (p(1), p(2), p(3)).")
PATTERNS = (
    "a(X)", "b(X)", "c(X)", "d(X)", "a(X) seq b(Y)", "a(X) or b(X)", "(a(X) and b(X)) within 4",
    "a(X) seq (not b(X) within 2)", "b(X) cnot c(_)", "a(X) ntimes 2", "a(X) seq b(_) seq c(_)", "e(X, _)",
)  # fmt: skip
CONDITIONS = ("p(X)", "flag", "(q(X, V), V > 1)", "\\+ flag", "X > 1", "findall(Y, p(Y), [_|_])")
STEPS = (
    "ins(p(X))", "ins(q(X, 4))", "set(q(X, 2))", "del(p(X))", "del(p(_))", "del(q(X, _))", "ins(flag)", "del(flag)",
    "p(X)", "p(_)", "flag", "\\+ flag", "\\+ p(X)", "q(X, _)", "X > 1", "raise(c(X))", "raise(b(X))",
    "raise(b(X), after(1))", "effect(tell(X))", "effect(hold)", "skip", "abort", "take(X)", "both(X)", "clear",
)  # fmt: skip
BOUND = ("q(X, V) seq ins(p(V))", "(p(V), V > 1) seq del(p(V))", "p(V) seq raise(c(V))", "q(V, X) seq set(q(V, 0))")


AWAITED = (
    "b(X)",
    "b(_)",
    "a(X) seq b(Y)",
    "(b(Y) where Y > X)",
    "d(X)",
    "(a(X) or b(X))",
    "a(_) seq (not b(X) within 1)",
)


def waiting(random: Random, depth: int) -> str:
    """A random action over X that may wait."""
    form = random.random()
    if form < 0.4 or depth == 0:
        first, then = action(random, depth), action(random, depth)
        return f"({first} seq await({random.choice(AWAITED)} within {random.randint(1, 4)}) seq {then})"
    left, right = waiting(random, depth - 1), waiting(random, depth - 1) if form < 0.7 else action(random, depth)
    if form < 0.85:
        return f"({left} {random.choice(('seq', 'seq', 'or'))} {right})"
    return f"({random.choice(CONDITIONS)} -> {left} ; {right})"


def action(random: Random, depth: int) -> str:
    """A random action over X, which is bound."""
    if depth == 0 or random.random() < 0.25:
        return random.choice(BOUND) if random.random() < 0.2 else random.choice(STEPS)
    form, left, right = random.random(), action(random, depth - 1), action(random, depth - 1)
    if form < 0.8:
        return f"({left} {random.choice(('seq', 'seq', 'seq', 'par', 'or'))} {right})"
    if form < 0.9:
        return f"({random.choice(CONDITIONS)} -> {left} ; {right})"
    return f"{random.choice(('iso', 'iso', 'possible', 'impossible'))}({left})"


def reaction(random: Random, number: int) -> str:
    condition = f" if {random.choice(CONDITIONS)}" if random.random() < 0.3 else ""
    otherwise = f" else {action(random, 2)}" if condition and random.random() < 0.5 else ""
    waits = random.random() < 0.25
    done = waiting(random, 2) if waits else action(random, 3)
    undone = f" undo {action(random, 1)}" if waits and random.random() < 0.7 else ""
    return f"r{number} rule: on {random.choice(PATTERNS)}{condition} do {done}{otherwise}{undone}."


def reactive_program(random: Random) -> str:
    """A program with one to three reactions."""
    lines = [line for line in FACTS if random.random() < 0.6]
    rules = random.sample(RULES, random.randint(0, 2))
    always = [random.choice(ALWAYS)] if random.random() < 0.2 else []
    found = [reaction(random, number) for number in range(random.randint(1, 3))]
    return HEADER + "\n".join([*lines, *rules, *CLAUSES, *always, *found]) + "\n"


def reactive_stream(random: Random) -> list[Event]:
    """Up to ten events at moments close together, some of them equal, some intervals."""
    found, now = [], 0
    for _ in range(random.randint(1, 10)):
        now += random.choice((0, 1, 1, 2))
        start = now - random.choice((0, 0, 0, 1))
        found.append(Event.make(random.choice("aaabbc"), (random.randint(1, 3),), start * 1_000_000, now * 1_000_000))
    return sorted(found, key=lambda event: (event.end_time, event.start_time))
