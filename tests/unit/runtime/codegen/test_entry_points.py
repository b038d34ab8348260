"""The generated ways into an engine: written when they are first asked for, and never older than the rules."""

from __future__ import annotations

from typing import Any

import pytest

import etalis

DATES = ":- event(a(x: int)). :- event(b(x: int)).\n"


def told(engine: etalis.Engine) -> list[str]:
    """The ways in that are generated so far."""
    return [source[0].split()[0] for source in engine.core.rules.sources if source[0].split()[0] in ("push", "run")]


def test_each_is_written_when_it_is_first_asked_for() -> None:
    engine = etalis.compile(DATES + "d(X) <- a(X).").engine()
    assert told(engine) == []
    engine.push("a", 1, at=1)
    assert told(engine) == ["push"]
    assert [str(event) for event in engine.run([("a", 2, 2)])] == ["d(2) [2, 2]"]
    assert told(engine) == ["push", "run"]
    assert "def f(name" in engine.code()


@pytest.mark.parametrize("options", [{}, {"limits": {"hard_limit": 100}}], ids=["free", "limited"])
@pytest.mark.parametrize("text", ["d(X) <- a(X).", "d(X) <- a(X) seq b(X) within 10.", ""])
def test_a_push_that_is_kept_follows_the_rules(text: str, options: dict[str, Any]) -> None:
    kept, fresh = (etalis.compile(DATES + text).engine(**options) for _ in range(2))
    push = kept.push

    def both(name: str, x: int, at: int) -> list[str]:
        found, expected = push(name, x, at=at), fresh.push(name, x, at=at)
        assert found == expected
        return [str(event) for event in found]

    both("a", 1, 1)
    for engine in (kept, fresh):
        engine.insert_rule("e(X) <- a(X).")
    assert "e(2) [2, 2]" in both("a", 2, 2)
    both("b", 2, 3)
    for engine in (kept, fresh):
        engine.insert_rule("f(X) <- b(X) seq a(X) within 10.")
    both("b", 3, 4)
    assert "f(3) [4, 5]" in both("a", 3, 5)
    assert kept.close() == fresh.close()
    with pytest.raises(etalis.EtalisError):
        push("a", 1, at=9)
