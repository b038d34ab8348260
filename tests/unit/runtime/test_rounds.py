"""Rounds of one event are followed where the event is made; what several events cause is sorted as ever."""

from __future__ import annotations

import pytest

import etalis
from etalis.errors import LimitError
from etalis.temporal.event import sort_key

STEPS = """
    step(A, B) <- x(A) seq x(B).
    rise(A, B) <- step(A, B) where B > A.
    fall(A, B) <- step(A, B) where B < A.
    peak(B) <- rise(A, B) meets fall(B, C).
"""


def engine_of(text: str, **options: object) -> etalis.Engine:
    return etalis.compile(text, event_consumption_policy="chronological", **options).engine()


def shown(events: object) -> list[str]:
    return [repr(event) for event in events]  # type: ignore[attr-defined]


def test_all_that_follows_from_an_event_is_reported_in_the_order_of_rounds() -> None:
    engine = engine_of(STEPS)
    rows = [("x", value, at) for at, value in enumerate((1, 3, 2, 2))]
    expected = [
        "step(1, 3) [0, 1]", "rise(1, 3) [0, 1]", "step(3, 2) [1, 2]", "fall(3, 2) [1, 2]", "peak(3) [0, 2]",
        "step(2, 2) [2, 3]",
    ]  # fmt: skip
    assert shown(engine.run(rows)) == expected
    pushes = engine_of(STEPS).push
    assert shown([event for name, value, at in rows for event in pushes(name, value, at=at)]) == expected


def test_the_text_of_a_received_event_has_the_rounds_that_follow() -> None:
    engine = engine_of(STEPS)
    engine.push("x", 1, at=0)
    text = engine.code().split("\n# push\n")[1]
    assert {"kind step/2 of rule 1", "kind rise/2 of rule 2"} <= {
        line.split(": ", 1)[1] for line in text.splitlines() if line.startswith("# k")
    }


def test_two_events_of_one_round_are_sorted() -> None:
    engine = engine_of("z(X) <- a(X). b(X) <- a(X). c(X) <- z(X). d(X) <- b(X).")
    assert shown(engine.push("a", 1, at=0)) == [f"{name}(1) [0, 0]" for name in "bzcd"]


SEVERAL = """
    z(X) <- a(X) seq b(_).   c(X) <- b(X).   y(X) <- b(X) where X > 1.
    c2(X) <- c(X).   z2(X) <- z(X).   y2(X) <- y(X).
    both(X, Y) <- z(X) finishes c(Y).
"""


def test_events_of_several_kinds_are_in_order_of_start_and_kind() -> None:
    engine = engine_of(SEVERAL)
    engine.push("a", 7, at=0)
    found = ["z(7) [0, 1]", "c(2) [1, 1]", "y(2) [1, 1]", "z2(7) [0, 1]", "c2(2) [1, 1]", "y2(2) [1, 1]"]
    assert [text for text in shown(engine.push("b", 2, at=1)) if "both" not in text] == found
    assert shown(engine.push("b", 1, at=2)) == ["c(1) [2, 2]", "c2(1) [2, 2]"]
    assert shown(engine.push("b", 3, at=3)) == ["c(3) [3, 3]", "y(3) [3, 3]", "c2(3) [3, 3]", "y2(3) [3, 3]"]


@pytest.mark.parametrize(("most", "last"), [(1, "y(2)"), (2, "y2(2)"), (3, "y2(2)")])
def test_the_limit_of_derivations_counts_events_of_several_kinds(most: int, last: str) -> None:
    for at in (1, (1, 1)):  # in line, and by the run loop
        with pytest.raises(LimitError) as caught:
            engine_of(SEVERAL, max_derivations=most).push("b", 2, at=at)
        assert f"more than {most} events" in str(caught.value)
        assert f": {last} [1, 1]" in str(caught.value)
    assert len(engine_of(SEVERAL, max_derivations=4).push("b", 2, at=1)) == 4


@pytest.mark.parametrize("most", [1, 2, 5, 24, 25, 30, 49])
def test_the_limit_of_derivations_is_that_of_all_rounds(most: int) -> None:
    chain = " ".join(f"e{i + 1}(X) <- e{i}(X)." for i in range(50))
    engine = engine_of(chain, max_derivations=most)
    with pytest.raises(LimitError, match=f"more than {most} events; the last came from rule {most + 1}"):
        engine.push("e0", 1, at=0)
    assert len(engine_of(chain, max_derivations=50).push("e0", 1, at=0)) == 50


