"""`assert_matches` and `check_case`: what they take, and how a difference reads."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import etalis
from etalis.cases.case_file import read_cases
from etalis.errors import InputError, ProgramError
from etalis.testing import assert_matches, check_case, find_cases

PAIR = "pair(X, Y) <- (a(X) seq b(Y)) within 60."


def difference(*arguments: Any, **options: Any) -> list[str]:
    """Return the lines of the assertion that fails."""
    with pytest.raises(AssertionError) as caught:
        assert_matches(*arguments, **options)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    "events",
    [
        "0 a(1); 5 b(2)",
        "% a comment\n0 a(1)\n\n5 b(2)\n",
        [("a", 1, 0), ("b", 2, 5)],
        [{"event": "a", "at": 0, "x": 1}, etalis.Event.make("b", (2,), 5_000_000, 5_000_000)],
    ],
    ids=["text", "lines", "tuples", "mixed"],
)
@pytest.mark.parametrize(
    "expected",
    [
        "0..5 pair(1, 2)",
        ["0..5 pair(1, 2)"],
        [("pair", 1, 2, (0, 5))],
        [etalis.Event.make("pair", (1, 2), 0, 5_000_000)],
    ],
    ids=["text", "texts", "tuples", "events"],
)
def test_events_and_matches_in_all_forms(events: Any, expected: Any) -> None:
    program = etalis.compile(":- event(a(x: int)). " + PAIR)
    assert [str(match) for match in assert_matches(program, events, expected)] == ["pair(1, 2) [0, 5]"]


def test_matches_of_one_program_are_expected_of_another() -> None:
    """What is returned can be expected."""
    found = assert_matches(PAIR, "0 a(1); 5 b(2)", "0..5 pair(1, 2)")
    assert assert_matches("pair(X, Y) <- (a(X) seq b(Y)) within 9.", "0 a(1); 5 b(2)", found) == found


def test_a_program_is_text_or_a_file(tmp_path: Path) -> None:
    path = tmp_path / "p.etalis"
    path.write_text(PAIR)
    assert_matches(path, "0 a(1); 5 b(2)", "0..5 pair(1, 2)")
    assert_matches(PAIR, "0 a(1); 65 b(2)", "")
    with pytest.raises(InputError, match=r'hint: a file is named by Path\("p.etalis"\)'):
        assert_matches("p.etalis", "", "")
    with pytest.raises(ProgramError, match="E204"):
        assert_matches("pair(X, Z) <- a(X).", "", "")


def test_attributes_by_name_stand_in_any_order() -> None:
    program = ":- event(w(card: string, amount: float)). :- event(big(card: string, amount: float)). "
    program += "big(C, A) <- w(C, A) where A > 5."
    events = "1 w(amount: 9, card: c1)"
    assert_matches(program, events, "1 big(amount: 9.0, card: c1)")
    assert_matches(program, events, [{"event": "big", "at": 1, "amount": 9.0, "card": "c1"}])
    with pytest.raises(InputError, match="the program does not name the attributes of d"):
        assert_matches("d(X) <- a(X).", "1 a(1)", "1 d(x: 1)")
    assert difference(program, events, "1 big(amount: 8.0, card: c1)")[1] == "  missing     1 big(c1, 8.0)"


def test_a_difference_names_what_is_missing_and_the_nearest() -> None:
    lines = difference(PAIR, "0 a(1); 5 b(2)", "0..6 pair(1, 3); 7 other", policy="unrestricted")
    assert lines == [
        "2 expected, 1 found under unrestricted:",
        "  missing     0..6 pair(1, 3)",
        "    nearest   0..5 pair(1, 2): it ends at 5, attribute 2 is 2",
        "  missing     7 other",
        "  unexpected  0..5 pair(1, 2)",
    ]


@pytest.mark.parametrize(
    ("expected", "nearest"),
    [
        ("0..5 piar(1, 2)", "it is named pair"),
        ("0..5 pair(1)", "it has 2 attributes, not 1"),
        ("0.5..5 pair(1, 2)", "it starts at 0"),
        ("0..5 pair(1, 2); 0..5 pair(1, 2)", "it came more or less often"),
    ],
)
def test_what_is_different_about_the_nearest(expected: str, nearest: str) -> None:
    assert f"    nearest   0..5 pair(1, 2): {nearest}" in difference(PAIR, "0 a(1); 5 b(2)", expected)


def test_many_differences_are_counted() -> None:
    lines = difference("d(X) <- a(X).", [("a", i, i) for i in range(30)], "")
    assert lines[1] == "  unexpected  0 d(0)"
    assert lines[-1] == "    and 10 more"


def test_order_counts_where_it_is_asked_for() -> None:
    events, swapped = "1 a(1); 2 a(2)", "2 d(2); 1 d(1)"
    assert_matches("d(X) <- a(X).", events, swapped)
    assert difference("d(X) <- a(X).", events, swapped, ordered=True)[1:] == [
        "  another order: number 1 is 1 d(1) instead of 2 d(2)"
    ]


def test_one_kind_of_event_is_selected() -> None:
    program = "step(X) <- a(X). d(X) <- step(X)."
    assert_matches(program, "1 a(1)", "1 d(1)", select="d")
    with pytest.raises(InputError, match=r"1 step\(1\) is expected, but only d is selected"):
        assert_matches(program, "1 a(1)", "1 step(1)", select="d")


def test_an_open_stream_owes_its_absences() -> None:
    alone = "alone(X) <- a(X) seq (not b(X) within 10)."
    assert_matches(alone, "0 a(1)", "", close=False)
    assert_matches(alone, "0 a(1); advance 10", "0..10 alone(1)", close=False)
    assert len(assert_matches(alone, "0 a(1)", "0..10 alone(1)")) == 1


def test_matches_that_were_taken_back_do_not_count() -> None:
    program = etalis.compile(PAIR, out_of_order="on", ooo_window=10, reporting="on_arrival")
    stream = [("a", 1, 0), ("b", 2, 5), ("a", 3, 4)]
    assert_matches(program, stream, "4..5 pair(3, 2)", policy="recent")


def test_errors_of_conditions_are_expected_or_fail() -> None:
    half = "half(Y) <- a(X) where Y is 1 / X."
    assert "unexpected error of a condition" in difference(half, "1 a(0)", "")[1]
    assert_matches(half, "1 a(0)", "", errors=["E501"])
    assert difference(half, "1 a(2)", "1 half(0.5)", errors=["E501"])[1:] == ["  no error of a condition like 'E501'"]


def test_what_may_be_the_reason_is_told() -> None:
    lines = difference("d(X) <- a(X) where known(X).", "1 a(1)", "1 d(1)", errors=["known"])
    assert any("warning W207" in line for line in lines)
    late = etalis.compile("d(X) <- a(X).", out_of_order="on", ooo_window=1)
    lines = difference(late, [("a", 1, 9), ("a", 2, 1)], "9 d(1); 1 d(2)")
    assert any("warning W332: 1 event came too late" in line for line in lines)
    lines = difference(PAIR, "0 a(1); 5 c(2)", "0..5 pair(1, 2)")
    assert any("warning W330: c/1 came once, and no rule reads it" in line for line in lines)
    assert any("warning W331: rule 1 never fired: no b/1 came" in line for line in lines)


def test_a_text_that_cannot_be_read_shows_its_line() -> None:
    with pytest.raises(InputError) as caught:
        assert_matches(PAIR, "0 a(1)\n5 b(Y)", "")
    assert str(caught.value).splitlines() == [
        "<events>:2:1: error E413: no ground term: 'b(Y)' at 'Y)'; a constant that begins so is quoted: 'Y'",
        "    2 | 5 b(Y)",
        "        ^^^^^^",
        "  hint: an event is `1 a(x)` or `1..3 a(x)`: its time, and a name with values",
    ]
    for expected in ("a(1)", "1", "1 5", "1 a(1 2)", "1 a(1,", "1 a(x: 1, 2)"):
        with pytest.raises(InputError, match="<expected>:1:1: error E413"):
            assert_matches(PAIR, "", expected)


CASES = """% good
policy: recent, chronological
program:
d(X) <- a(X).
events:
1 a(1)
expect:
1 d(1)
---
% bad
program:
d(X) <- a(X).
events:
1 a(1)
expect:
2 d(1)
---
% open
close: no
program:
d(X) <- a(X).
expect:
---
% refused
program:
d(X) <- a.
error:
E204
"""


def test_cases(tmp_path: Path) -> None:
    path = tmp_path / "inner" / "some.case"
    path.parent.mkdir()
    path.write_text(CASES)
    good, bad, opened, refused = find_cases(tmp_path)
    assert good.id == "inner/some/good"
    assert find_cases(path) == read_cases(path)
    check_case(good, ["engine", "semantics", "columns"])
    check_case(refused)
    for backend in ("engine", "semantics", "columns"):
        with pytest.raises(AssertionError) as caught:
            check_case(bad, backend)
        assert str(caught.value).splitlines() == [
            f"{path}:10: inner/some/bad on {backend}",
            "  missing     2 d(1)",
            "    nearest   1 d(1): it starts at 1, it ends at 1",
            "  unexpected  1 d(1)",
        ]
    with pytest.raises(InputError, match=r"E413.* cannot run on semantics: `close: no` without"):
        check_case(opened, "semantics")
    with pytest.raises(InputError, match="no backend 'flink'"):
        check_case(good, "flink")


def test_case_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no case files in it"):
        find_cases(tmp_path)
    with pytest.raises(InputError, match="no such file or folder"):
        find_cases(tmp_path / "none.case")


def test_a_case_of_a_program_in_a_file(tmp_path: Path) -> None:
    """It may import what lies below its folder, as when it runs; the case adds knowledge and flags."""
    (tmp_path / "rules" / "base").mkdir(parents=True)
    (tmp_path / "rules" / "base" / "limits.etalis").write_text(":- export limit/1.\nlimit(5).\n")
    program = ":- import limit/1 from 'base/limits.etalis'.\nbig(X) <- a(X) where (limit(L), X > L, seen(X)).\n"
    (tmp_path / "rules" / "big.etalis").write_text(program)
    path = tmp_path / "big.case"
    path.write_text(
        "% from a file\nprogram: rules/big.etalis\npolicy: recent\nprogram:\nseen(9).\n"
        "events:\n1 a(9); 2 a(8)\nexpect:\n1 big(9)\n"
    )
    (case,) = find_cases(path)
    check_case(case, ["engine", "semantics", "columns"])
    (tmp_path / "rules" / "big.etalis").write_text(program + "d(Y) <- a(X).\n")
    with pytest.raises(AssertionError, match=r"refused: .*rules/big\.etalis:3:3: error E204"):
        check_case(find_cases(path)[0])
    path.write_text("% none\nprogram: rules/none.etalis\nexpect:\n")
    with pytest.raises(InputError, match=r"big\.case:2:1: error E413: no file rules/none\.etalis"):
        find_cases(path)


def test_warnings_of_a_case_are_its_affair(tmp_path: Path) -> None:
    """They are expected, or stand below a difference; tests that make warnings errors do not stop at them."""
    path = tmp_path / "some.case"
    path.write_text("% unbounded\nprogram:\npair(X, Y) <- a(X) seq b(Y).\nexpect:\n1 none\nwarning:\nW209\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(AssertionError, match=r"missing     1 none"):
            check_case(find_cases(path)[0])
        path.write_text(path.read_text().replace("1 none\n", "").replace("W209", "W201"))
        with pytest.raises(AssertionError, match="no warning like 'W201'"):
            check_case(find_cases(path)[0])
