"""Goals and methods that act on a run, where a case cannot say it: outputs, clocks, ways in, refusals."""

from __future__ import annotations

from datetime import datetime

import pytest

import etalis
from etalis.errors import ConditionError, InputError, LimitError, ProgramError
from etalis.plan.keys import find_partitioning
from etalis.plan.rules import plan_rules
from etalis.runtime.codegen.fast_path.stages import FastPath


def events(found: object) -> list[str]:
    return [repr(event) for event in found]  # type: ignore[attr-defined]


def test_output_goes_to_standard_output_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    engine = etalis.compile("d <- a(X) do (write(X), nl).").engine()
    engine.push("a", 1, at=1)
    assert capsys.readouterr().out == "1\n"


def test_looking_at_the_code_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    etalis.compile(":- writeln(hello). d <- a.").code()
    assert capsys.readouterr().out == ""


def test_the_clock_of_the_engine_is_that_of_goals() -> None:
    program = etalis.compile("d(D) <- a where current_datetime(D).")
    engine = program.engine(clock=lambda: datetime(2020, 2, 3, 4, 5, 6))
    assert str(engine.push("a")[0].args[0]) == "datetime(2020,2,3,4,5,6)"
    assert events(engine.run([("a", datetime(2021, 1, 1))])) == [
        "d(datetime(2020,2,3,4,5,6)) [2021-01-01T00:00:00Z, 2021-01-01T00:00:00Z]"
    ]


def test_the_time_of_goals_is_that_of_the_row_in_generated_code() -> None:
    engine = etalis.compile("d(S) <- a where current_datetime(datetime(_, _, _, _, _, S)).").engine()
    assert FastPath(engine.core).is_plain()
    assert [e.args[0] for e in engine.run([("a", 1), ("a", 2), ("a", 2), ("a", 7)])] == [1, 2, 7]


def test_questions_raise_no_events() -> None:
    engine = etalis.compile("d <- a. go :- event(a).").engine()
    engine.push("a", at=1)
    with pytest.raises(ConditionError, match="only while another is processed"):
        engine.query("go")
    assert engine.push("b", at=2) == ()


def test_questions_change_rules_at_once() -> None:
    engine = etalis.compile("d <- a.").engine()
    assert engine.query("ins_event_rule((e <- a))") == [{}]
    assert events(engine.push("a", at=1)) == ["d [1, 1]", "e [1, 1]"]


def test_a_hidden_goal_is_refused_not_misplaced() -> None:
    """A goal that the text does not show is found by the open call; then no short way in is taken."""
    engine = etalis.compile("d(G) <- a(G) do call(G). e <- c.").engine()
    assert not FastPath(engine.core).is_plain()
    assert events(engine.push_term("a(event(c))", at=1)) == ["d(event(c)) [1, 1]", "e [1, 1]"]


@pytest.mark.parametrize("way", ["push", "_take_rows"])
def test_programs_without_such_goals_keep_the_short_ways_in(way: str) -> None:
    engine = etalis.compile("d(X) <- a(X) seq b(X) where X > 0.").engine()
    getattr(engine, way)
    assert way in engine.__dict__
    engine.insert_rule("e <- a(X) do event(c(X))")
    getattr(engine, way)
    assert way not in engine.__dict__


def test_what_follows_from_a_raised_event_is_made_of_the_match_that_raised_it() -> None:
    engine = etalis.compile("d <- a do event(c). e <- c. f <- b.").engine(parts=True)
    assert [(e.name, e.parts) for e in engine.run([("a", 1), ("b", 2)])] == [("d", (1,)), ("e", (1,)), ("f", (2,))]


def test_an_engine_goes_on_after_the_limit() -> None:
    engine = etalis.compile("d <- a do event(a). e <- b.", max_derivations=10).engine()
    with pytest.raises(LimitError, match="the last came from"):
        engine.push("a", at=1)
    assert events(engine.push("b", at=2)) == ["e [2, 2]"]


