"""The commands of the console as a table: how they are written, what they do, and the function that does it.

Help, completion and dispatch read it. What is no command is a goal. Names of the manual stand beside ours (003,
sections 2.3, 4.1 and 5.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from etalis.data.values import Value, format_value
from etalis.errors import InputError, Problem, ProgramError
from etalis.formats.terms import to_ground, to_moment, to_moments
from etalis.language.flags import FLAGS
from etalis.language.ground_terms import variables
from etalis.language.printer import print_item, print_term
from etalis.language.read.parser import parse_rule
from etalis.language.syntax import Compound, Const, ListTerm, Term
from etalis.pictures.paint.terminal import paint_lines
from etalis.pictures.scenes.stream import draw_stream
from etalis.plan.explain.text import write_text
from etalis.runtime.reporting.inspection import Waiting, explain_running
from etalis.shell.workspace import Workspace
from etalis.temporal.event import Event
from etalis.why.partial import PartialMatch

SHOWN = 100  # lines of the history, and rows of what waits
WIDTH = 100
SUFFIXES = ("", ".etalis", ".event", ".events")
Said = str | Iterable[str] | None  # what a command says, whole or in pieces


class Leave(Exception):  # noqa: N818  no error
    """The console is to end."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its names, the first one ours, how it is written, what it does, and what does it by arity."""

    names: tuple[str, ...]
    usage: str
    meaning: str
    does: Mapping[int, Callable[..., Said]]


# events and time


def take_event(on: Workspace, atom: Term, time: Term | None = None) -> Said:
    """Push an event, and tell what it causes."""
    free = variables(atom)
    if free:
        hint = "give every attribute a value"
        raise ProgramError(Problem("E113", "an event that occurs has no variables", atom.span, hint))
    return shown(on.push(print_term(atom), None if time is None else to_moments(time)))


def shown(events: Iterable[Event]) -> Iterator[str]:
    """Write events, a line for each."""
    return (f"{event}\n" for event in events)


def run_file(on: Workspace, name: Term) -> Said:
    """Take the events of a file."""
    return shown(on.run(find_file(name)))


def advance(on: Workspace, time: Term) -> Said:
    """Let time pass."""
    return shown(on.advance(to_moment(time)))


def tell_time(on: Workspace) -> Said:
    """Tell the time reached."""
    return "no event has come\n" if on.engine.now is None else f"{on.wording.moment(on.last)}\n"


# the program


def load(on: Workspace, name: Term) -> str:
    """Add a file to the program."""
    path = find_file(name)
    on.load(path)
    return f"{path}: {count(sum(1 for _ in on.rules()), 'rule')} in the program now, the engine is new\n"


def insert_rule(on: Workspace, rule: Term) -> Said:
    """Add a rule that is given as a term or as text."""
    text = str(rule.value) if isinstance(rule, Const) else print_term(rule)
    return f"rule {on.insert(parse_rule(text, '<console>'))}\n"


def delete_rule(on: Workspace, label: Term) -> Said:
    """Remove the rules of a label."""
    return f"{count(on.forget(str(to_ground(label))), 'rule')} removed\n"


def list_rules(on: Workspace) -> Said:
    """List the rules that run."""
    found = [f"{label:>4}  {print_item(rule)}\n" for label, rule in on.rules()]
    return found or "there are no rules; type one: c(X) <- a(X) seq b(X).\n"


def set_flag(on: Workspace, name: Term, value: Term) -> Said:
    """Set a flag."""
    had = on.has_begun
    on.set_flag(str(to_ground(name)), to_ground(value))
    return "the engine is new: what waited is dropped\n" if had else None


def list_flags(on: Workspace) -> Said:
    """List the flags and their values."""
    given: dict[str, Value] = {}
    for item in on.program.compiled.tree.items:
        if type(item).__name__ == "SetFlag":
            given[item.name] = to_ground(item.value)  # type: ignore[union-attr]
    given |= on.flags
    return [f"{'*' if name in given else ' '} {name} = {format_value(given.get(name, row.default))}\n"
            for name, row in FLAGS.items()]  # fmt: skip


