"""Programs with clauses that are left out because they have errors."""

from __future__ import annotations

from pathlib import Path

import pytest

import etalis

BROKEN = """
d(X) <- a(X).
bad(X) <- a(Y).
e <- b seq .
r1 rule: f(Z) <- a(Q).
event_rule_property(r1, policy, recent).
p(X) :- 7.
"""


def compile_sound(text: str, **options: object) -> etalis.Program:
    return etalis.compile(text, skip_broken=True, **options)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_rest_of_a_program_runs() -> None:
    program = compile_sound(BROKEN)
    assert [str(event) for event in program.engine().push("a", 1, at=1)] == ["d(1) [1, 1]"]
    assert [problem.code for problem in program.skipped] == ["E204", "E108", "E204", "E217", "E226"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_clause_left_out_is_named_at_its_place() -> None:
    found = [str(problem).split("\n")[0] for problem in compile_sound(BROKEN).problems if problem.code == "W240"]
    assert [line.split(": ")[0] for line in found] == [f"<program>:{n}" for n in ("3:1", "4:12", "5:1", "6:1", "7:1")]
    assert found[0].endswith(
        "this rule is left out: unsafe: X in the head has no value, nothing in the pattern binds it (E204)"
    )
    assert "this property is left out: no rule has the label r1 (E217)" in found[3]


def test_without_being_asked_all_errors_refuse() -> None:
    with pytest.raises(etalis.ProgramError, match="E204"):
        etalis.compile(BROKEN)


@pytest.mark.parametrize("text", [":- set_flag(foo, 1).", ":- import a/1 from 'nowhere'.", ":- export q/3."])
def test_errors_of_the_whole_refuse_all_the_same(text: str) -> None:
    with pytest.raises(etalis.ProgramError):
        compile_sound("d(X) <- a(Y).\n" + text)


def test_a_program_without_errors_is_as_it_was() -> None:
    program = compile_sound("d(X) <- a(X).")
    assert program.skipped == ()
    assert program.compiled.tree == etalis.compile("d(X) <- a(X).").compiled.tree


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "p.event"
    path.write_text("% caf\u00e9\nd('caf\u00e9') <- a.\nbad(X) <- a.\n", encoding="latin-1")
    program = etalis.compile_file(path, encoding="latin-1", skip_broken=True)
    assert [str(event.atom) for event in program.engine().push("a", at=1)] == ["d(caf\u00e9)"]
    with pytest.raises(etalis.InputError, match="not UTF-8 text: byte 0xe9"):
        etalis.compile_file(path)
    path.write_text("d <- a.", encoding="utf-16")
    assert len(etalis.compile_file(path).compiled.rules) == 1
