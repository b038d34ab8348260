"""The console at a terminal, whose keys are typed by the test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session, get_app
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from etalis.shell.local import LocalConsole
from etalis.shell.terminal import open_history, read_typing
from etalis.shell.workspace import Workspace

SHOWS = "shows: "
CTRL_C, CTRL_D, TAB = "\x03", "\x04", "\t"


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[PipeInput]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        yield typed


@pytest.fixture
def typing(keys: PipeInput) -> Callable[..., str]:
    async def type_in(steps: tuple[str, ...], pieces: list[str]) -> None:
        console = LocalConsole(Workspace(pieces.append, lambda: 0), pieces.append)
        reading = asyncio.create_task(read_typing(console))
        for step in steps:
            if step.startswith(SHOWS):
                while get_app().current_buffer.text != step.removeprefix(SHOWS):
                    await asyncio.sleep(0)
            else:
                keys.send_text(step)
        await reading

    def run(*steps: str) -> str:
        """Type keys, and wait where a step tells what the line then shows; return what the console answers."""
        pieces: list[str] = []
        asyncio.run(asyncio.wait_for(type_in(steps, pieces), 20))
        return "".join(pieces)

    return run


def test_a_clause_may_have_several_lines(typing: Callable[..., str]) -> None:
    assert (
        typing("c(X) <- (a(X)\rseq b(X))\rwithin 9.\rrules.\rhalt.\r")
        == "rule 1\n   1  c(X) <- a(X) seq b(X) within 9.\n"
    )


def test_a_line_may_have_several_clauses(typing: Callable[..., str]) -> None:
    assert typing("event(a, 1). event(b, 2). now.\r" + CTRL_D) == "ok.\nok.\n2\n"


def test_a_semicolon_asks_for_more_answers_and_enter_for_no_more(typing: Callable[..., str]) -> None:
    assert typing("member(X, [1, 2, 3]).\r;;x;member(Y, [7, 8]).\r\rhalt.\r") == "X = 1\nX = 2\nX = 3\nfalse.\nY = 7\n"


def test_ctrl_c_drops_what_is_typed_and_ctrl_d_leaves(typing: Callable[..., str]) -> None:
    assert typing(f"event(a(1){CTRL_C}X = 1.\r\r{CTRL_D}") == "X = 1\n"


def test_words_are_completed(typing: Callable[..., str]) -> None:
    said = typing(f"set_flag(max_rea{TAB}", f"{SHOWS}set_flag(max_reactions", f", 7).\rmax_de{CTRL_C}flags.\r{CTRL_D}")
    assert "* max_reactions = 7\n" in said


def test_what_was_typed_is_remembered(typing: Callable[..., str], tmp_path: Path) -> None:
    typing(f"X = 1.\r\rY =\r2.\r\r{CTRL_D}")
    assert [*open_history().load_history_strings()] == ["Y =\n2.", "X = 1."]
    assert (tmp_path / "etalis" / "history").stat().st_mode & 0o077 == 0


def test_without_a_place_for_the_history_it_lasts_as_long_as_the_console(
    typing: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert typing(f"X = 1.\r\r{CTRL_D}") == "X = 1\n"
    assert isinstance(open_history(), InMemoryHistory)