def explain(on: Workspace) -> Said:
    """Show the plan of the rules that run."""
    return f"{write_text(explain_running(on.engine.core.rules))}\n"


# questions


def why(on: Workspace, question: Term | None = None, time: Term | None = None) -> Said:
    """Say why an event occurred: the latest match, or one that fits a pattern."""
    if question is None:
        if not on.matches:
            return "nothing has been detected yet\n"
        return f"{on.engine.justify(on.matches[-1])}\n"
    return f"{on.engine.justify(print_term(question), **when(time, 'interval'))}\n"


def why_not(on: Workspace, question: Term, time: Term | None = None) -> Said:
    """Say why an event did not occur."""
    return f"{on.engine.why_not(print_term(question), **when(time, 'between'))}\n"


def when(time: Term | None, pair: str) -> dict[str, Any]:
    """Return the time of a question: a moment, or a pair of them."""
    if time is None:
        return {}
    found = to_moments(time)
    return {pair if isinstance(found, tuple) else "at": found}


def list_waiting(on: Workspace, rule: Term | None = None) -> Said:
    """List the patterns that have begun."""
    found = on.engine.partial(None if rule is None else str(to_ground(rule)), limit=SHOWN)
    more = len(found) - len(found.rows)
    said = [line for row in found for line in _begun(on, row)]
    return [*said, *([f"and {more} more\n"] if more else [])] or "no pattern has begun\n"


def _begun(on: Workspace, row: PartialMatch) -> Iterator[str]:
    until = "" if row.until is None else f", until {on.moment(row.until)}"
    yield f"rule {row.rule}, {round(100 * row.share)} %{until}\n"
    yield f"  there    {', '.join(row.present)}\n"
    yield f"  awaited  {', '.join(row.awaited)}\n" if row.awaited else ""
    yield f"  open     {', '.join(row.open)}\n" if row.open else ""


def list_state(on: Workspace) -> Said:
    """List what the operators hold."""
    return [_held(row) for row in on.engine.state() if row.instances] or "nothing waits\n"


def _held(row: Waiting) -> str:
    labels = ", ".join(row.rules) or "program"
    return f"{labels}: {row.operator} {row.part}: {row.instances:,} instances, {row.bytes:,} bytes\n"


def list_history(on: Workspace) -> Said:
    """List what came and what was detected, in order of time."""
    found = on.history()
    left = len(found) - SHOWN
    rows = [f"{'in ' if received else 'out'}  {event}\n" for received, event in found[-SHOWN:]]
    return [*([f"... {left:,} before\n"] if left > 0 else []), *rows] or "nothing has happened yet\n"


def draw_timeline(on: Workspace) -> Said:
    """Draw what came and what was detected over time."""
    found = on.history()
    if not found:
        return "nothing has happened yet\n"
    scene = draw_stream(*([e for r, e in found if r is side] for side in (True, False)), dates=on.wording.dates)
    return [f"{line.text}\n" for line in paint_lines(scene, width=WIDTH)]


def reset(on: Workspace) -> Said:
    """Drop all that waits."""
    on.engine.reset()
    return None


def restart(on: Workspace) -> Said:
    """Begin anew."""
    on.restart()
    return None


def leave(_: Workspace) -> Said:
    """End the console."""
    raise Leave


def help_all(_: Workspace) -> Iterator[str]:
    """List the commands."""
    width = max(len(command.usage) for command in COMMANDS)
    yield from (f"{command.usage:<{width}}  {command.meaning}\n" for command in COMMANDS)
    yield "Anything else is a goal, or a rule or clause of the program. help(flags). help(name).\n"


def help_one(_: Workspace, name: Term) -> Said:
    """Say what a command or a flag does."""
    asked = str(to_ground(name))
    for command in COMMANDS:
        if asked in command.names:
            same = ", ".join(command.names[1:])
            return f"{command.usage}  {command.meaning}{f'; also called {same}' if same else ''}\n"
    flag = FLAGS.get(asked)
    if flag is not None:
        return f"{flag.name}: {flag.meaning}; {' | '.join(flag.words) or flag.number}, without it {flag.default}\n"
    raise InputError(Problem("E343", f"there is no command or flag {asked}", hint="help. lists the commands"))


