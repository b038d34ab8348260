"""A console over an engine of a service: clauses go out as lines, answers and matches come back.

What is no event, rule or verb of the lines is a goal: it is sent as a query. Answers come in order; matches stand above
the prompt as they come.
"""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from etalis.client.connection import LineConnection, engine_of
from etalis.client.connection import connect as open_connection
from etalis.data.values import format_atom, format_value
from etalis.errors import EtalisError, Problem
from etalis.formats.full_stops import ClauseReader, read_typed
from etalis.formats.terms import to_ground
from etalis.language import syntax as s
from etalis.language.ground_terms import ground
from etalis.language.printer import print_item, print_term
from etalis.language.read.parser import parse_term
from etalis.service.lines.verbs import VERBS
from etalis.shell.console import Vocabulary
from etalis.temporal.interval import EARLIEST, LATEST, show_moment, to_iso, to_time

NAME = "<console>"
DATES_FROM = 100_000_000_000_000  # microseconds: later times, after 1973, are shown as dates
LEAVING = ("halt", "quit", "exit", "end_of_file")
_USAGES = {verb.name: verb.usage for verb in VERBS if verb.usage}
_GONE = Problem("E855", "the connection with the service has ended", hint="start the console again")


class RemoteConsole:
    """Answers what is typed with an engine of a service."""

    def __init__(self, connection: LineConnection, write: Callable[[str], None]) -> None:
        self.write = write
        self.is_over = False
        self.errors: list[Problem] = []
        self._connection = connection
        self._heard: asyncio.Queue[s.Term | None] = asyncio.Queue()  # answers; None at the end
        self._dropped = 0  # answers that nobody waits for any more
        self._more: deque[str] = deque()  # further answers to the last goal
        self._is_told = True  # the last answer that was heard has been written
        self._held: list[str] = []  # matches that wait for that
        self._listening = asyncio.create_task(self._listen())

    @property
    def asks(self) -> bool:
        """Whether there are more answers to the last goal."""
        return bool(self._more)

    async def begin(self, token: str | None, engine: str | None) -> None:
        """Say who asks, which engine is used, and that its matches are wanted."""
        lines = [] if token is None else [f"token({format_atom(token)})."]
        lines += [] if engine is None else [f"use({format_atom(engine)})."]
        for line in (*lines, "subscribe(all)."):
            answer = await self._ask(line)
            if answer != s.Const("ok"):
                self._tell(answer)
            self._release()

    async def answer(self, clause: str) -> None:
        """Do what a clause says."""
        self.enough()
        try:
            for text in self._requests(clause):
                if text is None:
                    self.is_over = True
                    return
                self.write(text) if text.endswith("\n") else self._tell(await self._ask(text))
                self._release()
        except EtalisError as error:
            self._refuse(*error.problems)

    async def more(self) -> None:
        """Write the next answer to the last goal."""
        self.write(self._more.popleft())

    def enough(self) -> None:
        """Ask for no more answers."""
        self._more.clear()

    async def stay_awake(self) -> None:
        """Listen while nothing is typed."""
        await asyncio.shield(self._listening)

    async def close(self) -> None:
        """Listen no more."""
        self._listening.cancel()
        with suppress(asyncio.CancelledError):
            await self._listening

    def vocabulary(self) -> Vocabulary:
        """Return the words that can be typed now."""
        return Vocabulary({"event": "an event occurs", "help": "what can be asked for", **_USAGES})

    # requests

    def _requests(self, clause: str) -> Iterator[str | None]:
        """Yield the lines that a clause stands for, what is answered at once, or None to leave."""
        for item in read_typed(clause, NAME):
            match item:
                case s.Const(value=str() as name) if name in LEAVING:
                    yield None
                case s.Const(value="help"):
                    yield "".join(f"{usage}\n" for usage in ("event(a(1), Time).", *_USAGES.values()))
                case s.Compound(name=name) | s.Const(value=str() as name) if name == "event" or name in _USAGES:
                    yield clause
                case s.Initially(goal=goal):
                    yield f"query(({print_term(goal)}))."
                case s.Var() | s.Const() | s.Compound() | s.ListTerm():
                    yield f"query(({print_term(item)}))."
                case _:
                    yield print_item(item)

    async def _ask(self, line: str) -> s.Term | None:
        """Send a line, and return the answer to it; Ctrl-C waits no longer."""
        if self._listening.done():
            return None
        with suppress(ConnectionError):
            await self._connection.send(f"{line}\n")
        waiting = asyncio.ensure_future(self._heard.get())
        with _interrupting(waiting):
            try:
                return await waiting
            except asyncio.CancelledError:
                if not waiting.cancelled():
                    raise
                self._dropped += 1
                return s.Const("stopped")

    async def _listen(self) -> None:
        """Take what comes: answers for who waits, matches at once."""
        reader = ClauseReader()
        while text := await self._connection.receive():
            for clause in reader.feed(text):
                self._hear(parse_term(clause, NAME))
        self._heard.put_nowait(None)

    def _hear(self, term: s.Term) -> None:
        match term:
            case s.Compound(name="match" | "retracted" as word, args=(atom, s.ListTerm(items=(start, end)))):
                taken_back = "retracted " if word == "retracted" else ""
                self._write_behind(f"{taken_back}{print_term(atom)} [{write_moment(start)}, {write_moment(end)}]\n")
            case s.Compound(name="gap", args=(first,)):
                self._write_behind(f"matches before number {print_term(first)} are no longer kept\n")
            case s.Compound(name="end", args=(engine,)):
                self._write_behind(f"the engine {print_term(engine)} has ended\n")
            case _ if self._dropped:
                self._dropped -= 1
            case _:
                self._is_told = False
                self._heard.put_nowait(term)

    def _write_behind(self, line: str) -> None:
        """Write what came by itself, behind the answer that came before it."""
        if self._is_told:
            self.write(line)
        else:
            self._held.append(line)

    def _release(self) -> None:
        """Write what came behind an answer that is written now."""
        self._is_told = True
        while self._held:
            self.write(self._held.pop(0))

    # answers

    def _tell(self, term: s.Term | None) -> None:
        match term:
            case None:
                self.is_over = True
                self._refuse(_GONE)
            case s.Compound(name="answer", args=(s.ListTerm(items=rows), *_)):
                self._more.extend(map(write_row, rows))
                self.write(self._more.popleft() if self._more else "false.\n")
            case s.Compound(name="answer", args=(text,)):
                self.write(f"{to_ground(text)}\n")
            case s.Compound(name="error", args=(code, text)):
                message, _, hint = str(to_ground(text)).partition("; ")
                self._refuse(Problem(str(to_ground(code)), message, hint=hint or None))
            case _:
                self.write(f"{print_term(term)}.\n")

    def _refuse(self, *problems: Problem) -> None:
        self.errors += problems
        for problem in problems:
            self.write(f"{problem}\n")


