"""What the console answers, clause by clause, over an engine of its own."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest

from etalis.shell.local import LocalConsole
from etalis.shell.plain import read_plainly
from etalis.shell.workspace import Workspace

START = 1_772_442_000_000_000  # 2026-03-02T09:00:00Z


class Talk:
    """A console, and what it has written."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.time = START
        self.console = LocalConsole(Workspace(self.pieces.append, lambda: self.time), self.pieces.append)

    def say(self, text: str) -> str:
        """Type clauses and lines `;`, return the answers."""
        self.pieces.clear()
        asyncio.run(read_plainly(self.console, io.StringIO(text)))
        return "".join(self.pieces)

    @property
    def codes(self) -> list[str]:
        return [problem.code for problem in self.console.errors]


@pytest.fixture
def talk() -> Talk:
    return Talk()


def test_rules_and_events_are_typed_in(talk: Talk) -> None:
    assert talk.say("c(X) <- (a(X) seq b(X)) within 9.\n") == "rule 1\n"
    assert talk.say("event(a(1), 1). event(b(1), 2).\n") == "ok.\nc(1) [1, 2]\n"
    assert talk.say("event(a(2), [3, 4]). event(b(2), 5).") == "ok.\nc(2) [3, 5]\n"
    assert talk.say("rules.") == "   1  c(X) <- a(X) seq b(X) within 9.\n"
    assert talk.say("del_event_rule(1). rules.").startswith("1 rule removed\nthere are no rules")


def test_an_event_without_a_time_happens_now(talk: Talk) -> None:
    talk.say("c <- (a seq b) within 9.")
    talk.say("event(a).")
    talk.time += 1_500_000
    assert talk.say("event(b).") == "c [2026-03-02T09:00:00Z, 2026-03-02T09:00:01.500000Z]\n"


def test_no_two_events_happen_at_once_though_the_clock_stands(talk: Talk) -> None:
    talk.say("c <- (a seq b) within 9.")
    assert talk.say("event(a). event(b).").endswith("c [2026-03-02T09:00:00Z, 2026-03-02T09:00:00.000001Z]\n")


def test_where_events_bring_times_one_without_follows_the_last(talk: Talk) -> None:
    talk.say("c <- (a seq b) within 9.")
    assert talk.say("event(a, 5). event(b).") == "ok.\nc [5, 5.001]\n"
    assert "b was not taken: it ends at 1, but time has reached 5.001" in talk.say("event(b, 1).")


def test_what_is_due_comes_with_the_clock(talk: Talk) -> None:
    talk.say("late <- a seq (not b within 2).")
    talk.say("event(a).")
    talk.time += 2_000_001
    assert talk.say("rules.").startswith("late [2026-03-02T09:00:00Z, 2026-03-02T09:00:02Z]\n")


def test_a_goal_is_asked_for_more_answers(talk: Talk) -> None:
    assert talk.say("member(X, [1, 2]).\n;\n;\n;\n") == "X = 1\nX = 2\nfalse.\n"
    assert talk.say("member(X, [1, 2]).\nmember(1, [1, 1]).\n;\n") == "X = 1\ntrue.\n"
    assert talk.say("?- fail.") == "false.\n"


def test_facts_and_clauses_outlive_a_new_engine(talk: Talk) -> None:
    talk.say("assertz(near(basel, weil)). close(X) :- near(X, _). c(X) <- a(X) where close(X).")
    answer = talk.say("set_flag(event_consumption_policy, chronological). close(X).\n")
    assert answer == "ok.\nX = basel\n"
    assert talk.say("event(a(basel), 1). event(a(bern), 2).") == "c(basel) [1, 1]\nok.\n"


def test_a_flag_begins_anew_once_events_have_come(talk: Talk) -> None:
    talk.say("c <- (a seq b) within 9. event(a, 1).")
    assert talk.say("set_flag(max_path, 5).") == "the engine is new: what waited is dropped\n"
    assert talk.say("event(b, 2).") == "ok.\n"
    assert "* max_path = 5\n" in talk.say("flags.")


