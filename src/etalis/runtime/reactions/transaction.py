"""One turn of a reaction: its condition, then its action as one transaction, all of it or nothing.

The path is found over facts and tests; its effects are made; then the facts stay, and what it raises is asked for.
Where an effect fails, the facts go back, and another path is looked for on which that effect is no step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from etalis.data.values import Value, format_value
from etalis.errors import EtalisError, EventError, Problem
from etalis.language.event_goals import named_event, raised_event
from etalis.language.printer import print_action
from etalis.language.steps import Occur
from etalis.language.syntax import EventDeclaration, SagaPart
from etalis.logic.state.state_store import StateStore
from etalis.reactive.effects.ledger import Ledger
from etalis.reactive.effects.sagas import Saga
from etalis.reactive.effects.sink import EffectSink
from etalis.reactive.effects.transaction import Branch, Cause, Transaction, make_transaction
from etalis.reactive.execution import Execution, Failed, Label, steps_of
from etalis.reactive.search import Prepared
from etalis.runtime.codegen.conditions import to_moment
from etalis.runtime.reactions.failure import Refusal, failure_of
from etalis.runtime.reactions.going_on import begin as begin_saga
from etalis.runtime.reactions.going_on import compensate, went_on, with_name
from etalis.runtime.reactions.raising import RaisedLater
from etalis.runtime.state import Raw, State
from etalis.temporal.event import EventKind


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What the reactions of one engine share: where facts, effects, events and failures go."""

    program: str
    state: State
    facts: StateStore | None
    sink: EffectSink
    ledger: Ledger
    later: RaisedLater
    declared: Mapping[str, EventDeclaration]
    fail: Callable[[Any], None]

    @property
    def remembers(self) -> bool:
        """Whether transactions that are over are kept, too."""
        return self.ledger.remembers

    def occurrence(self, event: Value, delay: Value | None, end: int, cause: Any) -> Occur:
        """Return an event that is raised at a moment, or later; raise an EtalisError if there is none."""
        when = end if delay is None else end + _delay(delay)
        return raised_event(event, when, when, self.declared, cause)

    def named_occurrence(
        self, name: str, args: tuple[Value, ...], delay: Value | None, end: int, cause: Any
    ) -> Occur:  # fmt: skip
        """Return an event of a name and attributes that is raised at a moment, or later, like `occurrence`."""
        when = end if delay is None else end + _delay(delay)
        return named_event(name, args, when, when, self.declared, cause)

    def ask(self, events: Sequence[Occur]) -> None:
        """Let events occur when the present one is complete, or at their time."""
        for event in events:
            if event.end > self.state.now:
                self.later.schedule(event)
            else:
                self.state.steps.append(event)

    def take_back(self) -> None:
        """Take back what has not been committed."""
        if self.facts is not None:
            self.facts.take_back(0)

    def commit(self) -> None:
        """Let all facts stay."""
        if self.facts is not None:
            self.facts.commit()


def _delay(seconds: Value) -> int:
    try:
        delay = 0 if isinstance(seconds, str | tuple) else to_moment(seconds)
    except (TypeError, ValueError, OverflowError):
        delay = 0
    if delay <= 0:
        message = f"an event is raised a positive number of seconds later, not {format_value(seconds)}"
        raise EventError(Problem("E303", message, hint="write raise(Event, after(Seconds))"))
    return delay


@dataclass(frozen=True, slots=True)
class PreparedBranch:
    """What may be done in a turn: `do`, `else` or `undo`, and the variables that it is given."""

    name: Branch
    inputs: tuple[str, ...]
    run: Prepared


