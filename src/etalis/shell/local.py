"""A console over an engine in the process: each clause is an event, a command, a goal, or part of the program.

Law: whatever goes wrong with a clause is told, and the console goes on with the state that it had.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from etalis.data.values import format_value
from etalis.errors import EtalisError, Problem
from etalis.formats.full_stops import read_typed
from etalis.language import syntax as s
from etalis.language.flags import FLAGS
from etalis.language.ground_terms import variables
from etalis.language.lower import to_logic
from etalis.logic.builtins.table import CODES
from etalis.shell.commands import COMMANDS, Leave, Said, find_command, set_flag, shown
from etalis.shell.console import Vocabulary
from etalis.shell.workspace import Workspace

NAME = "<console>"
TICK = 0.2  # seconds between two looks at the clock
FILES = frozenset(name for command in COMMANDS if "'file'" in command.usage for name in command.names)


class LocalConsole:
    """Answers what is typed with an engine of its own."""

    def __init__(self, workspace: Workspace, write: Callable[[str], None]) -> None:
        self.workspace = workspace
        self.write = write
        self.is_over = False
        self.errors: list[Problem] = []
        self._answers: Iterator[dict[str, Any]] | None = None
        self._stop = threading.Event()  # somebody has asked to stop

    @property
    def asks(self) -> bool:
        """Whether there may be more answers to the last goal."""
        return self._answers is not None

    async def answer(self, clause: str) -> None:
        """Do what a clause says."""
        self.enough()
        with self._telling(), hearing_stops() as self._stop:
            self._keep_time()
            for item in read_typed(clause, NAME):
                self._do(item)

    async def more(self) -> None:
        """Write the next answer to the last goal."""
        with self._telling():
            self._next_answer()

    def enough(self) -> None:
        """Ask for no more answers."""
        self._answers = None

    async def stay_awake(self) -> None:
        """Let time pass while nothing is typed."""
        while True:
            await asyncio.sleep(TICK)
            with self._telling():
                self._keep_time()

    def vocabulary(self) -> Vocabulary:
        """Return the words that can be typed now."""
        rules = self.workspace.engine.core.rules
        database = rules.conditions.solver.database
        words = {name: "predicate" for name, _ in (*CODES, *database.known()) if name.isidentifier()}
        words |= {name: "event" for name, _ in (*rules.processors, *rules.heads.makers)}
        words |= dict.fromkeys(self.workspace.program.signatures, "event")
        words |= {name: command.meaning for command in COMMANDS for name in command.names}
        flags = {name: row.meaning for name, row in FLAGS.items()}
        labels = {label: "rule" for label, _ in self.workspace.rules()}
        inside = dict.fromkeys(("set_flag", "set_etalis_flag"), flags)
        inside |= dict.fromkeys(("del_event_rule", "delete", "waiting", "partial"), labels)
        inside |= {f"{name},": dict.fromkeys(row.words, name) for name, row in FLAGS.items() if row.words}
        inside["help"] = {command.names[0]: command.meaning for command in COMMANDS} | flags
        return Vocabulary(words, inside, FILES)

    # what a clause says

    def _do(self, item: s.Item | s.Term) -> None:
        match item:
            case s.Rule():
                self.write(f"rule {self.workspace.insert(item)}\n")
            case s.SetFlag(name=name, value=value):
                self._tell(set_flag(self.workspace, s.Const(name), value))
            case s.Initially(goal=goal):
                self._ask(goal)
            case s.Clause(head=head, body=None):
                self._perform(head)
            case s.Clause(head=head, body=body):
                assert body is not None
                self._ask(s.Compound("assertz", (s.Compound(":-", (head, body)),)))
            case s.Var() | s.Const() | s.Compound() | s.ListTerm():
                self._perform(item)
            case _:
                self.workspace.declare(item)
                self.write("the program has changed: the engine is new\n")

    def _keep_time(self) -> None:
        """Let time pass up to now, where it is that of the clock; write what has come of it."""
        for line in shown(self.workspace.keep_time()):
            self.write(line)

    def _perform(self, term: s.Term) -> None:
        """Carry out a command, several of them, or a goal."""
        parts = [*conjuncts(term)]
        if len(parts) > 1 and any(find_command(part) for part in parts):
            for part in parts:
                self._perform(part)
            return
        found = find_command(term)
        if found is None:
            self._ask(term)
        else:
            self._tell(found[0](self.workspace, *found[1]))

    def _tell(self, said: Said) -> None:
        """Write what a command says; one that says nothing is done."""
        is_silent = True
        for piece in (said,) if isinstance(said, str) else said or ():
            self.write(piece)
            is_silent = False
            if self._stop.is_set():
                raise KeyboardInterrupt
        if is_silent:
            self.write("ok.\n")

    def _ask(self, goal: s.Term) -> None:
        """Ask a goal, write its first answer."""
        asked = to_logic(goal)
        named = [name for name in asked.variables if not name.startswith("_")]
        self._answers = self.workspace.engine.core.rules.solver.solve(asked)
        is_known = self._next_answer()
        if not named:
            self.enough()
        if is_known:
            self.workspace.typed += assertion(goal)

    def _next_answer(self) -> bool:
        """Write the next answer; tell whether there is one."""
        assert self._answers is not None
        with interruptible():
            try:
                found = next(self._answers, None)
            except BaseException:
                self.enough()
                raise
        if found is None:
            self.enough()
            self.write("false.\n")
            return False
        self.write(write_answer(found))
        return True

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Tell what goes wrong, and go on."""
        try:
            yield
        except Leave:
            self.is_over = True
        except EtalisError as error:
            self.errors += error.problems
            for problem in error.problems:
                self.write(f"{problem}\n")
        except KeyboardInterrupt:
            self.write("stopped\n")


def assertion(goal: s.Term) -> Iterator[s.Clause]:
    """Yield the clause that a goal adds to the program, if it does nothing else."""
    match goal:
        case s.Compound(name="assert" | "assertz" | "asserta", args=(s.Compound(name=":-", args=(head, body)),)):
            yield s.Clause(head, body)
        case s.Compound(name="assert" | "assertz" | "asserta", args=(head,)) if not variables(head):
            yield s.Clause(head, None)


def conjuncts(term: s.Term) -> Iterator[s.Term]:
    """Yield the goals of a conjunction."""
    while isinstance(term, s.Compound) and term.name == "," and len(term.args) == 2:
        yield term.args[0]
        term = term.args[1]
    yield term


def write_answer(found: dict[str, Any]) -> str:
    """Write the values of the variables of an answer.

    >>> write_answer({"X": 1, "_Y": 2}), write_answer({})
    ('X = 1\\n', 'true.\\n')
    """
    values = [f"{name} = {format_value(value)}" for name, value in found.items() if not name.startswith("_")]
    return f"{', '.join(values) or 'true.'}\n"


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C stop what is done inside at once, whoever else waits for it."""
    with handling(signal.default_int_handler):
        yield


@contextmanager
def hearing_stops() -> Iterator[threading.Event]:
    """Note that somebody pressed Ctrl-C, so that what is done ends where it can; a second time stops it at once."""
    asked = threading.Event()

    def hear(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            signal.default_int_handler(number, frame)
        asked.set()

    with handling(hear):
        yield asked


@contextmanager
def handling(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Handle Ctrl-C in this way, where this is the thread that hears of it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        with suppress(TypeError):  # a handler that was not set from Python cannot be put back
            signal.signal(signal.SIGINT, before)