def test_a_long_chain_goes_on_where_a_text_ends() -> None:
    rules = 130
    engine = engine_of(" ".join(f"e{i + 1}(X) <- e{i}(X)." for i in range(rules)))
    found = engine.push("e0", 7, at=3)
    assert shown(found) == [f"e{i + 1}(7) [3, 3]" for i in range(rules)]
    assert len(engine.code().split("\n# follow ")[1:]) == -(-(rules - 1) // 24)


GATHERED = """
    b(X) <- a(X).   pair(X, Y) <- b(X) seq b(Y).   twin(X) <- b(X) seq b(X).
    far(X, Y) <- (b(X) meets b(Y)) within 5.   low(X, Y) <- (b(X) or b(X, _)) seq b(Y) where X < Y.
"""


def gathered(ways: object, **options: object) -> list[list[str]]:
    engine = etalis.compile(GATHERED, **options).engine(policy="unrestricted")
    values = enumerate((3, 1, 3, 2, 3))
    return [shown(engine.push("a", value, at=ways(at))) for at, value in values]  # type: ignore[operator]


def test_all_partners_of_a_derived_event_are_the_last_round() -> None:
    found = gathered(float)
    assert found == gathered(lambda at: (at, at))  # in line, and by the run loop
    assert found[0] == ["b(3) [0, 0]", "far(3, 3) [0, 0]"]
    assert found[2] == [
        "b(3) [2, 2]", "twin(3) [0, 2]", "pair(3, 3) [0, 2]", "low(1, 3) [1, 2]", "pair(1, 3) [1, 2]",
        "far(3, 3) [2, 2]",
    ]  # fmt: skip


@pytest.mark.parametrize("most", range(1, 14))
def test_the_limit_of_derivations_counts_the_last_round(most: int) -> None:
    failures = []
    for ways in (float, lambda at: (at, at)):
        try:
            found = gathered(ways, max_derivations=most)
            assert max(map(len, found)) <= most
            failures.append("")
        except LimitError as error:
            failures.append(str(error))
    assert failures[0] == failures[1]
    assert bool(failures[0]) == (most < max(map(len, gathered(float))))


def test_one_match_of_the_last_round_needs_no_run_loop() -> None:
    engine = etalis.compile("b(X) <- a(X). pair(X, Y) <- b(X) seq b(Y).").engine(policy="unrestricted")
    engine.push("a", 1, at=0)
    text = engine.code().split("\n# push\n")[1]
    assert "kind pair/2 of rule 2" in text
    assert "settle" not in text


def test_what_nobody_reads_or_reports_is_not_queued() -> None:
    engine = engine_of("c(X) <- a(X) where X > 1.\nprint_trigger(d/1).")
    assert engine.push("a", 1, at=0) == engine.push("a", 2, at=1) == ()
    text = engine.code().split("\n# push\n")[1]
    assert "kind c/1 of rule 1" in text
    assert "settle" not in text


def test_events_that_are_told_apart_are_numbered_in_rounds() -> None:
    text = r"""
        b(X) <- a(X) where X > 0.   e(X) <- a(X).   odd(X) <- e(X) where X mod 2 =:= 1.
        pair(X, Y) <- b(X) seq b(Y) where X \= Y.
    """
    values = (1, 1, 2, 0, 2, 3)
    found = []
    for at in (float, lambda t: (t, t)):  # in line, and by the run loop
        engine = etalis.compile(text).engine(policy="snoop_recent")
        found.append(shown([event for t, x in enumerate(values) for event in engine.push("a", x, at=at(t))]))
    assert found[0] == found[1]
    assert [text for text in found[0] if "pair" in text] == ["pair(1, 2) [1, 2]", "pair(2, 3) [4, 5]"]


def test_what_recurs_ends_where_its_condition_does() -> None:
    engine = engine_of("e(Y) <- a(X) where Y is X + 1. f(X) <- e(X) where X < 9. e(Y) <- f(X) where Y is X + 1.")
    assert [event.args for event in engine.push("a", 6, at=0) if event.name == "e"] == [(7,), (8,), (9,)]


def test_rules_that_come_later_are_followed() -> None:
    engine = engine_of("b(X) <- a(X). c(X) <- b(X). d(X) <- c(X).")
    assert shown(engine.push("a", 1, at=0)) == [f"{name}(1) [0, 0]" for name in "bcd"]
    engine.insert_rule("new rule: e(X) <- c(X).")
    assert shown(engine.push("a", 1, at=1)) == [f"{name}(1) [1, 1]" for name in "bcde"]
    engine.delete_rule("new")
    assert shown(engine.push("a", 1, at=2)) == [f"{name}(1) [2, 2]" for name in "bcd"]


def test_a_match_tells_what_it_is_made_of_through_rounds() -> None:
    engine = etalis.compile(STEPS, event_consumption_policy="chronological").engine(parts=True)
    found = [event for at, value in enumerate((1, 3, 2)) for event in engine.push("x", value, at=at)]
    assert [(event.name, event.parts) for event in found if event.name != "step"] == [
        ("rise", (1, 2)), ("fall", (2, 3)), ("peak", (1, 2, 3)),
    ]  # fmt: skip


def test_a_long_chain_is_followed_anew_when_a_rule_comes_or_goes() -> None:
    engine = engine_of("".join(f"r{i} rule: e{i + 1}(X) <- e{i}(X).\n" for i in range(60)))
    assert len(engine.push("e0", 1, at=0)) == 60
    engine.insert_rule("new rule: side(X) <- e40(X).")
    assert [event.name for event in engine.push("e0", 1, at=1)].count("side") == 1
    running = engine.run([("e0", 1, 2), ("e0", 2, 3)])
    assert [next(running).name for _ in range(61)][-1] == "e60"
    engine.delete_rule("r50")
    assert [event.name for event in running][-1] == "e50"
    assert len(engine.push("e0", 1, at=4)) == 51
    engine.delete_rule("new")
    assert len(engine.push("e0", 1, at=(5, 5))) == len(engine.push("e0", 2, at=6)) == 50


def test_what_is_left_of_a_round_is_settled_after_an_error_in_it() -> None:
    calls = []

    def fails(value: int) -> bool:
        calls.append(value)
        if value == 2:
            raise RuntimeError("no such value")
        return True

    text = "b(X) <- a(X). c(X) <- b(X) where ok(X). d(X) <- c(X)."
    engine = etalis.compile(text, register={"ok": fails}).engine()
    assert [event.name for event in engine.push("a", 1, at=0)] == ["b", "c", "d"]
    found = engine.push("a", 2, at=1)
    assert ([event.name for event in found], len(engine.errors)) == (["b"], 1)
    assert [event.name for event in engine.push("a", 3, at=1)] == ["b", "c", "d"]
    assert calls == [1, 2, 3]


def test_what_a_long_chain_is_made_of_is_known_to_its_end() -> None:
    text = "\n".join(f"e{k + 1}(X) <- e{k}(X)." for k in range(60)) + "\nprint_trigger(e60/1)."
    engine = etalis.compile(":- event(e0(x: int)).\n" + text).engine(justification="full")
    (event,) = engine.push("e0", 7, at=1)
    lines = str(engine.justify(event)).splitlines()
    assert lines[0].startswith("e60(7)")
    assert "e0(7) [1, 1]" in engine.justify(event).to_text(all=True).splitlines()[-1]


@pytest.mark.parametrize(
    "values",
    [
        ["b", "a", "d", "c", "h", "g", "f", "e"],
        [3, 1, 2, 8, 7, 6, 5, 4],
        [3, 1.5, 2, 8, 7, 6, 5, 4.5],
        [3, "a", 2, 8, "b", 6, 5, 4],
        [2, 1, 1, 8, 7, 6, 5, 4, 2],
        [1.0, 1, 2, 8, 7, 6, 5, 4],
    ],
)
def test_many_events_of_one_cause_come_in_the_order_of_their_attributes(values: list[object]) -> None:
    program = etalis.compile("r(X, Y) <- a(Y) event_multiply p(X). s(Y, X) <- a(Y) event_multiply p(X).")
    program.load_facts("p", [(value,) for value in values])
    found = program.engine().push("a", 1, at=0)
    by_key = sorted(set(found), key=lambda event: (event.name, sort_key(event)))
    assert list(found) == by_key