def test_what_callbacks_push_comes_after_what_goals_raise() -> None:
    engine = etalis.compile("d <- a do event(c). e <- c. f <- x.").engine()
    engine.on("d", lambda _: engine.push("x", at=1))
    assert events(engine.push("a", at=1)) == ["d [1, 1]", "e [1, 1]", "f [1, 1]"]


def test_set_and_delete_property() -> None:
    engine = etalis.compile("r rule: d <- a seq b. e <- a seq b.").engine(policy="unrestricted")
    engine.push("a", at=0)
    assert engine.set_property("r", "window", 2) == 1
    assert events(engine.push("b", at=1)) == ["e [0, 1]"]
    assert events(engine.run([("a", 2), ("b", 5)])) == ["e [0, 5]", "e [2, 5]"]
    assert engine.delete_property("r", "window") == 1
    assert events(engine.run([("a", 6), ("b", 9)])) == ["e [0, 9]", "e [2, 9]", "d [6, 9]", "e [6, 9]"]
    with pytest.raises(ProgramError, match="no rule s") as caught:
        engine.set_property("s", "window", 2)
    assert caught.value.code == "E230"
    with pytest.raises(ProgramError, match="unknown policy sometimes"):
        engine.set_property("r", "policy", "sometimes")
    with pytest.raises(ProgramError, match="unknown property colour"):
        engine.set_property("r", "colour", "red")


def test_a_property_keeps_the_rule_in_its_place_and_its_label() -> None:
    written: list[str] = []
    program = etalis.compile("d <- a do writeln(d). e <- a do writeln(e).")
    engine = program.engine(output=written.append)
    assert engine.set_property("1", "policy", "chronological") == 1
    assert [event.rule for event in engine.push("a", at=1)] == ["1", "2"]
    assert written == ["d\n", "e\n"]
    assert engine.insert_rule("f <- a") == "3"


def test_reset() -> None:
    engine = etalis.compile("d <- a seq b. exceptionAlarm(r, 5) <- a. e <- a seq (not b within 3).").engine()
    engine.push("a", at=1)
    assert engine.waiting() == 1
    engine.reset()
    assert engine.waiting() == 0
    assert events(engine.push("b", at=2)) == []
    assert events(engine.advance(to=20)) == []
    assert engine.now == 20


def test_spy_and_unspy() -> None:
    written: list[str] = []
    engine = etalis.compile("d(X) <- a(X).").engine(output=written.append)
    engine.spy("a/1")
    engine.spy("d/1")
    assert events(engine.run([("a", 1, 1)])) == ["d(1) [1, 1]"]
    engine.unspy("a/1")
    assert events(engine.push("a", 2, at=2)) == ["d(2) [2, 2]"]
    assert written == ["a(1) [1, 1]\n", "d(1) [1, 1]\n", "d(2) [2, 2]\n"]
    with pytest.raises(InputError, match="name/arity"):
        engine.spy("a")


def test_deleting_by_text_does_not_mind_names_of_variables() -> None:
    engine = etalis.compile("d(X) <- a(X, Y) seq b(Y, _). e <- any(1, [a(X, X), b(X, _)]).").engine()
    with pytest.raises(ProgramError, match="no rule"):
        engine.delete_rule("d(X) <- a(X, X) seq b(X, _)")
    assert engine.delete_rule("d(P) <- a(P, Q) seq b(Q, R)") == 1
    assert engine.delete_rule("e <- any(1, [a(Z, Z), b(Z, Y)])") == 1


def test_deep_terms_are_no_rules() -> None:
    text = "nest(0, x). nest(N, f(T)) :- N > 0, M is N - 1, nest(M, T). d <- a do (nest(100000, T), ins_event_rule(T))."
    engine = etalis.compile(text).engine()
    assert events(engine.push("a", at=1)) == ["d [1, 1]"]
    assert len(engine.errors) == 1


def test_such_goals_keep_a_program_in_one_shard() -> None:
    program = etalis.compile("d(K) <- a(K) seq b(K). e(K) <- a(K) do event(c(K)).")
    found = find_partitioning(plan_rules(program.compiled.rules, program.compiled.settings), program.compiled.tree)
    assert "event/1 in an action has a side effect" in "".join(map(str, found.obstacles))
