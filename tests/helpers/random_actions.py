"""Random programs of actions over few facts, so that what is tried is often met again, blocked, or forbidden."""

from __future__ import annotations

from random import Random

HEAD = ":- state p/1, q/1, k/2 key 1, f/0."
_DEMANDS = (
    "", "", "", "always \\+ (p(X), X > 2).", "always \\+ (k(_, V), V > 2).", "always (\\+ p(1) ; \\+ p(2)).",
    "always \\+ f. always forall(k(_, V), V < 3).", "always \\+ (q(X), p(X)).",
)  # fmt: skip
_LEAVES = (
    "ins(p({n}))", "ins(p({n}))", "del(p({n}))", "del(p(_))", "ins(q({n}))", "ins(q({v}))", "del(q({v}))", "ins(f)",
    "del(f)", "f", "\\+ f", "p({n})", "p({v})", "p({v})", "q({v})", "\\+ p({n})", "\\+ q({v})", "{v} > 1", "{v} = {n}",
    "set(k({n}, {m}))", "ins(k({n}, {m}))", "set(k({v}, 2))", "k({n}, {m})", "k({v}, _)", "del(k({n}, _))",
    "effect(e({n}))", "effect(e({v}))", "raise(x({n}))", "skip", "abort", "a({n})", "a({v})", "b", "b",
    "findall(Y, p(Y), {v})", "member({v}, [2, 1])", "r({v}, {n})",
)  # fmt: skip
_PAIRS = ("{0} seq {1}", "{0} seq {1}", "{0} seq {1}", "{0} par {1}", "{0} par {1}", "{0} or {1}")
_SINGLE = ("iso({0})", "iso({0})", "possible({0})", "impossible({0})")


def random_program(number: int, depth: int = 4) -> tuple[str, str]:
    """Return a program and an action."""
    rng = Random(number)
    facts = [f"p({n})." for n in rng.sample((1, 2, 3), rng.randint(0, 3))]
    facts += [f"q({n})." for n in rng.sample((1, 2), rng.randint(0, 2))] + ["k(1, 1)."] * rng.randint(0, 1)
    clauses = [f"action a({rng.choice(('1', '2', 'V'))}) :- {_action(rng, 2)}." for _ in range(rng.randint(1, 2))]
    clauses += [f"action b :- {_action(rng, 2)}." for _ in range(rng.randint(1, 2))]
    rules = ["r(X, Y) :- p(X), X \\= Y.", "r(X, X) :- f."]
    action = _action(rng, depth)
    if rng.random() < 0.8:
        action = f"(member(X, [1, 2]) seq {rng.choice(('p(Z)', 'Z = 2'))} seq {action})"
    return "\n".join((HEAD, *facts, *rules, *clauses, rng.choice(_DEMANDS))), action


def _action(rng: Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(_LEAVES).format(n=rng.randint(1, 3), m=rng.randint(1, 3), v=rng.choice("XXZ"))
    kind = rng.random()
    if kind < 0.70:
        return "(" + rng.choice(_PAIRS).format(_action(rng, depth - 1), _action(rng, depth - 1)) + ")"
    if kind < 0.88:
        return rng.choice(_SINGLE).format(_action(rng, depth - 1))
    test = rng.choice(("p({v})", "f", "\\+ p(2)", "q({v})", "possible({a})", "impossible({a})"))
    test = test.format(v=rng.choice("XZ"), a=_action(rng, 1))
    return f"({test} -> {_action(rng, depth - 1)} ; {_action(rng, depth - 1)})"


_CHANGES = (
    "ins(p({x}))", "ins(p({x}))", "del(p({x}))", "del(p(_))", "ins(k({x}, {y}))", "set(k({x}, {y}))", "del(k(_, {y}))",
    "ins(f)", "del(f)", "effect(e({x}, g({y})))", "raise(x({x}))", "raise(x, after(2))", "skip", "both({x}, {y})",
)  # fmt: skip


def random_changes(number: int) -> tuple[str, str]:
    """Return a program and an action of changes in sequence, over the variables X and Y."""
    rng = Random(number)

    def change() -> str:
        x, y = (rng.choice(("X", "X", "Y", "1", "[a]", "f(1)")) for _ in range(2))
        return rng.choice(_CHANGES).format(x=x, y=y)

    clauses = "action both(A, B) :- ins(k(A, B)) seq one(B).\naction one(B) :- del(p(B)) seq skip."
    demand = rng.choice(("", "", "always \\+ (k(_, V), V == 2).", "always \\+ f."))
    return "\n".join((HEAD, "p(1). p(2). k(a, 1).", clauses, demand)), " seq ".join(
        change() for _ in range(rng.randint(1, 5))
    )