@dataclass(slots=True)
class ReactionTurn:
    """One reaction of an engine; `take` is its turn for a match, in generated code where that is exact."""

    place: tuple[int, ...]
    label: str
    number: int  # among the reactions of its label
    names: tuple[str, ...]  # of the pattern's variables
    given: tuple[int, ...]  # which of them get values, by their places
    context: TurnContext
    condition: Callable[..., tuple[Value | None, ...] | None] | None
    action: PreparedBranch
    otherwise: PreparedBranch | None
    undo: PreparedBranch | None
    has_rope: bool = False
    part: SagaPart | None = None  # of a saga that another reaction has begun
    take: Callable[[Raw], None] = field(init=False)

    def __post_init__(self) -> None:
        self.take = self.act

    def act(self, raw: Raw) -> None:
        """React to a match."""
        if self.part is not None:
            self._go_on(raw, self.part)
            return
        self.context.take_back()
        values = tuple([raw[3 + place] for place in self.given])
        branch: PreparedBranch | None = self.action
        if self.condition is not None:
            try:
                found = self.condition(*values)
            except EtalisError as error:
                self._fail(raw, Refusal((), str(error.problems[0].message), "error", error))
                return
            branch, values = (self.action, values + found) if found is not None else (self.otherwise, values)
        if branch is not None:
            self._execute(raw, branch, values)

    def _go_on(self, raw: Raw, part: SagaPart) -> None:
        """Go on with a saga that waits for this match, or end it."""
        saga = self.context.ledger.sagas.waiting(raw[3], part.mark)
        if saga is None:
            return  # it has gone on or ended already
        self.context.take_back()
        values = tuple([raw[3 + place] for place in self.given])
        if part.is_end:
            self._fail(raw, Refusal((), print_action(part.awaited), "no execution"))
        elif self._execute(raw, self.action, values, saga=saga):
            return
        self._give_up(saga, raw, values)

    def _give_up(self, saga: Saga, raw: Raw, values: tuple[Value | None, ...]) -> None:
        """Take back all that a saga has done; what cannot be is left to a person."""
        context = self.context
        compensate(saga, context.ledger, context.sink)
        undone = not saga.changed
        if self.undo is not None:
            context.take_back()
            named = dict(zip([self.names[place] for place in self.given], values, strict=True))
            undone = self._execute(raw, self.undo, tuple(named.get(name) for name in self.undo.inputs), raw[0])
        if not undone:
            context.ledger.put(replace(saga.transactions[-1], state="stuck"))

    def take_back(self, transaction: Transaction, now: int) -> bool:
        """Undo what a transaction did with facts; tell whether that was possible."""
        if self.undo is None:
            return not transaction.changed
        cause = transaction.cause
        kind = EventKind(self.label, len(cause.bindings) + 1)
        raw = (cause.interval[1], cause.interval[0], kind, *cause.bindings, cause.match)
        scope = dict(transaction.scope)
        self.context.take_back()
        return self._execute(raw, self.undo, tuple(scope.get(name) for name in self.undo.inputs), now)

    def _execute(
        self, raw: Raw, branch: PreparedBranch, values: tuple[Value | None, ...], now: int | None = None,
        saga: Saga | None = None,
    ) -> bool:  # fmt: skip
        """Find a path whose effects can be made, and do it; or say that there is none.

        What it raises occurs at the end of the match, or `now` where it is undone. It may be another transaction of a
        saga, or begin one.
        """
        context = self.context
        refused: dict[Label, str] = {}  # effects that failed, with what was said
        while True:
            found = branch.run(values, frozenset(refused))
            if isinstance(found, Failed):
                self._fail(raw, Refusal.of(found, refused))
                return False
            if saga is None and any(label.wait for label in found.labels):
                saga = begin_saga(raw, self.label, self.number, branch.name)
            try:
                events = self._events(raw, found, now, saga)
            except EtalisError as error:
                context.take_back()
                self._fail(raw, Refusal(found.labels, error.problems[0].message, "error", error))
                return False
            effects = [label for label in found.labels if label.kind == "effect"]
            if effects or context.remembers or saga is not None:
                cause = self.cause_of(raw, branch.name, len(refused))
                done = self._perform(cause, branch, values, found, effects, events)
                row = done.failed_row
                if row is not None:
                    context.take_back()
                    failed = effects[done.rows.index(row)]
                    refused[failed] = row.error
                    if done.state == "stuck":
                        reached = found.labels[: found.labels.index(failed)]
                        self._fail(
                            raw, Refusal(reached, f"{failed}, and what was made before it stands", "effect refused")
                        )
                        return False
                    continue
                if saga is not None:
                    went_on(saga, done, found.labels, context.ledger)
            context.commit()
            context.ask(events)
            return True

    def _events(self, raw: Raw, found: Execution, now: int | None, saga: Saga | None) -> list[Occur]:
        cause = raw if self.has_rope and now is None else None
        end = max(raw[0], self.context.state.now) if now is None else now  # later where it was corrected
        raised = [label for label in found.labels if label.kind == "raise"]
        terms = [with_name(saga, label) if saga is not None and label.wait else label.term for label in raised]
        return [
            self.context.occurrence(term, label.after, end, cause) for term, label in zip(terms, raised, strict=True)
        ]

    def cause_of(self, raw: Raw, branch: Branch, tries: int) -> Cause:
        """Return what a transaction for a match is called, after so many tries in this turn."""
        *bindings, match = raw[3 : 3 + raw[2].arity]
        program = self.context.program
        cause = Cause(program, self.label, self.number, tuple(bindings), (raw[1], raw[0]), match, branch, tries + 1)
        return self.context.ledger.next_attempt(cause)

    def _perform(
        self, cause: Cause, branch: PreparedBranch, values: Sequence[Value | None], found: Execution,
        effects: Sequence[Label], events: Sequence[Occur],
    ) -> Transaction:  # fmt: skip
        """Make the effects of a path; remember what became of them where something is left to do."""
        scope = {**dict(zip(branch.inputs, values, strict=True)), **found.bindings}
        transaction = make_transaction(
            cause, [label.term for label in effects],
            scope=tuple((name, value) for name, value in scope.items() if value is not None),
            path=steps_of(found.labels),
            changed=any(label.kind in ("ins", "del", "set") for label in found.labels),
            raised=tuple((event.name, event.args, event.start, event.end) for event in events),
        )  # fmt: skip
        done = self.context.sink.perform(transaction) if effects else transaction
        self.context.ledger.put(done)
        return done

    def _fail(self, raw: Raw, refusal: Refusal) -> None:
        *bindings, _ = raw[3 : 3 + raw[2].arity]
        named = dict(zip(self.names, bindings, strict=True))
        self.context.fail(failure_of(self.label, named, (raw[1], raw[0]), refusal))