# files


def find_file(name: Term) -> Path:
    """Return the file that a term names, whose suffix may be missing."""
    given = name.value if isinstance(name, Const) else None
    if not isinstance(given, str):
        hint = "write its name in quotes: 'examples/fraud/fraud.etalis'"
        raise InputError(Problem("E401", "this names no file", name.span, hint))
    for suffix in SUFFIXES:
        path = Path(f"{given}{suffix}").expanduser()
        if path.is_file():
            return path
    raise InputError(Problem("E401", f"there is no file {given}", name.span, "check its name"))


def load_all(on: Workspace, *names: Term) -> Said:
    """Add several files to the program, as `[file, file].` asks."""
    return [load(on, name) for name in names]


def count(number: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


COMMANDS = (
    Command(("event",), "event(a(1), Time).", "an event occurs: at a time, on [Start, End]; without a time now",
            {1: take_event, 2: take_event}),
    Command(("run", "execute_event_stream_file"), "run('file').", "take the events of a file", {1: run_file}),
    Command(("advance",), "advance(Time).", "let time pass up to a moment", {1: advance}),
    Command(("now",), "now.", "the time reached", {0: tell_time}),
    Command(("load", "compile_event_file", "consult"), "load('file').", "add a file of rules", {1: load}),
    Command(("rules",), "rules.", "the rules that run, with their labels", {0: list_rules}),
    Command(("ins_event_rule",), "ins_event_rule((c <- a)).", "add a rule, as typing it does", {1: insert_rule}),
    Command(("del_event_rule", "delete"), "del_event_rule(Label).", "remove the rules of a label", {1: delete_rule}),
    Command(("set_flag", "set_etalis_flag"), "set_flag(Flag, Value).", "set a flag; the engine begins anew",
            {2: set_flag}),
    Command(("flags",), "flags.", "all flags and their values; * are set", {0: list_flags}),
    Command(("explain",), "explain.", "how the rules are run: the plan", {0: explain}),
    Command(("why",), "why(c(X), Time).", "why an event occurred; without arguments the latest match",
            {0: why, 1: why, 2: why}),
    Command(("why_not",), "why_not(c(X), Time).", "why none occurred, in [From, To]", {1: why_not, 2: why_not}),
    Command(("waiting", "partial"), "waiting(Label).", "patterns that have begun, and what they await",
            {0: list_waiting, 1: list_waiting}),
    Command(("state", "seeDB"), "state.", "what the operators hold", {0: list_state}),
    Command(("history",), "history.", "what came and what was detected", {0: list_history}),
    Command(("timeline",), "timeline.", "the same, drawn over time", {0: draw_timeline}),
    Command(("reset_db",), "reset_db.", "drop all that waits; rules and facts stay", {0: reset}),
    Command(("restart", "reset_etalis"), "restart.", "begin anew: no events, facts as the program has them",
            {0: restart}),
    Command(("help",), "help(Name).", "what a command or flag does; without a name all commands",
            {0: help_all, 1: help_one}),
    Command(("halt", "end_of_file", "quit", "exit"), "halt.", "leave; so does Ctrl-D", {0: leave}),
)  # fmt: skip
BY_KEY: Mapping[tuple[str, int], Callable[..., Said]] = MappingProxyType(
    {(name, arity): does for command in COMMANDS for name in command.names for arity, does in command.does.items()}
)


def find_command(term: Term) -> tuple[Callable[..., Said], tuple[Term, ...]] | None:
    """Return what a term asks the console to do, with its arguments; None if it is a goal."""
    match term:
        case Compound(name=name, args=args) if (name, len(args)) in BY_KEY:
            return BY_KEY[name, len(args)], args
        case Const(value=str() as name) if (name, 0) in BY_KEY:
            return BY_KEY[name, 0], ()
        case ListTerm(items=names, tail=None) if names:
            return load_all, names
        case _:
            return None
