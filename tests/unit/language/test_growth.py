"""A rule is said to have no bound (W209) just where an engine's state grows with a stream of ever new keys."""

from __future__ import annotations

import pytest

import etalis
from etalis.language.check.checks import check_text

FEW, MANY = 40, 120
GENERAL = ":- set_flag(garbage_control, general). :- set_flag(garbage_window, 10). "

RULES = [
    "d(X, N) <- aggregate(count, a(X), N) last 3.",
    "d(X, N) <- (aggregate(count, a(X), N) where N > 0) last 3.",
    "d(X, N) <- aggregate(count, a(X), N).",
    "d(N) <- aggregate(sum(X), a(X), N).",
    "d(N) <- aggregate(first(X), a(X), N).",
    "d(N) <- aggregate(distinct(X), a(X), N).",
    "d(N) <- aggregate(list(X), a(X), N).",
    "d(N) <- aggregate(list(X), a(X), N) last 3.",
    "d(N) <- aggregate(count, a(_), N) last 3.",
    "d(X, N) <- aggregate(count, a(X), N) within 10.",
    "d(X, N) <- (aggregate(count, a(X), N) last 3) within 10.",
    "d(X, N) <- b(X) seq aggregate(count, a(X), N).",
    "d(X, N) <- b(X) seq aggregate(count, a(X), N) within 10.",
    "d(X) <- a(X) fnot c(X).",
    "d(X) <- a(X) fnot c(_).",
    "d(X) <- a(X) fnot c(X) within 10.",
    "d(X) <- a(X) fnot (b(X) seq c(X)) within 10.",
    "d(X) <- a(X) fnot ((b(X) seq c(X)) within 5) within 10.",
    "d(X) <- ((a(X) seq b(_)) cnot (c(Z) seq a(Z))) within 10.",
    "d(X) <- ((a(X) seq b(X)) within 10) cnot c(X).",
    "d(X) <- ((a(X) seq b(X)) within 10 where X > 1) cnot c(X).",
    "d(X) <- (((a(X) seq b(X)) within 10) seq c(X)) cnot c(X).",
    "d(X) <- a(X) seq (not b(X) within 5).",
    "d(X) <- a(X) seq (not (b(X) seq c(X)) within 5) within 10.",
    "d(X) <- a(X) seq (not ((b(X) seq c(X)) within 5) within 5).",
    "d(X) <- a(X) ntimes 3.",
    "d <- a(_) ntimes 3.",
    "d <- a(_) star_times.",
    "d(X) <- a(X) ntimes 3 within 10.",
    "d(X) <- b(X) seq a(X) star_times.",
    "d(X) <- b(X) seq a(X) star_times within 10.",
    "d(X) <- a(X) and b(X).",
    "d(X) <- a(X) seq 5.",
    "d(X) <- 5 seq a(X).",
    "d(X) <- a(X) or b(X).",
    "d(X) <- any(2, [a(X), b(X), c(X)]).",
    "d(X) <- any(2, [a(X), b(X), c(X)]) within 5.",
    GENERAL + "d(X) <- a(X) fnot (b(X) seq c(X)).",
    GENERAL + "d(X, N) <- aggregate(count, a(X), N) last 3.",
    GENERAL + "d(X) <- a(X) and b(X).",
]


@pytest.mark.parametrize("policy", ["recent", "unrestricted", "chronological"])
@pytest.mark.parametrize("rule", RULES)
def test_what_is_warned_of_grows(rule: str, policy: str) -> None:
    text = f":- set_flag(event_consumption_policy, {policy}). {rule}"
    warned = any(problem.code == "W209" for problem in check_text(text)[1])
    engine = etalis.compile(text).engine()
    sizes = []
    for i in range(MANY):
        for k, name in enumerate("abc"):
            engine.push(name, 1000 + i * 3 + k, at=1000 + i * 3 + k)
        if i in (FEW, MANY - 1):
            sizes.append(len(engine.snapshot()))
    assert (sizes[1] - sizes[0] > 2 * (MANY - FEW)) == warned, sizes
