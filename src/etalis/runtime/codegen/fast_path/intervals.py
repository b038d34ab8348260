"""Events one by one by a function of their kind: on intervals, beside the generated `push` and `run`, and read before.

What is no instant comes out of the generated text, which reads instants only. If it is an interval in order, of a kind
that rules read, one function per kind, written when the first of its events comes, converts it, lets pass what is due
before its end, and offers it by the function of its kind. All else goes on to the general way. Rows of tables come so,
too, where all rules run event at a time; they have been read and converted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from etalis.data.values import format_atom
from etalis.runtime.codegen.fast_path.inputs import places
from etalis.runtime.codegen.fast_path.matches import Kind
from etalis.runtime.codegen.fast_path.stages import FastPath
from etalis.runtime.thread_guard import alone
from etalis.temporal.event import Event
from etalis.temporal.interval import EARLIEST

Found = tuple[Event, ...]
PAIRS = (tuple, list)


class KindTakers:
    """Takes events by their kind, from and to a moment; converts their attributes where that has not been done."""

    def __init__(self, path: FastPath, *, converts: bool) -> None:
        self.path = path
        self.converts = converts
        self.queue = path.state.queue
        self.reacting = path.state.reacting
        by_name = path.core.inputs.implied if converts else ()  # events whose attributes have no order
        self.kinds = {kind for kind in path.hot if kind[0] not in by_name}
        self.takers: dict[Kind, Callable[..., Found | None]] = {}

    def take(self, kind: Kind, values: Sequence[Any], start: int, end: int, given: Any = None) -> Found | None:
        """Take an event, and return what it causes; None if it is left to the general way."""
        take = self.takers.get(kind)
        if take is None:
            if kind not in self.kinds:
                return None
            take = self.takers[kind] = self._write(kind)
        found = take(*values, start, end, given)
        if found is not None and (self.queue or self.reacting):
            found += self.path.matches.settle()
        return found

    def _write(self, kind: Kind) -> Callable[..., Found | None]:
        """Write the function that takes events of a kind, and returns what was due before; None for the general way."""
        path, rules = self.path, self.path.rules
        source = path.called([*places(kind[1]), "t1", "t", "given"])
        code, process = source.code, rules.processors.get(kind)
        with code.block(f"if {EARLIEST} <= t1 <= t and ({path.comes_next(source)}):"):
            if self.converts:
                path.convert(source, kind)
            path.begin(source)
            if rules.log is not None:
                code(f"{code.constant(rules.log_event)}({code.constant(kind[0])}, {kind[1]}, t1, t)")
            if process is None:
                code(f"{code.constant(rules.evidence.unread)}[{code.constant(kind)}] += 1")
            else:
                rope = [code.rope] if rules.traced else []
                code(f"{code.constant(process)}(({', '.join(['t', 't1', 'None', *places(kind[1]), *rope])}))")
            code(source.done)
        return path.compiler.base.finish(code, f"take {format_atom(kind[0])}/{kind[1]} on an interval")


class Intervals:
    """Takes events on intervals; `push` and `row` take what is none."""

    def __init__(self, path: FastPath, push: Callable[..., Found], row: Callable[[Any], Found]) -> None:
        self.core = path.core
        self.moments = path.moments
        self.general_push, self.general_row = push, row
        self.takers = KindTakers(path, converts=True)

    def push(self, name: Any, /, *args: Any, at: Any = None, **named: Any) -> Found:
        """Take what the generated `push` has left."""
        if type(at) in PAIRS and type(name) is str and not named:
            found = self._take_alone(name, args, at)
            if found is not None:
                return found
        return self.general_push(name, *args, at=at, **named)

    def row(self, given: Any) -> Found:
        """Take a row that the generated `run`, which is inside, has left."""
        if type(given) is tuple and len(given) > 1 and type(given[-1]) in PAIRS and type(given[0]) is str:
            found = self._take(given[0], given[1:-1], given[-1], given)
            if found is not None:
                return found
        return self.general_row(given)

    @alone
    def _take_alone(self, name: str, values: tuple[Any, ...], at: Sequence[Any]) -> Found | None:
        return self._take(name, values, at, None)

    def _take(self, name: str, values: tuple[Any, ...], at: Sequence[Any], given: Any) -> Found | None:
        """Take an event, and return what it causes; None if it is left to the general way."""
        kind = (name, len(values))
        if kind not in self.takers.kinds:
            return None
        interval = self.moments.read_interval(at)
        return None if interval is None else self.takers.take(kind, values, *interval, given)
