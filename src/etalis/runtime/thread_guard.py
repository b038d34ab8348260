"""The guard of an engine against concurrent use: a call from a second thread is refused.

The note is the cell `State.inside`, a variable of the generated `push` and `run`: 0 for nobody, the thread, or
`SOMEONE`, which costs less to write: by a `push` in which no code of the host can run, so that it is another thread, or
by a `run`, of which the stack tells whether it is this thread's. Reading and writing it are one step
under the interpreter's lock, since nothing between them calls or jumps back. The same thread may come again: from a
callback, a function that a goal calls, or the rows that it reads. Law: who is refused changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import get_ident
from types import FrameType
from typing import Any, TypeVar, cast

from etalis.errors import EventError, Problem
from etalis.runtime.codegen.source import GENERATED, Code
from etalis.runtime.state import NEVER, State

SOMEONE = -1  # inside: what no thread is called

Method = TypeVar("Method", bound=Callable[..., Any])


def admit(state: State, inside: int) -> None:
    """Refuse this thread if another one is inside."""
    if inside != get_ident() and not (inside == SOMEONE and visit(state)):
        hint = "give each thread an engine of its own (program.engine()), or hold one lock around all its calls"
        raise EventError(Problem("E350", "two threads are inside one engine at once", hint=hint))


def visit(state: State) -> bool:
    """Tell whether this thread is in a generated `run` of the engine, which reads its rows.

    Then the state has the clock of that run, and the run takes over what the visitor changes.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == GENERATED:
            known = frame.f_locals
            if known.get("here") is True and any(each is state for each in known.values()):
                if state.clock < known.get("clock", NEVER) < NEVER:
                    state.clock = known["clock"]
                state.number = max(state.number, known.get("number", state.number))
                known.get("visited", []).append(True)
                return True
        frame = frame.f_back
    return False


def look_up(state: State) -> None:
    """Give the state the clock of the generated `run` that this thread may be in."""
    if state.inside.cell_contents == SOMEONE:
        visit(state)


def alone(method: Method) -> Method:
    """Let a method of an engine, which has a `core`, be called by one thread at a time."""

    @wraps(method)
    def guarded(self: Any, /, *args: Any, **options: Any) -> Any:
        cell, me = self.core.state.inside, get_ident()
        was = cell.cell_contents
        if was and was != me:
            admit(self.core.state, was)
        cell.cell_contents = me
        try:
            return method(self, *args, **options)
        finally:
            cell.cell_contents = was

    return cast("Method", guarded)


def enter_lines(code: Code, state: State, me: str) -> list[str]:
    """Return the lines that note who is inside, and refuse this thread if another one is."""
    code.shared["inside"] = state.inside
    refused = f"{code.constant(admit)}({code.constant(state)}, was)"
    return ["was = inside", f"if was: {refused}", f"inside = {me}"]


@contextmanager
def entered(code: Code, state: State, *, calls_out: bool) -> Iterator[None]:
    """Write that what follows is done inside, and left at its end, however that comes about."""
    if calls_out:
        code(f"me = {code.constant(get_ident)}()")
    for line in enter_lines(code, state, "me" if calls_out else str(SOMEONE)):
        code(line)
    with code.block("try:"):
        yield
    with code.block("finally:"):
        code("inside = was")
