"""The reader of case files: what it reads, and that it leaves no malformed case out."""

from __future__ import annotations

from pathlib import Path

import pytest

from etalis.cases.atoms import write_event
from etalis.data.values import Real, Struct
from etalis.errors import InputError
from etalis.temporal.event import Event
from helpers.cases import CASES, Advance, Delete, Insert, all_cases, read_cases, read_event, read_value

WHOLE = """% a name: and a reason
policy: recent, chronological
flag: interval_relations=weak
option: max_derivations=5
ordered: yes
program:
d <- a.
events:
% a comment
1 a; 2..3 b(x)
advance 5
insert r rule: e <- b.
delete r
expect:
1 d
---
% another
program:
d(X) <- a.
error:
E204 unsafe
"""


def read(text: str, folder: Path) -> list:
    (folder / "some.case").write_text(text, encoding="utf-8")
    return read_cases(folder / "some.case", folder)


def test_sections_and_settings(tmp_path: Path) -> None:
    first, second = read(WHOLE, tmp_path)
    assert (first.id, second.id) == ("some/a-name", "some/another")
    assert first.policies == ("recent", "chronological")
    assert first.program == ":- set_flag(interval_relations, weak).\nd <- a.\n"
    assert first.options == (("max_derivations", 5),)
    assert (first.is_ordered, first.is_closed, first.is_plain) == (True, True, False)
    a, b = read_event("1 a"), read_event("2..3 b(x)")
    assert first.steps == (a, b, Advance(5_000_000), Insert("r rule: e <- b."), Delete("r"))
    assert first.expect == (read_event("1 d"),)
    assert (second.errors, second.expect) == (("E204 unsafe",), None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-12", -12),
        ("2.0", Real(2.0)),
        ("1.5e3", Real(1500.0)),
        ("[]", ()),
        ("[1, [x]]", (1, ("x",))),
        ("'It''s \\n'", "It's \n"),
        ('"x y"', "x y"),
        ("-(1, f(ä))", Struct("-", (1, Struct("f", ("ä",))))),
    ],
)
def test_value(text: str, value: object) -> None:
    assert (read_value(text), type(read_value(text))) == (value, type(value))


def test_event_times() -> None:
    assert read_event("1/2..2.5 a(1)") == Event.make("a", (1,), 500_000, 2_500_000)


@pytest.mark.parametrize(
    "text",
    [
        "program:\nd <- a.\nexpect:\n",
        "% no expectation\nprogram:\nd <- a.\n",
        "% a bad policy\npolicy: newest\nprogram:\nd <- a.\nexpect:\n",
        "% a bad setting\npolcy: recent\nprogram:\nd <- a.\nexpect:\n",
        "% a bad event\nprogram:\nd <- a.\nevents:\n1 a(X)\nexpect:\n",
        "% a bad term\nprogram:\nd <- a.\nevents:\n1 a(1\nexpect:\n",
        "% twice\nprogram:\nexpect:\n---\n% twice\nprogram:\nexpect:\n",
    ],
)
def test_malformed(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"some\.case:\d+:1: error E413: "):
        read(text, tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("% x\npolcy: recent\nexpect:\n", 2, "did you mean policy?"),
        ("% x\npolicy: recnt\nexpect:\n", 2, "did you mean recent?"),
        ("% x\nordered: perhaps\nexpect:\n", 2, "it is yes or no"),
        ("% x\noption: limit\nexpect:\n", 2, "write option: name=value"),
        ("% x\nprogram:\nd <- a.\n\nevnts:\n1 a\nexpect:\n", 5, "did you mean events?"),
        ("% x\nprogram:\n\nevents:\n1 a; 2\nexpect:\n", 5, "a term is missing"),
        ("% x\nevents:\n1 a\nsoon b\nexpect:\n", 4, "'soon' is not a time"),
        ("% x\nexpect:\n1 d(1 2)\n", 3, "',' or ')' is missing before '2'"),
        ("% x\nexpect:\n---\n% y\nexpect:\n1 d(c: 1, 2)\n", 6, "some have names and some have none"),
        ("% x\nexpect:\n1 7\n", 3, "7 is no event"),
        ("% x\nexpect:\n---\n% y\nprogram:\nd <- a.\n", 4, "neither `expect:` nor `error:`"),
        ("% x\nexpect:\n---\n% x: again\nexpect:\n", 4, "a second case named some/x"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_what_to_do(text: str, line: int, told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(text, tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'some.case'}:{line}:1: error E413: ")
    assert told in str(caught.value)


def test_files_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "some.case").write_bytes(b"% \xff\n")
    with pytest.raises(InputError, match="not UTF-8 text"):
        read_cases(tmp_path / "some.case")
    with pytest.raises(InputError, match="No such file"):
        read_cases(tmp_path / "none.case")
    (tmp_path / "some.case").write_bytes(b"\xef\xbb\xbf% x\r\nexpect:\r\n1 d\r\n")
    (case,) = read_cases(tmp_path / "some.case")
    assert case.expect == (read_event("1 d"),)


@pytest.mark.parametrize(
    "line", ["0 a", "1..2.5 a('B c', [1,-2], f(x))", "-0.000001 a(1.0e22)", "1772442000..1772442000.25 'A'('it\\'s')"]
)
def test_events_are_written_as_they_are_read(line: str) -> None:
    event = read_event(line)
    assert read_event(write_event(event)) == event
    assert write_event(read_event(write_event(event))) == write_event(event)


def test_a_time_may_be_a_date() -> None:
    assert read_event("1970-01-01T00:00:01Z..1970-01-01T00:00:02.5Z a") == Event.make("a", (), 1_000_000, 2_500_000)


def test_cases_are_many_and_small() -> None:
    cases = all_cases()
    assert len(cases) >= 400
    for path in CASES.rglob("*.case"):
        for text in path.read_text(encoding="utf-8").split("\n---\n"):
            lines = [line for line in text.split("\n") if line.strip() and not line.startswith("cites:")]
            assert len(lines) <= 15, f"{path.name}: {lines[0]}"
