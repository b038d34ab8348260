"""How events come into a run: `push` and `run`, which are generated text where that is exact, and the passing of time.

The engine reads no clock: time comes with events, with `advance`, or from the clock it is given. The public class is
`etalis.Engine`, which also asks and changes; the parts of a run are its `core`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import update_wrapper
from itertools import chain
from types import MethodType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from etalis.errors import ConditionError, EtalisError, EventError, InputError
from etalis.runtime.codegen.entry_points import EntryPoints, GeneralPath
from etalis.runtime.codegen.fast_path.intervals import KindTakers
from etalis.runtime.compiled import CompiledProgram
from etalis.runtime.core import Core, EngineOptions
from etalis.runtime.lateness.background import sifted_push, sifted_run
from etalis.runtime.limits.expiry import sweep
from etalis.runtime.limits.limits import guarded_push, guarded_run
from etalis.runtime.reporting.engine_report import make_report, refuse_silence
from etalis.runtime.reporting.report import Report
from etalis.runtime.state import NEVER
from etalis.runtime.thread_guard import alone
from etalis.temporal.event import Event, Retraction
from etalis.temporal.record_columns import ColumnRows
from etalis.temporal.time_input import to_instant

if TYPE_CHECKING:
    from etalis.runtime.snapshot.snapshot import Restored

USUAL = EngineOptions()
F = TypeVar("F", bound=Callable[..., Any])


class Generated:
    """A method that is generated text, where that is exact, from when an engine is first asked for it."""

    def __init__(self, general: Callable[..., Any]) -> None:
        self.general = general

    def __get__(self, engine: RuntimeEngine | None, _owner: type | None = None) -> Callable[..., Any]:
        if engine is None:
            return self.general
        return engine._open_entry(self.general.__name__, MethodType(self.general, engine))


def generated(method: F) -> F:
    """Make a method one that is generated text."""
    return cast("F", Generated(method))


class RuntimeEngine:
    """One run of a program over a stream of events, as back ends use it."""

    def __init__(self, program: CompiledProgram, options: EngineOptions = USUAL) -> None:
        self.core = Core(program, options)
        self.core.reopen = self._open_entries
        self.restored: Restored | None = None
        self._changed: list[bool] = []  # whether the generated `run` is over
        self._entries: EntryPoints | None = None

    def _open_entries(self) -> None:
        """Begin anew: `push` and `run` are generated, where that is exact, when they are next asked for."""
        self._close_entries()
        self._changed = []
        general = GeneralPath(
            self._push, self._take_row, self._push_anew, lambda rows: self._take_rows(rows), self._changed
        )
        self._entries = EntryPoints(self.core, general)

    def _close_entries(self) -> None:
        """End the generated `push` and `run`: the general ones take what comes."""
        self._changed.append(True)
        self._entries = None
        self.__dict__.pop("push", None)
        self.__dict__.pop("_take_rows", None)

    def _open_entry(self, name: str, general: Callable[..., Any]) -> Callable[..., Any]:
        """Return the generated way in of a name and keep it, else the general one; limits are asked before both."""
        core, entries = self.core, self._entries
        if entries is None or core.state.floor >= NEVER:
            return general
        way = WAYS[name]
        entry = way.write(entries) or general
        if core.program.background:
            entry = way.sift(core, entry)
        if core.guard is not None:
            entry = way.guard(core.guard, entry, way.refuse(self))
        if entry is not general:  # with the name, documentation and signature of the general one
            self.__dict__[name] = entry = update_wrapper(entry, general)
        return entry

    @property
    def read_events(self) -> KindTakers | None:
        """What takes events that have been read by generated text, where that is exact."""
        if self._entries is None and not self._changed:
            self._open_entries()
        return None if self._entries is None or self.core.state.floor >= NEVER else self._entries.read_events

    # events

    @generated
    def push(self, name: str | Event, /, *args: Any, at: Any = None, **named: Any) -> tuple[Event, ...]:
        """Take one event and return the complex events it caused, in order.

        `at` is a number of seconds, a datetime, or a pair (start, end) of these. An `Event` brings all of it along.
        What runs is generated text, where that is exact for the program: `engine.code()` shows it.
        """
        return self._push(name, *args, at=at, **named)

    @alone
    def _push(self, name: str | Event, /, *args: Any, at: Any = None, **named: Any) -> tuple[Event, ...]:
        core = self.core
        given = core.inputs.event(name, args, named, at)
        if name.__class__ is Retraction:
            return core.take_back(*given)
        if core.delivery.busy:
            core.delivery.pending.append(given)
            return ()
        found = core.take(*given)
        core.dead_letters.tell_first()
        return found

    @alone
    def push_together(self, events: Iterable[Sequence[Any]], *, at: Any = None) -> tuple[Event, ...]:
        """Take several events of one moment as one arrival, and return the complex events they caused, in order.

        An event is a tuple (name, *attributes). All are offered to the rules, in the order given, before any of them
        replaces what waits (`snoop_recent`), and before what they cause is processed; for `or`, `any` and `iso` they
        are one event. The program has the flag `joint_arrivals`, and takes neither late events nor corrections.
        """
        core = self.core
        core.refuse_joint()
        given = [core.inputs.of_arrival(event, at) for event in events]
        if not given:
            return ()
        if core.guard is not None and core.guard.left <= 0 and not core.guard.admits():
            return tuple(found for each in given for found in core.turn_away(*each))
        if core.guard is not None:
            core.guard.left -= len(given)
        found = core.take_together(given)
        core.dead_letters.tell_first()
        return found

    def _turn_away(self, name: str, /, *args: Any, at: Any = None, **named: Any) -> tuple[Event, ...]:
        """Refuse to take an event."""
        return self.core.turn_away(*self.core.inputs.event(name, args, named, at))

    def _push_anew(self, name: str | Event, /, *args: Any, at: Any = None, **named: Any) -> tuple[Event, ...]:
        """Take an event by a `push` that was kept since before the rules changed; its limits have been asked."""
        is_asked = self.core.guard is not None or bool(self.core.program.background)
        return (self._push if is_asked else self.push)(name, *args, at=at, **named)

    def run(self, rows: Iterable[Any] | Mapping[str, Any]) -> Iterator[Event]:
        """Take many events, yield the complex events they cause; generated text, as `push` is.

        A row is a tuple (name, *attributes, at), an Event, or a dict with `event`, `at` (or `start` and `end`) and the
        attributes, such as `Event.to_dict` makes. A `Retraction` takes an event back. A dict of columns, such as
        `{"event": "a", "x": [1, 2], "at": [0, 1]}`, is the rows of its lists. A row that
        cannot be read is a dead letter where the engine has `on_dead_letter`, otherwise an error. Where nobody takes
        the dead letters, how many there were is logged at the end.
        """
        dead_letters = self.core.dead_letters
        taken = self._take_columns(rows) if isinstance(rows, Mapping) else self._take_rows(rows)
        return chain(taken, dead_letters.report_since(dead_letters.count))

    def _take_columns(self, columns: Mapping[str, Any]) -> Iterator[Event]:
        given = ColumnRows(columns, self.core.inputs.attributes_in_order)

        def take() -> Iterator[Event]:
            try:
                yield from self._take_rows(given.rows)
            except (EventError, InputError) as error:
                found = [replace(p, message=f"row at index {given.place}: {p.message}") for p in error.problems]
                raise type(error)(*found) from None

        return take()

    @generated
    def _take_rows(self, rows: Iterable[Any]) -> Iterator[Event]:
        for row in rows:
            yield from self._take_row(row)

    @alone
    def _take_row(self, row: Any, take: Callable[..., tuple[Event, ...]] | None = None) -> tuple[Event, ...]:
        """Read a row, and take it; one that cannot be read is a dead letter where someone asks for these."""
        core = self.core
        try:
            given = core.inputs.row(row)
        except EtalisError as error:
            if not core.dead_letters.are_handed_on:
                raise
            core.dead_letters.add(*core.inputs.outline(row), error.problems[0].message)
            return ()
        if row.__class__ is not tuple and core.inputs.takes_back(row):
            take = core.take_back
        return (take or core.take)(*given)

    def _refuse_row(self, row: Any) -> tuple[Event, ...]:
        """Refuse to take a row."""
        return self._take_row(row, take=self.core.turn_away)

    # time

    @alone
    def advance(self, *, to: Any) -> tuple[Event, ...]:
        """Say that nothing more will end at or before `to`; return what that settles."""
        return self.core.advance(to_instant(to))

    @alone
    def close(self) -> tuple[Event, ...]:
        """End the stream: all deadlines pass, and nothing more is taken; if strict, refuse rules that never fired."""
        self._close_entries()
        found = self.core.advance(NEVER)
        if self.core.strict:
            refuse_silence(self.core, found)
        return found

    # what there is to know

    @alone
    def waiting(self) -> int:
        """Return how many instances wait in the stores of joins."""
        sweep(self.core.rules, self.core.state.now)
        return self.core.rules.waiting()

    @property
    def errors(self) -> list[ConditionError]:
        """The conditions and actions that raised, the last thousand; `error_count` says how many did."""
        return list(self.core.failures.kept)

    def report(self) -> Report:
        """Say what a person should know of the run so far: events no rule reads, rules that never fired, failures."""
        return make_report(self.core)

    @alone
    def snapshot(self, *, since: bytes | Sequence[bytes] | None = None) -> bytes:
        """Return all that the engine knows, from which `Program.restore` makes an engine that goes on from here.

        With `since`, a snapshot or a snapshot with the deltas after it, only what has changed since the last of them.
        """
        from etalis.runtime.snapshot.snapshot import take_snapshot  # Arrow is loaded where it is needed

        return take_snapshot(self.core, since)


class EntryWay(NamedTuple):
    """A way in: how it is written, and what it is behind where there is background knowledge or a limit."""

    write: Callable[[EntryPoints], Callable[..., Any] | None]
    sift: Callable[[Core, Callable[..., Any]], Callable[..., Any]]
    guard: Callable[..., Callable[..., Any]]
    refuse: Callable[[RuntimeEngine], Callable[..., Any]]


WAYS = {
    "push": EntryWay(EntryPoints.push, sifted_push, guarded_push, lambda engine: engine._turn_away),
    "_take_rows": EntryWay(EntryPoints.run, sifted_run, guarded_run, lambda engine: engine._refuse_row),
}
E = TypeVar("E", bound=RuntimeEngine)


def start_engine(program: CompiledProgram, options: EngineOptions = USUAL) -> RuntimeEngine:
    """Return a fresh engine whose `push` and `run` are generated."""
    program.tell_unknown()
    engine = RuntimeEngine(program, options)
    engine.core.reopen()
    return engine


def restore(start: Callable[[EngineOptions], E], data: Sequence[bytes], options: EngineOptions = USUAL) -> E:
    """Return an engine that goes on from a snapshot and the deltas after it; `start` makes a fresh one."""
    from etalis.runtime.snapshot.file import read_images
    from etalis.runtime.snapshot.snapshot import load_snapshot, read_options

    image = read_images(data)
    engine = start(read_options(image, options))
    engine.restored = load_snapshot(engine.core, image)
    engine.core.reopen()
    return engine
