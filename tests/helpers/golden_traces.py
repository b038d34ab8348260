"""Golden traces: what the original engine did on small programs (tests/golden) -> what ours does on the same input.

Stamps keep their order: second and counter become seconds and microseconds; pauses and events without a stamp go by a
simulated clock. Events that come late are put in order first (definition 6.1), and then steps do not compare.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import etalis
from etalis.data.values import Struct
from etalis.errors import EtalisError, Problem
from etalis.language.rules import events_in
from etalis.temporal.event import Event, Retraction
from etalis.temporal.interval import MICROSECONDS, to_seconds, to_time
from helpers.cases import read_value

TRACES = Path(__file__).parents[1] / "golden"
TICK = 1_000  # what an event moves the simulated clock by
WITHOUT_MEANING = frozenset({"binarization_flag"})  # how the original compiles, not what a program means

Fired = tuple[int | None, Event]  # the step it came in (None: steps are not comparable), and what came


@dataclass(frozen=True, slots=True)
class Trace:
    """One recorded program with its input and what the original engine answered."""

    id: str
    policy: str
    flags: Mapping[str, Any]
    program: str
    inputs: tuple[Mapping[str, Any], ...]
    derived: tuple[Fired, ...]
    declarative: frozenset[Event] | None
    times: tuple[tuple[int, int], ...] = field(repr=False)
    printed: str = field(repr=False, default="")

    @property
    def is_ordered(self) -> bool:
        """Tell whether events come in order of their ends."""
        return _is_ordered(self.inputs, self.times)

    @property
    def is_plain(self) -> bool:
        """Tell whether the input is nothing but events: a finite stream, with a meaning of its own."""
        return all(step["op"] == "event" for step in self.inputs)

    @property
    def events(self) -> list[Event]:
        """The input's events in order of delivery."""
        pairs = zip(self.inputs, self.times, strict=True)
        return [read_atom(step["term"], *times) for step, times in pairs if step["op"] == "event"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What our engine did with a trace's input: events, errors of conditions, and what refused the program."""

    fired: tuple[Fired, ...] = ()
    errors: tuple[str, ...] = ()
    refused: EtalisError | None = None
    printed: str = ""

    @property
    def is_later(self) -> bool:
        """Tell whether something is missing that another version will have: a flag, or a predicate that we lack."""
        if self.refused is not None:
            return any(problem.code == "E207" for problem in self.refused.problems)
        return any("is not defined" in error for error in self.errors)


# reading


def all_traces(root: Path = TRACES) -> list[Trace]:
    """Read every trace, in order of file."""
    return [trace for path in sorted(root.glob("*.json")) for trace in read_traces(path)]


def read_traces(path: Path) -> list[Trace]:
    """Read the traces of a file."""
    return [_read(case) for case in json.loads(path.read_text(encoding="utf-8"))["cases"]]


def _read(case: Mapping[str, Any]) -> Trace:
    times = tuple(_times(case["inputs"]))
    ordered = _is_ordered(case["inputs"], times)
    model = case["declarative"]
    return Trace(
        id=case["id"],
        policy=case["policy"],
        flags=MappingProxyType(case["flags"]),
        program=case["program"],
        inputs=tuple(case["inputs"]),
        derived=tuple((row["step"] if ordered else None, _event(row, times)) for row in case["derived"]),
        declarative=None if model is None else frozenset(_event(row, times) for row in model),
        times=times,
        printed="".join(case.get("stdout", {}).values()),
    )


def _times(inputs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each input; what has no stamp takes the simulated clock's, which a pause moves on."""
    clock = 0
    for step in inputs:
        match step:
            case {"t": [start, end]} | {"numeric": [start, end]}:
                yield _moment(start), _moment(end)
                clock = max(clock, _moment(end) + TICK)
            case {"op": "sleep", "sec": seconds}:
                clock += to_time(seconds)
                yield clock, clock
            case _:
                yield clock, clock
                clock += TICK


def _moment(stamp: Any) -> int:
    return stamp[0] * MICROSECONDS + stamp[1] if isinstance(stamp, list) else to_time(stamp)


def _is_ordered(inputs: Sequence[Mapping[str, Any]], times: Sequence[tuple[int, int]]) -> bool:
    ends = [end for step, (_, end) in zip(inputs, times, strict=True) if step["op"] == "event"]
    return ends == sorted(ends)


def _event(row: Mapping[str, Any], times: Sequence[tuple[int, int]]) -> Event:
    """Read an event that the original derived; one stamped by its clock has the time of the input it names."""
    start = times[row["start_input"]][0] if row["start"] is None else _moment(row["start"])
    end = times[row["end_input"]][1] if row["end"] is None else _moment(row["end"])
    return read_atom(row["term"], start, end)


_VARIABLE = re.compile(r"(?<![\w'])([A-Z]\w*)")


def read_atom(text: str, start: int, end: int) -> Event:
    """Read an atom as an event; a variable left in it is an atom of its name, which nothing we derive equals.

    >>> read_atom("hit(1,A)", 0, 1_000_000)
    hit(1, 'A') [0, 1]
    """
    value = read_value(_VARIABLE.sub(r"'\1'", text))
    name, args = (value.name, value.args) if isinstance(value, Struct) else (value, ())
    return Event.make(name, args, start, end)


# running


def run(trace: Trace, policy: str | None = None) -> Outcome:
    """Run a trace's program on its input; a refusal is an outcome too."""
    try:
        return _run(trace, policy or trace.policy)
    except EtalisError as error:
        return Outcome(refused=error)


def _run(trace: Trace, policy: str) -> Outcome:
    flags = {name: value for name, value in trace.flags.items() if name not in WITHOUT_MEANING}
    program = etalis.compile(trace.program, **flags)
    printed: list[str] = []
    run = _Run(program, program.engine(policy=policy, output=printed.append), policy)
    fired: list[Fired] = []
    for number in _order(trace):
        step, (start, end) = trace.inputs[number], trace.times[number]
        taken = [_as_recorded(event, start, end) for event in run.take(step, start, end)]
        fired += [(number if trace.is_ordered else None, event) for event in taken]
    if program.compiled.settings.lateness is not None:
        fired += [(_step_of(trace, event), event) for event in run.engine.close()]
    return Outcome(tuple(fired), tuple(map(str, run.engine.errors)), printed="".join(printed))


def _as_recorded(event: Event, start: int, end: int) -> Event:
    """Write a retraction as the original does: an event `rev(..)` at the moment of the correction."""
    if not isinstance(event, Retraction):
        return event
    return Event.make("rev", (Struct(event.name, event.args) if event.args else event.name,), start, end)


def _step_of(trace: Trace, event: Event) -> int | None:
    """Return the step that an event which was held until the end belongs to: the input that it ends with."""
    return [end for _, end in trace.times].index(event.end_time) if trace.is_ordered else None


def _order(trace: Trace) -> list[int]:
    """Return the numbers of the inputs as they are delivered or, where some come late, in order of (end, start).

    With `out_of_order` on the engine itself puts them in order.
    """
    numbers = range(len(trace.inputs))
    if trace.is_ordered or trace.flags.get("out_of_order") == "on":
        return list(numbers)
    assert trace.is_plain, "a late event among other operations has no place"
    return sorted(numbers, key=lambda n: trace.times[n][::-1])


@dataclass(slots=True)
class _Run:
    """An engine and what an operation of a trace does to it."""

    program: etalis.Program
    engine: etalis.Engine
    policy: str

    def take(self, step: Mapping[str, Any], start: int, end: int) -> list[Event]:
        """Do one operation; return what it caused."""
        match step["op"]:
            case "event":
                event = read_atom(step["term"], start, end)
                return self.engine.push(event.name, *event.args, at=(event.start, event.end))
            case "sleep":
                # The pause ends just before the clock's new moment: an event may still come then.
                return self.engine.advance(to=to_seconds(end - 1))
            case "call":
                call(self, step["goal"])
                return []
        raise ValueError(f"unknown operation {step['op']}")

    def reset(self) -> None:
        """Forget all that waits."""
        self.engine = self.program.engine(policy=self.policy)

    def clear(self) -> None:
        """Forget all that waits, and all rules."""
        self.reset()
        for number in range(len(self.program.compiled.rules)):
            self.engine.delete_rule(self.program.compiled.rules[number].label or str(number + 1))


def _insert(run: _Run, rule: str) -> None:
    run.engine.insert_rule(rule)


def _delete(run: _Run, rule: str) -> None:
    run.engine.delete_rule(rule)


def _delete_listening(run: _Run, name: str) -> None:
    """Delete the rules that an event of this name can trigger."""
    for rule in run.program.compiled.rules:
        if any(event.name == name for event in events_in(rule.pattern)):
            run.engine.delete_rule(rule)


def _ask(run: _Run, goal: str) -> None:
    run.engine.query(goal)


def _do_nothing(_: _Run) -> None:
    """What waits is dropped as soon as nothing can use it, so there is no garbage to be asked for."""


CALLS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        r"ins_event_rule\(\((.*)\)\)": _insert,
        r"del_event_rule\(\(?(.*?)\)?\)": _delete,
        r"del_all_event_rules\(event\((\w+).*\)": _delete_listening,
        r"reset_etalis_state|reset_db": _Run.reset,
        r"reset_etalis": _Run.clear,
        r"call_gc": _do_nothing,
        r"(\(justify_event\(.*\))": _ask,
    }
)


def call(run: _Run, goal: str) -> None:
    """Do what a goal of the original asks for, by our API."""
    for shape, action in CALLS.items():
        if found := re.fullmatch(shape, goal):
            action(run, *found.groups())
            return
    raise EtalisError(Problem("E207", f"the goal {goal} has no counterpart yet"))
