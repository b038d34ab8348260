"""What a console works on: a program of files and typed clauses under some flags, and the engine that runs it.

Rules, facts and goals that are typed in change the engine that runs. What changes the program (files, declarations,
flags) begins a new engine; what was typed before is part of the new program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from etalis.data.encodings import decode
from etalis.engine import Engine
from etalis.errors import InputError, Problem, ProgramError
from etalis.language import syntax as s
from etalis.language.check.checks import check_rules, findings, in_order
from etalis.language.read.imports import read_below
from etalis.language.read.modules import resolve
from etalis.language.read.parser import parse_collect
from etalis.program import Program
from etalis.runtime.compiled import compile_tree
from etalis.runtime.core import EngineOptions
from etalis.runtime.record.past_events import PastEvents
from etalis.temporal.event import Event
from etalis.temporal.interval import to_datetime, to_microseconds, to_seconds, to_time
from etalis.temporal.time_input import to_instant, to_interval
from etalis.why.forms.wording import Wording

KEPT = 10_000  # events that the history tells
TICK = 1_000  # between two events of a stream with times of its own, in microseconds
NOT_TOLD = frozenset({"W239"})  # that there are no rules: they may still be typed in


@dataclass(slots=True)
class Workspace:
    """A program, its engine, and what has occurred."""

    tell: Callable[[str], None]  # where warnings, errors of conditions and what goals write go
    now: Callable[[], int]  # the clock on the wall, in microseconds
    policy: str | None = None
    files: dict[Path, s.Tree] = field(default_factory=dict)
    typed: list[s.Item] = field(default_factory=list)
    flags: dict[str, object] = field(default_factory=dict)
    matches: deque[Event] = field(default_factory=lambda: deque(maxlen=KEPT))
    told: set[Problem] = field(default_factory=set)
    by_clock: bool | None = None  # whether time is that of the clock; nobody knows before the first event
    last: int = 0  # the time of the last event, in microseconds
    program: Program = field(init=False)
    engine: Engine = field(init=False)

    def __post_init__(self) -> None:
        self.program, self.engine = self._start(self._tree(), self.flags)

    # the program

    def load(self, path: Path) -> None:
        """Add the clauses of a file, in place of those that it had; the engine begins anew."""
        try:
            text = decode(path.read_bytes(), str(path), None).replace("\r\n", "\n").replace("\r", "\n")
        except OSError as error:
            raise InputError(Problem("E401", f"cannot read {path}: {error.strerror}", hint="check its name")) from None
        program, unread = parse_collect(text, str(path))
        whole, missing = resolve(program, read_below(path.parent))
        if unread or missing:
            raise ProgramError(*in_order([*unread, *missing]))
        self._begin_anew({**self.files, path.resolve(): whole}, self.typed, self.flags)

    def declare(self, item: s.Item) -> None:
        """Add a clause that belongs to a program's text; the engine begins anew."""
        self._begin_anew(self.files, [*self.typed, item], self.flags)

    def set_flag(self, name: str, value: object) -> None:
        """Set a flag; the engine begins anew."""
        self._begin_anew(self.files, self.typed, {**self.flags, name: value})

    def insert(self, rule: s.Rule) -> str:
        """Add a rule to the running engine, return its label."""
        label = self.engine.insert_rule(rule)
        self._warn(check_rules(_joined(self.files, self.typed), [rule]))
        self.typed.append(rule)
        return label

    def forget(self, label: str) -> int:
        """Remove the rules of a label."""
        gone = [rule for found, rule in self.rules() if found == label]
        count = self.engine.delete_rule(label)
        self.typed = [item for item in self.typed if item not in gone]
        return count

    def rules(self) -> Iterator[tuple[str, s.Rule]]:
        """Yield the rules of the engine by label."""
        for planned, rule in self.engine.core.rules.rules:
            if not planned.head.hidden:
                yield planned.head.label, rule

    @property
    def has_begun(self) -> bool:
        """Whether events have come."""
        return self.by_clock is not None

    def _tree(self) -> s.Tree:
        return _joined(self.files, self.typed)

    def _begin_anew(self, files: dict[Path, s.Tree], typed: list[s.Item], flags: dict[str, object]) -> None:
        """Change the program, unless it has errors, and begin a new engine."""
        self.program, self.engine = self._start(_joined(files, typed), flags)
        self.files, self.typed, self.flags = files, typed, flags
        self.forget_past()

    def restart(self) -> None:
        """Begin a new engine for the same program."""
        self.program, self.engine = self._start(self._tree(), self.flags)
        self.forget_past()

    def forget_past(self) -> None:
        """Begin the history anew, and with it the time."""
        self.matches.clear()
        self.by_clock, self.last = None, 0

    def _warn(self, problems: Iterable[Problem]) -> None:
        """Tell warnings, each of them once."""
        for problem in problems:
            if problem.code not in NOT_TOLD and problem not in self.told:
                self.told.add(problem)
                self.tell(f"{problem}\n")

    def _start(self, tree: s.Tree, flags: dict[str, object]) -> tuple[Program, Engine]:
        problems = in_order(findings(tree))
        compiled = compile_tree(tree, problems, flags=flags)
        compiled.name = "<console>"
        program = Program(compiled)
        self._warn(problems)
        options = EngineOptions(
            policy=self.policy,
            clock=lambda: to_datetime(self.now()),
            on_error=lambda error: self.tell(f"{error}\n"),
            output=self.tell,
            on_dead_letter=lambda letter: self.tell(f"{letter.name} was not taken: {letter.reason}\n"),
            justification="full",
        )
        return program, Engine(program, options)

    # events

    def push(self, text: str, at: Any = None) -> tuple[Event, ...]:
        """Take an event, at a time or now; return what it causes.

        The first event says what now is: the clock on the wall, or a millisecond after the last one where events bring
        their times.
        """
        by_clock = at is None if self.by_clock is None else self.by_clock
        if at is None:
            at = to_datetime(max(self.now(), self.last + 1)) if by_clock else to_seconds(self.last + TICK)
        found = self.engine.push_term(text, at=at)
        self.by_clock = by_clock
        self.last = max(self.last, to_interval(at)[1])
        return self._note(found)

    def run(self, path: Path) -> Iterator[Event]:
        """Take the events of a file; yield what they cause."""
        self.by_clock = bool(self.by_clock)
        for event in self.engine.run(path):
            yield from self._note((event,))
        now = self.engine.now
        self.last = self.last if now is None else max(self.last, to_time(now))

    def advance(self, to: Any) -> tuple[Event, ...]:
        """Let time pass up to a moment."""
        found = self.engine.advance(to=to)
        self.by_clock = bool(self.by_clock)
        self.last = max(self.last, to_instant(to))
        return self._note(found)

    def keep_time(self) -> tuple[Event, ...]:
        """Let time pass up to now, if it is that of the clock and something is due."""
        due = self.engine.due
        if not self.by_clock or due is None or to_time(due) > self.now():
            return ()
        return self.advance(to_datetime(max(self.now(), self.last)))

    def _note(self, found: tuple[Event, ...]) -> tuple[Event, ...]:
        self.matches.extend(found)
        return found

    @property
    def wording(self) -> Wording:
        """How times are written: as dates, once a date has come in."""
        return Wording(self.engine.core.inputs.shown.dates)

    def moment(self, seconds: float) -> str:
        """Write a moment that is given in seconds."""
        return self.wording.moment(to_microseconds(seconds))

    def history(self) -> list[tuple[bool, Event]]:
        """Return what was received and what was detected, in order of time; true says that it was received."""
        received = [(True, event) for event in PastEvents(self.engine.core).received]
        for _, event in received:
            event.kind.shown = self.engine.core.inputs.shown
        found = [*received, *((False, event) for event in self.matches)]
        return sorted(found, key=lambda each: (each[1].end_time, not each[0]))


def _joined(files: dict[Path, s.Tree], typed: list[s.Item]) -> s.Tree:
    """Return one program of all files and what was typed."""
    return s.Tree((*(item for tree in files.values() for item in tree.items), *typed))
