"""The manual's goals over explanations: what `justify_event` answers, in which order, and what is written where."""

from __future__ import annotations

from typing import Any

import pytest

import etalis
from etalis.data.values import format_value

pytestmark = pytest.mark.filterwarnings("ignore::etalis.errors.ProgramWarning")
ROWS = [("p", 1, 1), ("p", 1, 2), ("q", 1, 3)]


def after(text: str, rows: list[Any], **options: Any) -> etalis.Engine:
    engine = etalis.compile(text).engine(**{"justification": "full", "policy": "unrestricted"} | options)
    list(engine.run(rows))
    return engine


def asked(engine: etalis.Engine, goal: str) -> list[dict[str, str]]:
    return [{name: format_value(value) for name, value in row.items()} for row in engine.query(goal)]


def test_the_example_of_the_manual() -> None:
    engine = after("c <- a seq b. :- set_flag(etalis_justification, on).", [("a", 1), ("b", 2)], justification=None)
    default = "justification(unlabeled,head({0},[{1},{1}]),default)"
    body = f"seq({default.format('a', 1)},{default.format('b', 2)})"
    assert asked(engine, "justify_event(c, I, J)") == [
        {"I": "[1,2]", "J": f"justification(unlabeled,head(c,[1,2]),{body})"}
    ]


def test_the_latest_comes_first_and_times_that_are_given_agree() -> None:
    engine = after("hit(X) <- p(X) seq q(X).", ROWS)
    assert [row["T1"] for row in asked(engine, "justify_event(hit(_), [T1, T2], J)")] == ["2", "1"]
    assert [row["X"] for row in asked(engine, "justify_event(hit(X), [1, 3], J)")] == ["1"]
    assert asked(engine, "justify_event_positive(hit(2), _, J)") == []
    assert asked(engine, "justify_event_positive(hit(1), [2, 2], J)") == []
    assert asked(engine, "justify_event_negative(hit(1), _, J)") == []


def test_an_event_that_did_not_occur() -> None:
    written: list[str] = []
    engine = after("c <- a seq b.", [("a", 1)], output=written.append)
    (told,), (again,) = (
        asked(engine, f"{goal}(c, I, J), term_to_atom(J, T)") for goal in ("justify_event", "justify_event_negative")
    )
    assert told.keys() == again.keys() == {"T"}
    assert "seq(justification(unlabeled,head(a,[1,1]),default),justification(unlabeled,head(b,[" in told["T"]
    assert asked(engine, "justify_event_positive(c, I, J)") == []
    engine.query("justify_event(c, _, J), write_justification(J), write_justification_udraw(f, J)")
    assert written[0].startswith("failed forall rules(\n        failed(\n        event(c,[_1,_2])\n")
    assert "failed(event(b,[" in written[0]
    assert written[1].startswith('[l("1",')


def test_the_negative_answer_is_about_the_times_that_are_asked_for() -> None:
    engine = after("hit(X) <- p(X) seq q(X).", ROWS)
    for times in ("[2, 4]", "[_, 4]"):
        (row,) = asked(engine, f"justify_event(hit(1), {times}, [justification(L, _, failed(J))])")
        assert row["L"] == "unlabeled"
    assert asked(engine, "justify_event_negative(hit(1), [_, 3], J)") == []
    assert asked(engine, "justify_event(nothing, _, justification(_, _, J))") == [{"J": "failed"}]


def test_inputs_and_raised_events_are_events() -> None:
    engine = after("r <- e do event(x(1)).", [("e", 1)])
    assert asked(engine, "justify_event(e, I, justification(_, _, J))") == [{"I": "[1,1]", "J": "default"}]
    (row,) = asked(engine, "justify_event(x(X), _, justification(_, _, J))")
    assert row["J"].startswith("raised(justification(unlabeled,head(r,[1,1])")


def test_labels_and_conditions() -> None:
    engine = after("r1 rule: k(X) <- p(X) where X > 0.", [("p", 1, 1)])
    (row,) = asked(engine, "justify_event(k(1), _, justification(L, _, where(_, G)))")
    assert (row["L"], row["G"]) == ("r1", "prolog(>(1,0))")


def test_what_is_written_goes_to_the_output() -> None:
    written: list[str] = []
    engine = after("hit(X) <- p(X) seq q(X).", ROWS[1:], output=written.append)
    engine.query("justify_event(hit(1), _, J), write_justification(J)")
    assert "".join(written).splitlines() == [
        "seq(", "        event(p(1),[2,2])", ",", "        event(q(1),[3,3])", ")", "-" * 20, "event(hit(1),[2,3])",
    ]  # fmt: skip
    for goal in ("write_justification_udraw('f.udg', J)", "write_justification_udraw(justify_event(hit(1), I), J, f)"):
        written.clear()
        engine.query(f"justify_event(hit(1), I, J), {goal}")
        assert written[0].startswith('[l("1",n("",[a("OBJECT","hit(1) [2,3] = seq")]')


def test_actions_and_conditions_may_ask() -> None:
    written: list[str] = []
    text = """hit(X) <- p(X). told <- hit(X) do (justify_event(hit(X), _, J), write_justification(J)).
    labelled(L) <- hit(X) where justify_event_positive(hit(X), _, justification(L, _, _))."""
    engine = after(text, [("p", 7, 1)], output=written.append)
    assert written == ["        event(p(7),[1,1])\n--------------------\nevent(hit(7),[1,1])\n"]
    assert asked(engine, "justify_event_positive(labelled(L), _, _)") == [{"L": "unlabeled"}]
    assert engine.errors == []


@pytest.mark.parametrize(
    ("goal", "options", "code"),
    [
        ("justify_event(c, I, J)", {"justification": "off"}, "E340"),
        ("justify_event(c, I, J)", {"justification": "ids"}, "E340"),
        ("justify_event(E, I, J)", {}, "E502"),
        ("justify_event(c, now, J)", {}, "E503"),
        ("write_justification(J)", {}, "E502"),
    ],
)
def test_refusals(goal: str, options: dict[str, Any], code: str) -> None:
    with pytest.raises(etalis.ConditionError) as refused:
        after("c <- a.", [("a", 1)], **options).query(goal)
    assert refused.value.problems[0].code == code


def test_a_predicate_of_the_program_goes_before() -> None:
    engine = after("justify_event(a, b, c). c <- a.", [])
    assert asked(engine, "justify_event(a, X, Y)") == [{"X": "b", "Y": "c"}]
