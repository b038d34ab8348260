"""Files that import each other: names apart, problems in place."""

from __future__ import annotations

from pathlib import Path

import pytest

from etalis.errors import ProgramError
from etalis.language.read.modules import load
from etalis.language.read.parser import parse_collect
from etalis.language.rules import known_events
from etalis.language.syntax import Clause, EventPattern, Rule, Tree
from helpers.findings import findings


def parse(text: str) -> Tree:
    program, problems = parse_collect(text, "expected")
    assert problems == []
    return program


def test_private_names_are_prefixed() -> None:
    files = {
        "m.event": ":- export alert/1, a/1. alert(X) <- a(X) seq b(X) where ok(X). "
        "ok(1). ok(X) :- \\+ bad(X), X > 1. bad(0)."
    }
    program = load(":- import alert/1, a/1 from m. b(X) <- alert(X) where ok(X). ok(2).", read=files.get)
    expected = """
      alert(X) <- a(X) seq 'm:b'(X) where 'm:ok'(X). 'm:ok'(1). 'm:ok'(X) :- \\+ 'm:bad'(X), X > 1. 'm:bad'(0).
      b(X) <- alert(X) where ok(X). ok(2).
    """
    assert program == parse(expected)


def test_an_exported_name_that_is_not_imported_is_prefixed() -> None:
    files = {"m.event": ":- export c/0, d/0. c <- a. d <- c."}
    program = load(":- import d/0 from m. c <- x.", read=files.get)
    assert known_events(program) == (("m:c", 0), ("m:a", 0), ("d", 0), ("c", 0), ("x", 0))


def test_all_places_of_a_name_are_renamed() -> None:
    files = {
        "m.event": """
        :- export e/0. :- event(a(x: int)). :- dynamic seen/1. print_trigger(c/1). print_trigger(a(_)).
        r([property(window, 5)]) rule: c(X) <- a(X) seq (s(X) <- a(X)) where \\+ seen(X) do assertz(seen(X)).
        event_rule_property(r, policy, recent).
        """
    }
    program = load(":- import e/0 from m. d <- e.", read=files.get)
    expected = """
      :- event('m:a'(x: int)). :- dynamic 'm:seen'/1. print_trigger('m:c'/1). print_trigger('m:a'(_)).
      'm:r'([property(window, 5)]) rule:
        'm:c'(X) <- 'm:a'(X) seq ('m:s'(X) <- 'm:a'(X)) where \\+ 'm:seen'(X) do assertz('m:seen'(X)).
      event_rule_property('m:r', policy, recent).
      d <- e.
    """
    assert program == parse(expected)


def test_equal_names_in_two_files_are_distinct() -> None:
    files = {"m.event": ":- export x/0. x <- a. a <- p.", "n.event": ":- export y/0. y <- a. a <- q."}
    program = load(":- import x/0 from m. :- import y/0 from n. d <- x seq y.", read=files.get)
    heads = [item.head.name for item in program.items if isinstance(item, Rule)]
    assert heads == ["x", "m:a", "y", "n:a", "d"]


def test_a_name_is_passed_on() -> None:
    files = {"m.event": ":- import x/0 from n. :- export x/0. z <- x.", "n.event": ":- export x/0. x <- a."}
    program = load(":- import x/0 from m. d <- x.", read=files.get)
    assert known_events(program) == (("m:z", 0), ("x", 0), ("n:a", 0), ("d", 0))


def test_files_are_found_next_to_the_file_that_imports(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "main.event").write_text(":- import x/0 from 'sub/m'. d <- x.")
    (tmp_path / "sub" / "m.event").write_text(":- import y/0 from 'n.event'. :- export x/0. x <- y.")
    (tmp_path / "sub" / "n.event").write_text(":- export y/0. y <- a.")
    program = load(tmp_path / "main.event")
    rules = [item for item in program.items if isinstance(item, Rule)]
    assert [rule.head.name for rule in rules] == ["x", "n:y", "d"]
    assert rules[0].span is not None
    assert rules[0].span.source.name == str(tmp_path / "sub" / "m.event")