def write_row(row: s.Term) -> str:
    """Write an answer, a list of what variables are.

    >>> write_row(parse_term("['X'=1, 'Y'='b c']")), write_row(parse_term("[]"))
    ("X = 1, Y = 'b c'\\n", 'true.\\n')
    """
    items = row.items if isinstance(row, s.ListTerm) else ()
    pairs = [f"{item.args[0].value} = {print_value(item.args[1])}" for item in items
             if isinstance(item, s.Compound) and isinstance(item.args[0], s.Const)]  # fmt: skip
    return f"{', '.join(pairs) or 'true.'}\n"


def print_value(term: s.Term) -> str:
    """Write a value as the console does."""
    value = ground(term)
    return print_term(term) if value is None else format_value(value)


def write_moment(term: s.Term) -> str:
    """Write a time: a date if it is one of our days, else seconds.

    >>> write_moment(parse_term("120.5")), write_moment(parse_term("1772442000"))
    ('120.5', '2026-03-02T09:00:00Z')
    """
    time = to_time(to_ground(term))
    return to_iso(time) if max(DATES_FROM, EARLIEST) <= time <= LATEST else show_moment(time)


@contextmanager
def _interrupting(waiting: asyncio.Future[s.Term | None]) -> Iterator[None]:
    """Let Ctrl-C end the waiting."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, waiting.cancel)
    except (NotImplementedError, RuntimeError, ValueError):  # no such signals here, or not the main thread
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@asynccontextmanager
async def connect(url: str, token: str | None, write: Callable[[str], None]) -> AsyncIterator[RemoteConsole]:
    """Connect with a service, and begin to listen."""
    async with open_connection(url, token) as connection:
        console = RemoteConsole(connection, write)
        try:
            await console.begin(token if url.startswith("tcp:") or "://" not in url else None, engine_of(url))
            yield console
        finally:
            await console.close()
