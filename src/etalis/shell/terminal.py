"""The console where somebody types: several lines up to the full stop, history, completion, colours.

Ctrl-C drops what is typed, or stops a goal; Ctrl-D leaves. What comes while nothing is typed stands above the prompt.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style

from etalis.formats.full_stops import ClauseReader
from etalis.shell.colours import STYLES, colour_clause
from etalis.shell.console import Console
from etalis.shell.words import find_words

PROMPT, GOES_ON = "etalis> ", "      | "
GREETING = "etalis: events, goals, rules, each up to a full stop; help. lists commands, halt. or Ctrl-D leaves\n"
MORE_KEYS = (";", " ", "tab", "n")
NO_MORE_KEYS = ("enter", ".", "q", "c-c", "c-d", "escape")


class _WordCompleter(Completer):
    """Completes words by what stands before them."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what the word at the cursor may become."""
        del complete_event
        for word, meaning, length in find_words(self._console.vocabulary(), document.text_before_cursor):
            yield Completion(word, start_position=-length, display_meta=meaning)


class _ClauseLexer(Lexer):
    """Colours the words of clauses."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Return the pieces of a line with their styles."""
        lines = colour_clause(document.text)

        def line_of(number: int) -> StyleAndTextTuples:
            return [*lines[number]] if number < len(lines) else []

        return line_of


async def read_typing(console: Console) -> None:
    """Answer what is typed until somebody leaves."""
    session: PromptSession[str] = PromptSession(
        history=open_history(), completer=_WordCompleter(console), lexer=_ClauseLexer(), style=Style.from_dict(STYLES),
        auto_suggest=AutoSuggestFromHistory(), key_bindings=_bind_enter(), multiline=True, complete_while_typing=False,
        prompt_continuation=GOES_ON,
    )  # fmt: skip
    with patch_stdout(raw=True):
        print(GREETING, end="", flush=True)
        beside = asyncio.create_task(console.stay_awake())
        try:
            while not console.is_over:
                try:
                    text = await session.prompt_async(PROMPT)
                except KeyboardInterrupt:
                    continue
                except EOFError:
                    return
                await _answer(console, text)
        finally:
            beside.cancel()
            with suppress(asyncio.CancelledError):
                await beside


async def _answer(console: Console, text: str) -> None:
    """Answer the clauses of a text, each with as many answers as are asked for."""
    reader = ClauseReader()
    clauses = [*reader.feed(f"{text}\n"), reader.close()]
    for clause in filter(None, clauses):
        await console.answer(clause)
        while console.asks and not console.is_over:
            if not await _wants_more():
                console.enough()
                break
            await console.more()
        if console.is_over:
            return


async def _wants_more() -> bool:
    """Ask by a key whether there shall be another answer."""
    keys: Any = KeyBindings()
    for key in MORE_KEYS:
        keys.add(key)(lambda event: event.app.exit(result=";"))
    for key in NO_MORE_KEYS:
        keys.add(key)(lambda event: event.app.exit(result="."))
    keys.add("<any>")(lambda _: None)
    asking: PromptSession[str] = PromptSession(key_bindings=keys, history=InMemoryHistory(), erase_when_done=True)
    return await asking.prompt_async("  ; more, Enter enough ") == ";"


def _bind_enter() -> KeyBindings:
    """Let Enter end what is complete, and begin a line in what is not."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: Any) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
        elif is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @keys.add("escape", "enter")
    def _(event: Any) -> None:
        event.current_buffer.insert_text("\n")

    return keys


def is_complete(text: str) -> bool:
    """Tell whether a text can be answered: it ends in a full stop, or says nothing.

    >>> is_complete("a(1)."), is_complete("c <- a seq"), is_complete("a('. '"), is_complete("")
    (True, False, False, True)
    """
    reader = ClauseReader()
    reader.feed(f"{text}\n")
    return reader.is_idle


def open_history() -> History:
    """Return the history of this user; where none can be kept, that of this session."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(state) / "etalis" / "history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))
