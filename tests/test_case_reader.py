"""The reader of case files: what it reads, and that it leaves no malformed case out."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases import CASES, Advance, Delete, Insert, all_cases, read_cases, read_event, read_value
from etalis.errors import InputError
from etalis.logic.term import Real, Struct
from etalis.temporal.event import Event

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


def test_cases_are_many_and_small() -> None:
    cases = all_cases()
    assert len(cases) >= 400
    for path in CASES.rglob("*.case"):
        for text in path.read_text(encoding="utf-8").split("\n---\n"):
            lines = [line for line in text.split("\n") if line.strip()]
            assert len(lines) <= 15, f"{path.name}: {lines[0]}"
