"""The engine's own affairs: late, refused, shed and corrected events, rules that were not there, triggers."""

from __future__ import annotations

from typing import Any

import pytest

import etalis
from etalis.language.read.parser import parse_event_pattern
from etalis.language.syntax import EventPattern
from etalis.why.affairs import affairs_of, affairs_of_rule, lives_of, not_reported, watermark_pending
from etalis.why.justification import Derived
from etalis.why.justify import occurrences
from etalis.why.why_not import Affair

pytestmark = pytest.mark.filterwarnings("ignore::etalis.ProgramWarning")
S = 1_000_000


def run(text: str, *stream: tuple[Any, ...], **options: Any) -> etalis.Engine:
    engine = etalis.compile(text).engine(**{"policy": "unrestricted", "justification": "full"} | options)
    for name, *args, at in stream:
        engine.push(name, *args, at=at)
    return engine


def asked(text: str) -> EventPattern:
    found = parse_event_pattern(text, "<question>")
    assert isinstance(found, EventPattern)
    return found


def affairs(engine: etalis.Engine, question: str, **more: Any) -> list[tuple[str, str]]:
    return [(each.kind, each.text) for each in affairs_of(engine.core, asked(question), **more)]


LATE = ":- set_flag(out_of_order, on). :- set_flag(ooo_window, 10). "
REVISED = ":- set_flag(revision_flag, on). "


def test_an_event_that_came_too_late() -> None:
    engine = run(LATE + "c <- a seq b.", ("b", 20), ("a", 8))
    (affair,) = affairs_of(engine.core, asked("c"))
    assert (affair.kind, affair.text) == ("too_late", "a at 8 came too late: by 12 s, 10 s are allowed")
    assert affair.event is not None
    assert (affair.event.atom, affair.event.end) == ("a", 8 * S)


def test_late_events_of_other_kinds_and_keys_are_no_affair_of_the_question() -> None:
    text = "c(K) <- a(K) seq b(K)."
    stream = [("b", 1, 20), ("a", 1, 8), ("a", 2, 8), ("x", 8)]
    engine = run(text, *stream)
    assert affairs(engine, "c(1)") == [("too_late", "a(1) at 8 came too late: by 12 s, 0 s are allowed")]
    assert len(affairs(engine, "c(X)")) == 2
    assert affairs(engine, "c(1)", between=(None, 5 * S)) == []


def test_lateness_outlives_a_snapshot() -> None:
    engine = run(LATE + "c <- a seq b.", ("b", 20), ("a", 8))
    again = etalis.compile(LATE + "c <- a seq b.").restore(engine.snapshot(), justification="full")
    assert affairs(again, "c") == affairs(engine, "c") != []


def test_an_event_that_was_taken_back() -> None:
    engine = run(REVISED + "c <- a seq b.", ("a", 1), ("b", 2), ("rev", "a", 1))
    assert affairs(engine, "c") == [("taken_back", "c [1, 2] was taken back by the correction of input 1")]
    assert affairs(engine, "c", between=(3 * S, None)) == []
    assert list(occurrences(engine.core, asked("c"), None, None)) == []
    found = engine.justify("c")
    assert isinstance(found.root, Derived)
    assert found.root.note == "taken back by the correction of input 1"
    assert found.notes == ("input 1, a at 1, was taken back",)
    assert "a [1, 1]   input 1" in str(found)


def test_an_event_that_was_made_again_stands() -> None:
    engine = run(REVISED + "c <- a seq b.", ("a", 1), ("b", 2), ("rev", "a", 1), ("a", 3), ("b", 4))
    found = engine.justify("c")
    assert isinstance(found.root, Derived)
    assert (found.root.start, found.root.note, found.notes) == (3 * S, None, ())


def test_a_corrected_input_is_shown_as_it_was_and_as_it_is() -> None:
    engine = run(REVISED + "c(X) <- a(X) seq b.", ("a", 1, 1), ("b", 2))
    engine.correct("a", 1, at=1, to={"event": "a", "args": [2], "at": 1})
    assert str(engine.justify("c(2)")).splitlines()[1] == "├─ a(2) [1, 1]   input 1"
    was = engine.justify("c(1)")
    assert str(was).splitlines()[1] == "├─ a(1) [1, 1]   input 1"
    assert was.notes == ("input 1, a(1) at 1, was corrected",)


