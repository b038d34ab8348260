"""Attributes by name: how a host gives them, and what is said where it cannot."""

from __future__ import annotations

from typing import Any

import pytest

import etalis
import etalis.cases.case_file
from etalis.errors import EventError, ProgramError
from etalis.language.printer import print_program

IMPLIED = "two(C, A) <- w(card: C) seq w(amount: A, card: C)."
DECLARED = ":- event(w(card: string, amount: int)).\n" + IMPLIED


def test_an_implied_declaration_is_a_signature_of_its_own() -> None:
    program = etalis.compile(IMPLIED)
    assert program.signatures == {"w": (("card", "any"), ("amount", "any"))}
    assert program.implied == {"w"}
    assert etalis.compile(DECLARED).implied == frozenset()


def test_events_come_by_keyword_as_dicts_as_terms_and_as_events() -> None:
    engine = etalis.compile(IMPLIED).engine()
    assert not engine.push("w", amount=1, card="c", at=1)
    assert list(engine.run([{"event": "w", "at": 2, "card": "c", "amount": 2}])) == _two(1, 2)
    assert list(engine.push_term("w(amount: 3, card: c)", at=3))[-1].args == ("c", 3)
    event = etalis.cases.case_file.read_event("4 w(amount: 4, card: c)")
    assert list(engine.run([event]))[-1].args == ("c", 4)


def _two(start: int, end: int) -> list[Any]:
    engine = etalis.compile("two(C, A) <- w(C, _) seq w(C, A).").engine()
    return list(engine.run([("w", "c", 1, start), ("w", "c", 2, end)]))


@pytest.mark.parametrize(
    "give",
    [
        lambda engine: engine.push("w", "c", 1, at=1),
        lambda engine: list(engine.run([("w", "c", 1, 1)])),
        lambda engine: engine.push("w", "c", amount=1, at=1),
        lambda engine: engine.push_term("w(c, 1)", at=1),
    ],
)
def test_attributes_that_only_patterns_name_have_no_order(give: Any) -> None:
    with pytest.raises(EventError, match=r"w have names and no order(.|\n)*by name \(card, amount\)"):
        give(etalis.compile(IMPLIED).engine())


def test_what_no_rule_names_is_free(caplog: pytest.LogCaptureFixture) -> None:
    engine = etalis.compile(IMPLIED).engine()
    assert not engine.push("w", card="c", amount=1, region="eu", at=1)
    assert len(list(engine.run([{"event": "w", "at": 2, "card": "c", "amount": 2, "region": "eu"}]))) == 1
    assert not caplog.records


def test_a_missing_attribute_is_refused() -> None:
    with pytest.raises(EventError, match="w lacks amount"):
        etalis.compile(IMPLIED).engine().push("w", card="c", at=1)


def test_fields_of_rows_that_are_not_declared_are_ignored_and_noted_once(caplog: pytest.LogCaptureFixture) -> None:
    engine = etalis.compile(DECLARED).engine()
    rows = [{"event": "w", "at": t, "card": "c", "amount": t, "region": "eu", "x": t} for t in (1, 2, 3)]
    assert [event.end for event in engine.run(rows)] == [2, 3]
    assert [record.getMessage() for record in caplog.records] == ["w has no attributes region, x: ignored"]


@pytest.mark.parametrize("text", [IMPLIED, DECLARED])
def test_a_field_that_looks_like_a_missing_attribute_is_refused(text: str) -> None:
    row = {"event": "w", "at": 1, "card": "c", "amuont": 1}
    with pytest.raises(EventError, match=r"no attribute amuont(.|\n)*did you mean amount"):
        list(etalis.compile(text).engine().run([row]))


def test_a_keyword_that_is_not_declared_is_refused() -> None:
    with pytest.raises(EventError, match="w has no attribute region"):
        etalis.compile(DECLARED).engine().push("w", card="c", amount=1, region="eu", at=1)


def test_an_event_is_taken_back_by_name() -> None:
    engine = etalis.compile(IMPLIED, revision_flag="on").engine()
    engine.push("w", card="c", amount=1, at=1)
    engine.push("w", card="c", amount=2, at=2)
    (gone,) = engine.retract("w", amount=1, card="c", at=1)
    assert gone.sign == -1
    instead = {"event": "w", "at": 1, "card": "c", "amount": 5}
    assert not engine.correct("w", amount=2, card="c", at=2, to=instead)
    assert [e.args for e in engine.push("w", amount=6, card="c", at=3)] == [("c", 6)]


def test_an_inserted_rule_uses_the_names_of_the_program() -> None:
    engine = etalis.compile(IMPLIED).engine()
    engine.insert_rule("big(C) <- w(amount: A, card: C) where A > 5.")
    assert [e.name for e in engine.push("w", card="c", amount=6, at=1)] == ["big"]
    with pytest.raises(ProgramError, match=r"w has no attribute region(.|\n)*the program's rules name card, amount"):
        engine.insert_rule("r(X) <- w(region: X).")


def test_the_text_of_a_program_travels_with_its_names_in_place() -> None:
    program = etalis.compile(IMPLIED)
    again = etalis.compile(print_program(program.compiled.tree))
    assert again.signatures == program.signatures
    assert print_program(again.compiled.tree) == print_program(program.compiled.tree)


def test_explanations_name_the_attributes() -> None:
    assert "w/2    received           card: term, amount: term" in etalis.compile(IMPLIED).explain()


def test_the_caret_points_at_the_named_attribute() -> None:
    with pytest.raises(ProgramError) as caught:
        etalis.compile(":- event(w(card: string)).\nd(C) <- w(crad: C).")
    assert str(caught.value).splitlines()[1:3] == ["    2 | d(C) <- w(crad: C).", "                  ^^^^^^^"]
