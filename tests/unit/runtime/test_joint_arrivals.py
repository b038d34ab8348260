"""Several events pushed as one arrival: offered together, and one event for `any`, `or` and `iso` (definition 6.17)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import etalis
from etalis.errors import EtalisError

FLAG = ":- set_flag(joint_arrivals, on).\n"
CDS = ("boy", "pop", "war")


def caused(text: str, arrivals: Sequence[Sequence[tuple[Any, ...]]], policy: str = "snoop_recent") -> list[str]:
    engine = etalis.compile(FLAG + text).engine(policy=policy)
    return [str(e) for at, events in enumerate(arrivals, 1) for e in engine.push_together(events, at=at)]


def both(order: Sequence[str] = ("u2", "cd")) -> list[list[tuple[Any, ...]]]:
    return [[(kind, title) for kind in order] for title in CDS]


@pytest.mark.parametrize("order", [("u2", "cd"), ("cd", "u2")])
def test_a_newer_left_side_replaces_the_older_when_all_have_been_offered(order: Sequence[str]) -> None:
    expected = ["f(boy, pop) [1, 2]", "f(pop, war) [2, 3]"]
    assert caused("f(X, Y) <- u2(X) seq cd(Y).", both(order)) == expected
    engine = etalis.compile("f(X, Y) <- u2(X) seq cd(Y).").engine(policy="snoop_recent")
    assert [str(e) for e in engine.run((kind, t, at) for at, t in enumerate(CDS) for kind in order[:1] * 2)] == []


def test_an_arrival_is_one_event_of_any() -> None:
    text = "f(X, Y) <- any(2, [u2(X), cd(Y)])."
    expected = ["f(boy, pop) [1, 2]", "f(pop, boy) [1, 2]", "f(pop, war) [2, 3]", "f(war, pop) [2, 3]"]
    assert caused(text, both()) == expected
    assert set(expected) < set(caused(text, both(), "unrestricted"))
    assert "f(boy, boy) [1, 1]" not in caused(text, both(), "unrestricted")


def test_an_arrival_is_one_match_of_an_or_where_bindings_are_equal() -> None:
    assert caused("f(X) <- (u2(X) or cd(X)) ntimes 2.", both()[:1], "unrestricted") == []
    assert caused("f(X) <- u2(X) or cd(X).", both()[:1]) == ["f(boy) [1, 1]"]


def test_an_arrival_does_not_disturb_itself() -> None:
    text = "f(X, Y) <- iso(u2(X) seq u2(Y))."
    assert caused(text, [[("u2", 1)], [("u2", 2), ("cd", 2)]], "unrestricted") == ["f(1, 2) [1, 2]"]


def test_what_events_cause_comes_after_all_of_them() -> None:
    text = "g(X) <- u2(X). f(X, Y) <- g(X) and cd(Y)."
    assert caused(text, [[("u2", 1), ("cd", 2)]], "unrestricted") == ["g(1) [1, 1]", "f(1, 2) [1, 1]"]


def test_events_pushed_one_by_one_are_apart() -> None:
    engine = etalis.compile(FLAG + "f(X, Y) <- any(2, [u2(X), cd(Y)]).").engine(policy="snoop_recent")
    assert engine.push_together([], at=0) == ()
    assert engine.push("u2", 1, at=1) == ()
    assert [str(e) for e in engine.push("cd", 1, at=1)] == ["f(1, 1) [1, 1]"]


def test_inputs_are_numbered_one_by_one() -> None:
    engine = etalis.compile(FLAG + "f(X, Y) <- u2(X) seq cd(Y).").engine(justification="full", policy="snoop_recent")
    engine.push_together([("u2", 1), ("cd", 1)], at=1)
    (found,) = engine.push_together([("u2", 2), ("cd", 2)], at=2)
    assert found.parts == (1, 4)
    assert "cd(2) [2, 2]   input 4" in str(engine.justify(found))


def test_late_arrivals_are_dead_letters_and_limits_hold() -> None:
    engine = etalis.compile(FLAG + "f(X, Y) <- u2(X) seq cd(Y).").engine(limits={"hard_limit": 2, "shedding": "newest"})
    engine.advance(to=5)
    assert engine.push_together([("u2", 1), ("cd", 1)], at=1) == ()
    assert engine.dead_letter_count == 2
    engine.push_together([("u2", 1), ("u2", 2), ("u2", 3)], at=6)
    assert engine.push_together([("cd", 1), ("u2", 1)], at=7) == ()
    assert engine.dead_letter_count == 4


def refused(code: str, engine: etalis.Engine, events: Any) -> None:
    with pytest.raises(EtalisError) as caught:
        engine.push_together(events, at=1)
    assert caught.value.code == code
    assert caught.value.problems[0].hint


def test_an_arrival_from_the_future_is_a_dead_letter_for_each_event() -> None:
    letters: list[Any] = []
    program = etalis.compile(FLAG + "c(X) <- a(X) seq b(X).")
    engine = program.engine(on_dead_letter=letters.append, ahead=10)
    engine.push("a", 1, at=0)
    assert engine.push_together([("a", 2), ("b", 1), ("b", 2)], at=9_000_000_000) == ()
    assert [(letter.name, letter.cause) for letter in letters] == [("a", "ahead"), ("b", "ahead"), ("b", "ahead")]


def test_what_is_refused() -> None:
    plain = "f(X, Y) <- u2(X) seq cd(Y)."
    refused("E344", etalis.compile(plain).engine(), [("u2", 1)])
    refused("E346", etalis.compile(f"{FLAG} :- set_flag(revision_flag, on). {plain}").engine(), [("u2", 1)])
    for event in ("u2", ["u2", 1], (), (1, 2), {"event": "u2"}):
        refused("E306", etalis.compile(FLAG + plain).engine(), [event])
    engine = etalis.compile(FLAG + "g(X) <- u2(X).").engine()
    engine.on("g", lambda _: refused("E346", engine, [("u2", 2)]))
    engine.push_together([("u2", 1)], at=1)
