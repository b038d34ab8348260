"""Engines as a host has them: one run of a program over a stream of events, and what may be asked and changed.

`push`, `run`, `advance` and `close` are in `runtime/engine.py`, questions in `asked_engine.py`; the parts that all of
this works on are `engine.core`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, overload

from etalis.asked_engine import AskedEngine
from etalis.data.values import to_value
from etalis.errors import InputError, OptionError, Problem
from etalis.language.ground_terms import ground
from etalis.language.read.parser import parse_event
from etalis.language.syntax import Const, Property, Rule
from etalis.logic.knowledge.loaders import LoadedRows, load_rows
from etalis.logic.machine.database import Key
from etalis.logic.machine.machine import Code, Frame, Machine
from etalis.logic.rdf.load import RdfOptions
from etalis.logic.terms.unify import from_value
from etalis.reactive.effects.ledger import Settled
from etalis.reactive.effects.transaction import Transaction
from etalis.runtime.changes import Change
from etalis.runtime.core import Ahead, Core, EngineOptions
from etalis.runtime.delivery import Callback
from etalis.runtime.engine import USUAL, WAYS
from etalis.runtime.knowledge import solutions, solutions_at
from etalis.runtime.lateness.watermark import DeadLetter
from etalis.runtime.limits.circuit_breaker import Broken
from etalis.runtime.limits.limits import Limits
from etalis.runtime.reactions.committing import committer_of, run_in_pieces
from etalis.runtime.reporting.inspection import Waiting, count_stores, explain_running, inspect
from etalis.runtime.reporting.unknown_names import check_reported
from etalis.runtime.reporting.unknown_options import with_options
from etalis.runtime.rule_change.run_time_rules import (
    delete_property,
    delete_rules,
    insert_rule,
    reset,
    set_property,
    spy,
)
from etalis.runtime.state import BEGINNING, NEVER
from etalis.runtime.thread_guard import alone, look_up
from etalis.tables.progress import BATCH, Pace, Tell
from etalis.temporal.event import Event
from etalis.temporal.interval import to_seconds
from etalis.temporal.record_columns import ColumnRows
from etalis.temporal.time_input import to_instant

if TYPE_CHECKING:
    import pyarrow as pa

    from etalis.pictures.picture import Picture
    from etalis.program import Program
    from etalis.runtime.reactions.simulation import Simulation
    from etalis.tables.results.unfinished import Unfinished

C = TypeVar("C", bound=Callback)


def _explaining(core: Core, key: Key) -> Code:
    """Return the code of a goal that tells why an event occurred or did not."""

    def run(machine: Machine, args: tuple[Any, ...], cont: Frame) -> Frame | None:
        from etalis.why.asking.goals import GOALS  # of use where someone asks alone

        return GOALS[key](core, machine, args, cont)

    return run


class Engine(AskedEngine):
    """One run of a program over a stream of events."""

    def __init__(self, program: Program, options: EngineOptions = USUAL) -> None:
        program.compiled.tell_unknown()
        super().__init__(program.compiled, replace(options, goals=_explaining))
        self.program = program
        self._committer = self.core.committer = committer_of(self.core, options.outbox, options.every)
        self.core.reopen()

    def __repr__(self) -> str:
        from etalis.runtime.reporting.display import describe_engine  # of use where a person looks alone

        return describe_engine(self)

    def _repr_html_(self) -> str:
        from etalis.runtime.reporting.display import show_engine

        return show_engine(self, lambda: self.picture().to_svg())

    def push_term(self, text: str, at: Any = None) -> tuple[Event, ...]:
        """Take one event written as a term, such as `a(1, f(x))` or `a(card: c1, amount: 5)`."""
        event = parse_event(text)
        values = [ground(a) for a in event.args]
        if not event.names:
            return self.push(event.name, *values, at=at)
        return self.push(event.name, at=at, **{str(n.value): v for n, v in zip(event.names, values, strict=True)})

    def push_triple(
        self, s: Any, p: Any, o: Any, *, at: Any = None, until: Any = None, graph: Any = None, stream: Any = None
    ) -> tuple[Event, ...]:  # fmt: skip
        """Take one triple of an RDF stream; needs `etalis[rdf]`.

        Terms are those of pyoxigraph, texts in the N-Triples syntax (`<http://x/a>`, `"text"@en`), numbers, truth
        values or dates. A triple of a graph that has been pushed before is one more of its element.
        """
        from etalis.formats.rdf_elements import push_triple

        return push_triple(self, (s, p, o), at, until, graph, stream)

    def push_graph(
        self, text: str, *, at: Any = None, until: Any = None, graph: Any = None, stream: Any = None,
        format: str = "turtle",  # noqa: A002
    ) -> tuple[Event, ...]:  # fmt: skip
        """Take the triples of a text as one element of an RDF stream: Turtle, or `format` ntriples or jsonld.

        The name of the graph, or the id of a `Stamp`, is the id of all of them: `retract` takes them back together.
        """
        from etalis.formats.rdf_elements import push_graph

        return push_graph(self, text, format, at, until, graph, stream)

    @with_options
    def run(
        self, rows: Iterable[Any] | Mapping[str, Any] | str | Path, *, format: str | None = None,  # noqa: A002
        event: str | None = None, time: str | tuple[str, str] | None = None, until: str | None = None, unit: str = "s",
        encoding: str | None = None, stream: str | None = None,
    ) -> Iterator[Event]:  # fmt: skip
        """Take many events, yield the complex events they cause; generated text, as `push` is.

        A row is a tuple (name, *attributes, at), an Event, or a dict with `event`, `at` (or `start` and `end`) and the
        attributes, such as `Event.to_dict` makes. A `Retraction` takes an event back. A dict of columns, such as
        `{"event": "a", "x": [1, 2], "at": [0, 1]}`, is the rows of its lists. A path is a file of events, streams of
        RDF among them: the options say how it is read, `stream` which stream its triples are of. A row that cannot be
        read is a dead letter where the engine has `on_dead_letter`, otherwise an error. Where nobody takes the dead
        letters, how many there were is logged at the end.
        """
        given: dict[str, Any] = {
            "format": format,
            "event": event,
            "time": time,
            "until": until,
            "encoding": encoding,
            "stream": stream,
        }
        if not isinstance(rows, str | Path):
            wrong = [name for name, value in given.items() if value is not None] + ["unit"] * (unit != "s")
            if wrong:
                hint = "rows say all that there is to say; it is for files"
                raise OptionError(Problem("E338", f"run has no option {wrong[0]} for rows", hint=hint))
            if self._committer is None:
                return super().run(rows)
            if isinstance(rows, Mapping):
                rows = ColumnRows(rows, self.core.inputs.attributes_in_order).rows
            return run_in_pieces(self._committer, rows, super().run)
        from etalis.formats import run_file

        return run_file(self, rows, unit=unit, **given)

    @with_options
    @alone
    def detect(
        self, source: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None,
        order: str | None = None, unit: str = "s", encoding: str | None = None, select: str | None = None,
        envelope: bool = False, match_id: bool = False, contributors: bool = False, id: str | None = None,  # noqa: A002
        batch: int = BATCH, threads: int = 2, progress: bool | Tell = False, ahead: Ahead = None,
    ) -> pa.Table:  # fmt: skip
        """Take the rows of a table, return the complex events they cause as an Arrow table; needs `etalis[columnar]`.

        As if the rows had been pushed one by one, those of a batch in order of time. The options are those of
        `Program.detect`, but for `policy` and `on_dead_letter`, which the engine has. If it fails, `unfinished.rows`
        of the table have been taken, and `unfinished.found` is what they caused.
        """
        from etalis.detect import detect_on
        from etalis.tables.plan import ResultForm
        from etalis.tables.schema import Options

        options, form = (
            Options(time, event, order, unit, id, encoding),
            ResultForm(select, envelope, contributors, match_id),
        )
        return detect_on(self, source, options, form, Pace(batch, threads, progress), ahead)

    @with_options
    def explain(
        self, source: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None, unit: str = "s",
        encoding: str | None = None,
    ) -> str:  # fmt: skip
        """Say which rules `detect` would run over the columns of a table, which event at a time, and why."""
        from etalis.detect import explain
        from etalis.tables.schema import Options

        options = Options(time, event, None, unit, encoding=encoding)
        return explain(self.core.program, source, options, engine=self)

    @property
    def unfinished(self) -> Unfinished | None:
        """The rows that the last `detect` had taken when it failed, and what they caused; None if it did not."""
        found: Unfinished | None = self.core.unfinished
        return found

    @property
    def notes(self) -> dict[str, Any]:
        """Notes of the host, such as how far it has read: snapshots keep them."""
        return self.core.notes

    # effects

    @alone
    def commit(self, position: Any = None) -> tuple[Event, ...]:
        """Write state, position and effects to the outbox, in one transaction; return what was caused by it.

        The position says how far the sources have been read, as JSON holds it: `outbox.restore(program)` returns it.
        Before that the engine takes in what has become of its effects: where one was not delivered, what its reaction
        did is undone, and the event `undelivered(Label, Effect)` occurs.
        """
        if self._committer is None:
            hint = "program.engine(outbox=etalis.Outbox('sqlite:///file.db'))"
            raise OptionError(Problem("E809", "an engine without an outbox commits nothing", hint=hint))
        return self._committer.commit(position)

    @alone
    def transactions(self) -> tuple[Transaction, ...]:
        """Return the transactions of reactions that are not over: effects that wait, and what is stuck."""
        found = self.core.ledger.unsettled()
        return found if self._committer is None else self._committer.with_states(found)

    @alone
    def settle(self, id: str, how: Settled) -> None:  # noqa: A002
        """Say what has become of a transaction that is stuck: it is `done` as it stands, or `undone` by hand."""
        settled = self.core.ledger.settle(id, how)
        if self._committer is not None:
            self._committer.settle(settled)

    def close(self) -> tuple[Event, ...]:
        """End the stream: all deadlines pass, and nothing more is taken; with an outbox, commit.

        If strict, refuse rules that never fired.
        """
        found = super().close()
        if self._committer is None:
            return found
        caused = self._committer.commit_here()
        self._committer.close()
        return (*found, *caused)

    def __enter__(self) -> Self:
        """Return the engine: the end of the block is the end of the stream."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        """Close the stream, unless it broke off; what that settles goes to callbacks."""
        if kind is None and self.core.state.floor < NEVER:
            self.close()

    @property
    def due(self) -> int | float | None:
        """The moment, in seconds, at which something may happen without an event; None if there is none.

        That is an absence, an alarm, a time point, a raised event, a change of knowledge, or an event that is held.
        """
        moment = self.core.due()
        return None if moment >= NEVER else to_seconds(moment)

    @property
    def clock(self) -> Callable[[], Any] | None:
        """What tells the time of events that come without one."""
        return self.core.inputs.clock

    @alone
    def retract(self, what: Hashable, /, *args: Any, at: Any = None, **named: Any) -> tuple[Event, ...]:
        """Take an event back, by its id, or by its name, attributes and time; return what changes."""
        return self.core.revise(what, args, named, at, None)

    @alone
    def correct(self, what: Hashable, /, *args: Any, at: Any = None, to: Any, **named: Any) -> tuple[Event, ...]:
        """Put an event in the stead of another, in one step; `to` is a row such as (name, *attributes, at)."""
        return self.core.revise(what, args, named, at, to)

    @alone
    def idle(self, source: Hashable) -> tuple[Event, ...]:
        """Say that a source sends nothing for now, so that the watermark need not wait for it."""
        out: list[Any] = []
        disorder = self.core.disorder
        if disorder is not None and disorder.watermark is not None:
            disorder.settle(disorder.watermark.rest(source), out)
        return self.core.delivery.hand_out(out)

    # out

    @overload
    def on(self, name: str | None, callback: Callback) -> None: ...

    @overload
    def on(self, name: str | None) -> Callable[[C], C]: ...

    def on(self, name: str | None, callback: Callback | None = None) -> Callable[[C], C] | None:
        """Call back for every complex event of a name (None: of any); without a function, decorate one."""
        if name is not None:
            check_reported(self.core.program, self.core.rules, name)

        def call_back(function: C) -> C:
            self.core.delivery.callbacks.append((name, function))
            self.core.reopen()
            return function

        if callback is None:
            return call_back
        call_back(callback)
        return None

    @property
    def dead_letters(self) -> list[DeadLetter]:
        """What was not taken, the last thousand; `dead_letter_count` says how many there were."""
        return list(self.core.dead_letters.letters)

    @property
    def dead_letter_count(self) -> int:
        """How many events were not taken: too late, from the future, or not to be read."""
        return self.core.dead_letters.count

    @property
    def watermark(self) -> int | float | None:
        """The moment, in seconds, up to which the stream is settled; None before there is one."""
        reached = self.core.state.floor
        if self.core.disorder is not None and self.core.disorder.watermark is not None:
            reached = self.core.disorder.watermark.reached
        return None if reached == BEGINNING or reached >= NEVER else to_seconds(reached)

    @property
    def history(self) -> list[Event]:
        """The complex events reported so far, if the program sets `store_fired_events`."""
        return list(self.core.delivery.history or ())

    @property
    def now(self) -> int | float | None:
        """The time reached, in seconds; None before the first event."""
        look_up(self.core.state)
        reached, disorder = self.core.state.now, self.core.disorder
        if disorder is not None and disorder.watermark is not None and disorder.watermark.reached < NEVER:
            reached = max(reached, disorder.watermark.reached)  # time passes while events are held
        return None if reached == BEGINNING else to_seconds(reached)

    @property
    def error_count(self) -> int:
        """How often a condition or an action raised."""
        return self.core.failures.count

    # knowledge

    @alone
    def query(self, goal: str, *, at: Any = None, limit: int | None = None) -> list[dict[str, Any]]:
        """Return all solutions of a goal over knowledge and state as they are now: the values of its variables.

        With a `limit` the goal is asked for so many, and goes no further.

        With `at`, a moment within the flag `knowledge_horizon`, over the knowledge as it was after that moment.
        With the flag `store_fired_events`, `stored_event(event(Atom, [Start, End]))` is what was reported so far.
        """
        solver, now = self.core.rules.solver, self.core.state.now
        if at is None:
            return solutions(solver, goal, limit)
        return solutions_at(solver, goal, to_instant(at), now, limit)

    @alone
    def simulate(self, action: str) -> Simulation:
        """Return the path that an action would take now, or how far it gets; nothing changes, no effect is made.

        `print(engine.simulate("pay(ann, bob, 30)"))` shows its steps; the result is true if there is a path.
        """
        from etalis.runtime.reactions.simulation import simulate  # of use where someone asks alone

        return simulate(self.core, action)

    @alone
    def reload(self, name: str, source: Any, columns: Sequence[str | int] | None = None, *, at: Any = None) -> int:
        """Put the rows of a source in the place of a relation; return how many.

        Later events see it; with `at`, a moment to come, all matches that end then or later.
        """
        rows = load_rows(source, columns)
        self._change(Change("replace", name, rows), at)
        return len(rows.rows)

    @alone
    def reload_rdf(self, source: Any, *, at: Any = None, **options: Unpack[RdfOptions]) -> int:
        """Put RDF in the place of all that `load_rdf` loaded, `at` as for `reload`; return how many triples.

        The options are those of `Program.load_rdf`; what is not given is as it was there. Of queries it is the
        background, with all that it entails.
        """
        read_background = self.core.program.read_background
        if read_background is not None:
            return self._reload_background(read_background(source), at)
        changes = self.core.graphs.reload(self.core.rules.conditions.solver.database, source, options)
        for change in changes:
            self._change(change, at)
        return len(changes[0].rows.rows)

    def _reload_background(self, facts: Mapping[Key, LoadedRows], at: Any) -> int:
        database = self.core.rules.conditions.solver.database
        for (name, arity), rows in facts.items():
            database.own(name, arity)
            self._change(Change("replace", name, rows), at)
        return len(facts["rdf", 3].rows) if ("rdf", 3) in facts else 0

    @alone
    def assert_fact(self, name: str, /, *args: Any, at: Any = None) -> None:
        """Make a fact known, for later events or, with `at`, for matches that end at a moment to come or later."""
        self._change(Change("assert", name, self._fact(name, args)), at)

    @alone
    def retract_fact(self, name: str, /, *args: Any, at: Any = None) -> None:
        """Take a fact away, for later events or, with `at`, for matches that end at a moment to come or later."""
        self._change(Change("retract", name, self._fact(name, args)), at)

    def _change(self, change: Change, at: Any) -> None:
        self.core.changes.take(change, None if at is None else to_instant(at))

    def _fact(self, name: str, args: tuple[Any, ...]) -> LoadedRows:
        is_event = (name, len(args)) in self.core.rules.learned
        values = self.core.inputs.values(name, args, {}) if is_event else tuple(map(to_value, args))
        return LoadedRows("the fact", len(values), [tuple(map(from_value, values))])

    # rules

    @alone
    def insert_rule(self, rule: str | Rule) -> str:
        """Add a rule, effective for later events; return its label."""
        return self.core.turn(lambda: insert_rule(self.core.rules, rule))

    @alone
    def delete_rule(self, rule: str | Rule) -> int:
        """Remove rules by label or by text; return how many went."""
        return self.core.turn(lambda: delete_rules(self.core.rules, rule))

    @alone
    def set_property(self, label: str, name: str, value: Any) -> int:
        """Give the rules of a label a property, effective for later events; return how many rules there are.

        What waits in these rules is dropped; the others notice nothing.
        """
        return self.core.turn(lambda: set_property(self.core.rules, label, Property(name, Const(to_value(value)))))

    @alone
    def delete_property(self, label: str, name: str) -> int:
        """Take a property from the rules of a label, effective for later events; return how many rules there are."""
        return self.core.turn(lambda: delete_property(self.core.rules, label, name))

    @alone
    def reset(self) -> None:
        """Drop all that waits: instances, absences, alarms, events for later. Rules, knowledge and time stay."""
        self.core.turn(lambda: reset(self.core.rules), empties=True)

    @alone
    def spy(self, event: str) -> None:
        """Write every event of a kind, `name/arity`, to the output: received, raised or derived."""
        self._spy(event, True)

    @alone
    def unspy(self, event: str) -> None:
        """Write the events of a kind no more."""
        self._spy(event, False)

    def _spy(self, event: str, on: bool) -> None:
        name, _, arity = event.rpartition("/")
        if not name or not arity.isdecimal():
            raise InputError(Problem("E306", f"{event} names no kind of event", hint="write name/arity, as in a/2"))
        spy(self.core.rules, (name, int(arity)), on)
        self.core.reopen()

    @alone
    def state(self) -> tuple[Waiting, ...]:
        """Say what the engine holds on to: per rule and operator how many instances, how many bytes, how old."""
        return inspect(self.core.rules, self.core.disorder)

    @alone
    def picture(self) -> Picture:
        """Return a picture of the plan with how many instances wait in each place now."""
        from etalis.pictures.picture import Picture
        from etalis.pictures.scenes.plan import draw_plan

        rules, reached = self.core.rules, self.now
        title = "plan, before the first event" if reached is None else f"plan, what waits at {reached}"
        return Picture(draw_plan(explain_running(rules), count_stores(rules), title))

    def limits(self) -> Limits | None:
        """Say how the engine stands to its limits, and what was shed; None if it has none."""
        return None if self.core.guard is None else self.core.guard.limits()

    @property
    def broken(self) -> tuple[Broken, ...]:
        """The conditions and actions that reached their limits too often and are not asked any more."""
        return self.core.breaker.broken()

    def switch_on(self, label: str | None = None) -> int:
        """Ask the conditions and actions of a rule again, or of all rules; return how many were switched off."""
        return self.core.breaker.switch_on(label)

    def code(self) -> str:
        """Return the generated source."""
        if self.core.rules.is_patched:  # where rules have come or gone, what they had before is left over
            self.core.rules.compile()
            self.core.reopen()
        for name in WAYS:
            getattr(self, name)
        return self.core.rules.code()
