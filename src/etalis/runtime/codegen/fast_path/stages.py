"""The stages of the fast path: each writes its lines into the function that an input (`inputs`) begins.

Read an event and its time (`times`), check that it is in order, or hold it until it is settled (`hold`), convert its
attributes (`values`), let pass what is due before it, offer it to the leaves, hand out the matches. It does what the
run loop does in general, and leaves to that what it does not fit: an event that is late, or that cannot be read. What
an engine does not use (numbers, history, timers) is not in the text at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any

from etalis.data.values import format_atom
from etalis.errors import EtalisError
from etalis.runtime.codegen.fast_path.choice import choose
from etalis.runtime.codegen.fast_path.inputs import (
    CallInput,
    EventInput,
    MatchOutput,
    PushInput,
    RunInput,
    Taker,
    places,
)
from etalis.runtime.codegen.fast_path.lapse import write_lapse
from etalis.runtime.codegen.fast_path.matches import EventOffer, Kind
from etalis.runtime.codegen.fast_path.records import NamedReader
from etalis.runtime.codegen.fast_path.times import Moments
from etalis.runtime.codegen.fast_path.values import write_conversion
from etalis.runtime.codegen.source import Code
from etalis.runtime.core import Core
from etalis.temporal.interval import LATEST

Log = Callable[[Code, Kind, list[str], str], None]

MOST_NAMES = 16  # that are told apart in one function; of more kinds, each has a function of its own


class FastPath:
    """The stages of the fast path of one engine, where its program is plain enough for it."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.rules = rules = core.rules
        self.compiler = rules.compiler
        self.state = rules.state
        self.interval_takers: Mapping[Kind, Callable[..., Any] | None] | None = None
        self.ahead: int | None = None  # how long after the one before an event may end
        self.goes_on = core.dead_letters.are_handed_on  # behind a row that cannot be read
        self.in_turn = core.disorder is None
        self.passes_time = rules.has_timers
        self.moments = Moments(core.inputs.shown)
        self.matches = EventOffer(rules, core.run_loop, passes_time=self.passes_time)
        self.hot = [kind for kind in self._kinds() if self._is_hot(kind)]
        self.arities = sorted({arity for _, arity in self.hot}, key=self._count_leaves)  # the most read first
        self.in_one = len(self.hot) <= MOST_NAMES
        self.records = NamedReader(core.inputs, self.hot, in_line=self.in_one)

    def _kinds(self) -> list[Kind]:
        """Return the kinds that rules read and, if unread ones are only counted, those that are declared."""
        declared = [(name, len(signature)) for name, signature in self.rules.program.signatures.items()]
        return list(dict.fromkeys([*self.rules.processors, *(declared if self.counts_unread else ())]))

    def _count_leaves(self, arity: int) -> tuple[int, int]:
        return -sum(len(leaves) for (_, number), leaves in self.matches.leaves.items() if number == arity), arity

    def _is_hot(self, kind: Kind) -> bool:
        """Tell whether events of a kind can be read here: as they are declared, in order or at least by name."""
        signature = self.rules.program.signatures.get(kind[0])
        if signature is not None and len(signature) != kind[1]:
            return False
        return self.in_turn or kind[0] not in self.rules.program.implied

    @property
    def counts_unread(self) -> bool:
        """Whether an event that no rule reads is counted, and no more than noted for what it may disturb."""
        return self.in_turn and not self.core.strict

    def is_plain(self) -> bool:
        """Tell whether the fast path is exact for this rule set."""
        return bool(self.hot) and (self.in_turn or not self.rules.numbered) and not self.rules.acts

    def write(self, source: EventInput, what: str, stage: Callable[[EventInput], None]) -> Callable[..., Any]:
        """Write a function that reads events and takes them by a stage."""
        self.moments.begin(source.code)
        with source.events(self.arities, partial(self._take_other, source) if self.counts_unread else None):
            stage(source)
        return self.compiler.base.finish(source.code, what)

    # events in order

    def take_in_order(self, source: EventInput, log: Log | None) -> None:
        """Write that events in order are taken at once; `log` writes how history is kept."""
        for number, arity in enumerate(self.arities):
            with source.of_arity(number, arity), self._in_order(source, arity):
                if self.in_one:
                    self.by_kind(source, arity, lambda kind: self._take(source, kind, log))
                else:
                    self._take_apart(source, arity, log)
                if self.counts_unread:
                    self._count_unread(source, f"({''.join(f'{x}, ' for x in places(arity))})", arity)

    def _take_other(self, source: EventInput, values: str) -> None:
        """Write what is done with an event that has another number of attributes than all kinds that are read."""
        with self._in_order(source):
            self._count_unread(source, values)

    @contextmanager
    def _in_order(self, source: EventInput, arity: int | None = None) -> Iterator[None]:
        """Begin the block for events that come in order; what is due before them is no reason for the general way.

        Those of so many attributes that come on intervals are taken before by the functions of their kinds.
        """
        take = None if arity is None or self.interval_takers is None else partial(self._take_interval, source, arity)
        self.moments.write(source.code, take)
        with source.code.block(f"if {self.comes_next(source)}:"):
            yield

    def _take_interval(self, source: EventInput, arity: int) -> None:
        """Write that the function of an event's kind takes it, unless it leaves it to the general way."""
        code = source.code
        take = f"(take := {code.constant(self.interval_takers)}[name, {arity}]) is not None"
        with code.block(f"if type(name) is str and {take}:"):
            code.add(source.taken_by(f"take({', '.join([*places(arity), 'at', source.given])})"))

    def comes_next(self, source: Taker) -> str:
        """Return the test whether `t` is in order, and no reason for the general way."""
        code, clock = source.code, source.clock
        near = "" if self.ahead is None else f" and t - {clock} <= {self.ahead}"
        later = "" if self.rules.ticks else f"(t > {clock} and t <= {LATEST}{near}) or "  # a chain takes longer
        return f"{later}(t == {clock} and t > {code.constant(self.state)}.floor)"

    def by_kind(self, output: MatchOutput, arity: int, write: Callable[[Kind], None]) -> None:
        """Write what is done with events of each kind of so many attributes."""
        labels = self.records.labels
        kinds = [kind for kind in self.hot if kind[1] == arity]
        choose(output.code, "name", [(labels.get(kind[0], kind[0]), partial(write, kind)) for kind in kinds])

    def _take(self, source: Taker, kind: Kind, log: Log | None) -> None:
        """Write what is done with an event in order."""
        self.convert(source, kind)
        self.begin(source)
        if log is not None:
            log(source.code, kind, places(kind[1]), "t")
            if self.rules.traced and not self.in_turn:  # the number is the place in the history of corrections
                source.code(f"{source.code.constant(self.state)}.number = n")
                source.code.rope = "n"
        if not isinstance(source, CallInput):
            self.matches.write(source, kind)
            return
        self.matches.offer(source.code, kind)
        source.code(source.done)

    def _take_apart(self, source: EventInput, arity: int, log: Log | None) -> None:
        """Write that the function of an event's kind takes it."""
        code, takers = source.code, {}
        for kind in self.hot:
            if kind[1] == arity:
                takers[self.records.labels.get(kind[0], kind[0])] = self._taker(kind, log)
        with code.block("try:"):
            code(f"take = {code.constant(takers.get)}(name)")
        with code.block("except TypeError:"):  # no name at all
            code("take = None")
        with code.block("if take is not None:"):
            code(f"found = take({', '.join([*places(arity), 't', source.given])})")
            with code.block("if found is None:"):
                source.otherwise()
            with code.block(f"if found or {code.constant(self.state.queue)}{self.matches.more(code)}:"):
                code.add(source.all_of(f"found + {code.constant(self.matches.settle)}()"))
            code(source.done)

    def _taker(self, kind: Kind, log: Log | None) -> Callable[..., Any]:
        """Return the function that takes the events of a kind, written once while the rules that read them stay."""
        base, key = self.compiler.base, (self.goes_on, self.matches.are_few)
        kept = self.compiler.takers.setdefault(kind, {})
        if key in kept and log is None and not self.passes_time:
            function, text = kept[key]
            base.sources.append(text)
            return function
        taker = self.called([*places(kind[1]), "t", "given"])
        self._take(taker, kind, log)
        function = base.finish(taker.code, f"take {format_atom(kind[0])}/{kind[1]}")
        if log is None and not self.passes_time:
            kept[key] = function, base.sources[-1]
        return function

    def begin(self, source: Taker) -> None:
        """Write that time reaches an event, after all that is due before it, and that the event gets its numbers."""
        code, state = source.code, source.code.constant(self.state)
        if self.passes_time:
            code("due = ()")
            with code.block(f"if t > {code.constant(self.state.timers)}.due:"):
                code.add([f"{source.kept} = {source.clock}"] if source.kept != source.clock else [])
                code(f"due = {code.constant(self.lapse)}(t)")
        for clock in dict.fromkeys([source.clock, *([] if self.in_turn else [source.kept])]):
            code(f"{clock} = t")
        if self.rules.traced and self.in_turn:
            is_local = isinstance(source, RunInput) and source.count
            code("number += 1" if is_local else f"{state}.number = number = {state}.number + 1")
            code.rope = "number"
        if self.rules.numbered:
            code(f"{state}.current += 1")

    def _count_unread(self, source: Taker, values: str, arity: int | None = None) -> None:
        """Write that an event of a kind that no rule reads is counted, if its attributes are plain.

        Where their number is known each is looked at for itself, which is faster than a loop.
        """
        code = source.code
        if isinstance(source, PushInput):  # what a function refers to costs at every call
            with code.block(f"if (found := {code.constant(self.take_unread)}(name, {values}, t)) is not None:"):
                code("return found")
            return
        names, number = self.rules.evidence.unread_names, f"len({values})" if arity is None else arity
        signatures = code.constant(self.rules.program.signatures)
        with code.block(f"if type(name) is str and name not in {signatures}:"):
            if arity is None:
                with code.block(f"for x in {values}:"), code.block(f"if not {_is_plain('x')}:"):
                    code("break")
                after = "else:"
            else:
                after = f"if {' and '.join(map(_is_plain, places(arity))) or 'True'}:"
            with code.block(after):
                self.begin(source)
                if self.rules.log is not None:
                    code(f"{code.constant(self.rules.log_event)}(name, {number}, t, t)")
                counts = f"{code.constant(names)}[{number}]" if arity is None else code.constant(names[arity])
                code(f"{counts}[name] += 1")
                if self.passes_time and not isinstance(source, CallInput):
                    with code.block("if due:"):
                        code.add(source.all_of("due"))
                code(source.done)

    @cached_property
    def lapse(self) -> Callable[[int], Any]:
        """The function that lets pass what is due before an event."""
        return write_lapse(self.rules, self.core.run_loop, self.matches)

    @cached_property
    def take_unread(self) -> Callable[..., Any]:
        """The function that counts an event which no rule reads."""
        source = self.called(["name", "values", "t"])
        self._count_unread(source, "values")
        return self.compiler.base.finish(source.code, "unread")

    def called(self, parameters: list[str]) -> CallInput:
        """Return the input of a function that takes events for another one."""
        return CallInput(parameters, self.state, "due" if self.passes_time else "()")

    # attributes

    def convert(self, source: Taker, kind: Kind) -> None:
        """Write the conversion of attributes, and what is done with an event that cannot be read."""
        code, signature = source.code, self.rules.program.signatures.get(kind[0], ())
        plain = self._plain_floats(kind) if self.in_turn else ()
        write = partial(write_conversion, code, kind[0], signature, places(kind[1]), source.given, plain)
        if not self.goes_on:
            write()
            return
        with code.block("try:"):
            write()
        with code.block(f"except {code.constant(EtalisError)}:"):
            source.otherwise()

    def _plain_floats(self, kind: Kind) -> list[int]:
        """Return the places at which nothing that reads a kind needs to tell a float from an integer."""
        if kind in self.rules.learned or kind in self.rules.spied:
            return []
        return [place for place in range(kind[1]) if self.compiler.base.floats.fit(kind, place)]


def _is_plain(x: str) -> str:
    """Return the test that a value given from outside is one of the language as it is."""
    return f"(type({x}) is str or type({x}) is int or (type({x}) is float and {x} == {x}))"