def test_knowledge_can_be_imported() -> None:
    files = {"m.event": ":- export near/2. near(X, Y) :- link(X, Y). link(a, b)."}
    program = load(":- import near/2 from m. d(X) <- a(X) where near(X, b).", read=files.get)
    heads = [item.head for item in program.items if isinstance(item, Clause)]
    assert [getattr(head, "name", None) for head in heads] == ["near", "m:link"]
    assert findings(":- import near/2 from m. d(X) <- a(X) where near(X, b).", files=files) == []


def test_missing_file() -> None:
    (found,) = findings("d <- a.\n:- import x/0 from nowhere.")
    assert found == (
        "test:2:1: error E220: there is no file nowhere to import\n"
        "    2 | :- import x/0 from nowhere.\n"
        "        ^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: looked for nowhere, nowhere.event and nowhere.etalis; "
        "a file is looked up from the folder of the file that imports it"
    )


@pytest.mark.parametrize(
    ("exports", "hint"),
    [
        ("", "add `:- export alarm/1.` to m.event"),
        (":- export alarm/2.", "it exports alarm/2"),
        (":- export alarms/1.", "did you mean alarms?"),
    ],
)
def test_name_that_is_not_exported(exports: str, hint: str) -> None:
    files = {"m.event": f"{exports} alarm(X) <- a(X). alarm(X, Y) <- b(X, Y). alarms(X) <- c(X)."}
    found = [text for text in findings(":- import alarm/1 from m. d(X) <- alarm(X).", files=files) if "E221" in text]
    assert len(found) == 1
    assert "error E221: m.event does not export alarm/1\n" in found[0]
    assert found[0].endswith(f"hint: {hint}")


def test_circle() -> None:
    files = {
        "m.event": ":- import y/0 from n. :- export x/0. x <- y or a.",
        "n.event": ":- import x/0 from m. :- export y/0. y <- x.",
    }
    found = findings(":- import x/0 from m. d <- x.", files=files)
    assert [text.split("\n")[0] for text in found] == [
        "m.event:1:1: error E222: files import each other in a circle: m.event and n.event",
        "n.event:1:1: error E222: files import each other in a circle: m.event and n.event",
    ]


def test_one_name_from_two_files() -> None:
    files = {"m.event": ":- export x/0. x <- a.", "n.event": ":- export x/0. x <- b."}
    found = findings(":- import x/0 from m. :- import x/0 from n. d <- x.", files=files)
    assert [text.split("\n")[0] for text in found] == [
        "test:1:23: error E229: x/0 is imported from m.event and from n.event"
    ]


def test_flag_of_an_imported_file() -> None:
    files = {"m.event": ":- export x/0. :- set_flag(logging, on). x <- a."}
    found = findings(":- import x/0 from m. d <- x.", files=files)
    assert [text.split("\n")[0] for text in found] == [
        "m.event:1:16: warning W213: the flag logging is set in an imported file and has no effect"
    ]


def test_problems_inside_an_imported_file_point_there() -> None:
    files = {"m.event": ":- export x/1.\nx(Y) <- a(X)."}
    found = findings(":- import x/1 from m. d(X) <- x(X).", files=files)
    assert [text.split("\n")[0] for text in found] == [
        "m.event:2:3: error E204: unsafe: Y in the head has no value, nothing in the pattern binds it"
    ]


def test_load_raises_all_problems() -> None:
    with pytest.raises(ProgramError) as caught:
        load(":- import x/0 from m. :- import y/0 from n. d <- x.", read=lambda _: None)
    assert [p.code for p in caught.value.problems] == ["E220", "E220"]


def test_missing_main_file() -> None:
    with pytest.raises(ProgramError, match=r"there is no file nowhere\.event"):
        load(Path("nowhere.event"))


def test_without_imports_nothing_changes() -> None:
    program = load("d <- a.", read=lambda _: None)
    assert program == Tree((Rule(EventPattern("d", ()), EventPattern("a", ())),))