def test_what_a_correction_took_back_outlives_a_snapshot() -> None:
    text = REVISED + "c <- a seq b."
    engine = run(text, ("a", 1), ("b", 2), ("rev", "a", 1))
    again = etalis.compile(text).restore(engine.snapshot(), justification="full")
    assert str(again.justify("c")) == str(engine.justify("c"))


def test_a_late_input_takes_back_and_has_both_stamps() -> None:
    text = LATE + ":- set_flag(reporting, on_arrival). c <- (a seq b) cnot x. d <- x."
    engine = run(text, ("a", 1), ("b", 4), ("x", 2))
    assert affairs(engine, "c") == [("taken_back", "c [1, 4] was taken back by the late input 3")]
    assert engine.justify("d").notes == ("input 3 came late: it ended at 2, and time had reached 4",)


def test_a_rule_that_was_inserted_and_one_that_was_deleted() -> None:
    engine = run("d <- x.", ("a", 1), ("b", 2), ("x", 5))
    engine.insert_rule("r: c <- a seq b.")
    (life,) = lives_of(engine.core, asked("c"))
    assert affairs_of_rule(engine.core, life) == Same(("not_there", "rule r is there only since 5"))
    assert affairs_of_rule(engine.core, life, (6 * S, None)) == Same()
    engine.push("a", at=6)
    engine.delete_rule("r")
    engine.push("b", at=7)
    assert affairs_of_rule(engine.core, life, (6 * S, None)) == Same(("not_there", "rule r was there until 6"))
    assert affairs_of_rule(engine.core, life, (5 * S, 6 * S)) == Same(("not_there", "rule r is there only since 5"))


class Same:
    """Affairs by kind and text."""

    def __init__(self, *rows: tuple[str, str]) -> None:
        self.rows = rows

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, tuple)
        return tuple((each.kind, each.text) for each in other if isinstance(each, Affair)) == self.rows

    __hash__ = None  # type: ignore[assignment]


def test_no_trigger_names_it() -> None:
    engine = run("print_trigger(d/0). c <- a. d <- a.", ("a", 1))
    (raw,) = occurrences(engine.core, asked("c"), None, None)
    affair = not_reported(engine.core, raw)
    assert affair is not None
    assert affair.text == "c occurred, but no trigger names it"
    (raw,) = occurrences(engine.core, asked("d"), None, None)
    assert not_reported(engine.core, raw) is None


def test_what_a_limit_shed_or_turned_away() -> None:
    text = ":- set_flag(hard_limit, 4). :- set_flag(shedding, {}). c <- a(X) seq b(X)."
    stream = [("a", n, n) for n in range(1, 12)]
    engine = run(text.format("oldest"), *stream)
    kinds = affairs(engine, "c")
    assert [kind for kind, _ in kinds] == ["shed"]
    assert kinds[0][1].startswith("at the limit of 4, ")
    assert kinds[0][1].endswith(" instances waiting in rule 1 had to go")
    engine = run(text.format("newest"), *stream)
    assert [kind for kind, _ in affairs(engine, "c")] == ["shed"] * 7


def test_a_row_that_was_refused_at_the_rim() -> None:
    letters: list[Any] = []
    engine = run("c <- a(X) seq b(X).", on_dead_letter=letters.append)
    list(engine.run([{"event": "a", "args": [1], "at": "yesterday"}]))
    assert [kind for kind, _ in affairs(engine, "c")] == ["refused"]
    assert letters


def test_an_event_is_pending_while_the_watermark_has_not_passed() -> None:
    engine = run(LATE + "c <- a seq b.", ("a", 1), ("b", 2))
    pending = watermark_pending(engine.core, 2 * S)
    assert pending is not None
    assert pending.until == 2 * S
    engine.advance(to=13)
    assert watermark_pending(engine.core, 2 * S) is None