def test_questions(talk: Talk) -> None:
    talk.say("c(X) <- (a(X) seq b(X)) within 9. event(a(1), 1). event(b(1), 2). event(a(7), 3).")
    assert talk.say("why.") == talk.say("why(c(_)).") == talk.say("why(c(1), [1, 2]).")
    assert "a(1) [1, 1]   input 1" in talk.say("why.")
    assert "no event b(7) has come" in talk.say("why_not(c(7)).")
    assert talk.say("waiting.").splitlines()[1:] == ["  there    a(7)", "  awaited  b(7)"]
    assert talk.say("history.").splitlines() == [
        "in   a(1) [1, 1]", "in   b(1) [2, 2]", "out  c(1) [1, 2]", "in   a(7) [3, 3]",
    ]  # fmt: skip
    assert "◆" in talk.say("timeline.") or "━" in talk.say("timeline.")
    assert "join key: X" in talk.say("explain.")
    assert talk.say("reset_db. event(b(7), 4).") == "ok.\nok.\n"


def test_errors_have_caret_and_hint_and_change_nothing(talk: Talk) -> None:
    answer = talk.say("c(X) <- (a(X) seq b(X)) within 9.\nd(X, Y) <- a(X).\nrules.")
    assert answer == (
        "rule 1\n"
        "<console>:1:6: error E204: unsafe: Y in the head has no value, nothing in the pattern binds it\n"
        "    1 | d(X, Y) <- a(X).\n"
        "             ^\n"
        "  hint: use Y in an event of the pattern, or give it a value with `where`\n"
        "   1  c(X) <- a(X) seq b(X) within 9.\n"
    )
    assert "hint: did you mean logging?" in talk.say("set_flag(loging, on).")
    assert "E107" in talk.say("foo(X.")
    assert talk.codes == ["E204", "E205", "E107"]
    assert "E113" in talk.say("event(a(X)).")
    assert "E404" in talk.say("event(a(1), noon).")
    assert "there is no file nowhere" in talk.say("load(nowhere).")
    assert "a full stop is missing" in talk.say("a <- (b")


def test_declarations_begin_a_new_engine(talk: Talk) -> None:
    said = talk.say(
        ":- event(w(card: string, amount: float)).\nc(A) <- w(amount: A).\nevent(w(card: x, amount: 2), 1)."
    )
    assert said == "the program has changed: the engine is new\nrule 1\nc(2.0) [1, 1]\n"


def test_files_of_rules_and_events(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / "hello.event").write_text("c(X) <- (a(X) seq b(X)) within 9.\n")
    (tmp_path / "stream.P").write_text("event(a(1)). sleep(1). event(b(1)). event(a(2)).\n")
    goal = f"compile_event_file('{tmp_path}/hello.event'), execute_event_stream_file('{tmp_path}/stream.P'), halt."
    assert talk.say(goal).splitlines()[1:] == ["c(1) [0, 1]"]
    assert talk.console.is_over
    assert talk.say(f"['{tmp_path}/hello'].").endswith("1 rule in the program now, the engine is new\n")


@pytest.mark.parametrize("word", ["halt.", "end_of_file.", "quit.", "true, halt."])
def test_it_is_left_by_a_word(talk: Talk, word: str) -> None:
    talk.say(f"{word} X = 1.")
    assert talk.console.is_over


def test_help_names_every_command(talk: Talk) -> None:
    said = talk.say("help.")
    assert all(name in said for name in ("event(", "why_not(", "set_flag(", "halt."))
    assert talk.say("help(seeDB).").startswith("state.")
    assert talk.say("help(shedding).").startswith("shedding: at the hard limit")


def test_a_goal_that_is_stopped_leaves_the_console_as_it_was(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    program = talk.console.workspace.program
    program.register("stop", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    talk.console.workspace.engine = program.engine()
    assert talk.say("X = 1, stop.") == "stopped\n"
    assert not talk.console.asks
    assert talk.say("X = 1.") == "X = 1\n"


def test_what_goals_write_is_shown(talk: Talk) -> None:
    assert talk.say("X is 1 + 2, write(hello(X)), nl.") == "hello(3)\nX = 3\n"
