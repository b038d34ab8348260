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
from etalis.runtime.codegen.source import Code
from etalis.runtime.thread_guard import alone
from etalis.temporal.event import Event
from etalis.temporal.interval import EARLIEST

Found = tuple[Event, ...]
Take = Callable[..., Found | None]
PAIRS = (tuple, list)


class KindTakers(dict[Kind, Take | None]):
    """What takes the events of a kind, from and to a moment, and returns what they cause; None for the general way.

    Where it `reads` them, `at` and attributes are converted.
    """

    def __init__(self, path: FastPath, *, reads: bool) -> None:
        super().__init__()
        self.path = path
        self.reads = reads
        by_name = path.core.inputs.implied if reads else ()  # events whose attributes have no order
        self.kinds = {kind for kind in path.hot if kind[0] not in by_name}

    def __missing__(self, kind: Kind) -> Take | None:
        if kind not in self.kinds:
            return None
        take = self[kind] = self._write(kind)
        return take

    def _write(self, kind: Kind) -> Take:
        """Write the function that takes events of a kind, and returns None for the general way."""
        path, rules = self.path, self.path.rules
        source = path.called([*places(kind[1]), *(["at"] if self.reads else ["t1", "t"]), "given"])
        code, process = source.code, rules.processors.get(kind)
        if self.reads:
            path.moments.write_interval(code)
        with code.block(f"if {EARLIEST} <= t1 <= t and ({path.comes_next(source)}):"):
            if self.reads:
                path.convert(source, kind)
            path.begin(source)
            if rules.log is not None:
                code(f"{code.constant(rules.log_event)}({code.constant(kind[0])}, {kind[1]}, t1, t)")
            if process is None:
                code(f"{code.constant(rules.evidence.unread_names[kind[1]])}[{code.constant(kind[0])}] += 1")
            else:
                self._offer(code, kind, process)
                queue, reacting = code.constant(path.state.queue), code.constant(path.state.reacting)
                due = "due + " if path.passes_time else ""
                code(f"if {queue} or {reacting}: return {due}{code.constant(path.matches.settle)}()")
            code(source.done)
        return path.compiler.base.finish(code, f"take {format_atom(kind[0])}/{kind[1]} on an interval")

    def _offer(self, code: Code, kind: Kind, process: Callable[[Any], None]) -> None:
        """Write that an event is offered to the leaves of its kind, in line where these are few."""
        if self.path.rules.log is None and self.path.matches.is_written(kind):
            self.path.matches.offer(code, kind, t1="t1")
            return
        rope = [code.rope] if self.path.rules.traced else []
        code(f"{code.constant(process)}(({', '.join(['t', 't1', 'None', *places(kind[1]), *rope])}))")


class Intervals:
    """Takes events on intervals; `push` and `row` take what is none."""

    def __init__(self, path: FastPath, push: Callable[..., Found], row: Callable[[Any], Found]) -> None:
        self.core = path.core
        self.general_push, self.general_row = push, row
        self.takers = KindTakers(path, reads=True)

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
            take = self.takers[given[0], len(given) - 2]
            found = None if take is None else take(*given[1:], given)
            if found is not None:
                return found
        return self.general_row(given)

    @alone
    def _take_alone(self, name: str, values: tuple[Any, ...], at: Sequence[Any]) -> Found | None:
        take = self.takers[name, len(values)]
        return None if take is None else take(*values, at, None)
