"""The kept history of an engine, run again by the operators of the meaning; raised events come as recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from etalis.data.measure import is_too_deep
from etalis.language import syntax as s
from etalis.language.rules import knowledge_changes, known_events
from etalis.language.traversal import children, postorder
from etalis.runtime.ruleset import RuleLife
from etalis.runtime.state import BEGINNING, NEVER
from etalis.semantics.counting import Anchored, Runs
from etalis.semantics.matches import (
    Instance,
    ModelDeadline,
    Offered,
    RecordedEvent,
    RunState,
    Scope,
    World,
    alarm_time,
    ground,
    settled,
    whole,
)  # fmt: skip
from etalis.semantics.operators import Leaf, ModelJoin
from etalis.semantics.rules import Built, Rules
from etalis.temporal.event import Event, sort_key
from etalis.temporal.relation import relations
from etalis.why.justification import Occurred
from etalis.why.selecting.joins import NotingJoin
from etalis.why.selecting.knowledge_then import KnowledgeThen
from etalis.why.selecting.repeats import NotingAnchored, NotingRuns
from etalis.why.selecting.stays import SelectionNotes

if TYPE_CHECKING:
    from etalis.runtime.core import Core

Kind = tuple[str, int]
Path = tuple[int, ...]
Noting = NotingJoin | NotingAnchored | NotingRuns
ALL_EVENTS = frozenset[Any]()


class PastEvent(NamedTuple):
    """An input or a raised event: `after` is the input that it is, or that came before it."""

    time: int
    after: int
    event: Event


class DueList(list[ModelDeadline]):
    """Deadlines by their time."""

    def __init__(self) -> None:
        super().__init__()
        self.heap: list[tuple[int, tuple[float, ...], int, ModelDeadline]] = []
        self._count = count()

    def append(self, deadline: ModelDeadline) -> None:
        """Set a deadline; of those of a moment alarms come first, then absences whose left side ended last."""
        turn = tuple(-each for each in deadline.turn)
        heappush(self.heap, (deadline.due, turn, next(self._count), deadline))

    def next(self) -> int:
        """Return when the first one is due."""
        return self.heap[0][0] if self.heap else NEVER

    def take(self) -> list[ModelDeadline]:
        """Take out those that are judged in one step."""
        due, turn, _, first = heappop(self.heap)
        found = [first]
        while self.heap and self.heap[0][:2] == (due, turn):
            found.append(heappop(self.heap)[3])
        return found


def operators_of(rule: s.Rule) -> dict[int, list[Path]]:
    """Return where the parts of a rule's pattern stand, left before right: child indices from the root."""
    found: dict[int, list[Path]] = {}
    waiting: list[tuple[s.Pattern, Path]] = [(rule.pattern, ())]
    while waiting:
        node, path = waiting.pop()
        found.setdefault(id(node), []).append(path)
        waiting += [(part, (*path, place)) for place, part in reversed(list(enumerate(children(node))))]
    return found


@dataclass(slots=True, eq=False)
class HistoryAgain:
    """A run of some rules of an engine over some of its past; `operators` are found by the rule's label and path."""

    core: Core
    lives: Sequence[RuleLife]
    notes: SelectionNotes = field(init=False)
    operators: dict[tuple[str, Path], list[Noting]] = field(default_factory=dict)
    derived: list[Event] = field(default_factory=list)
    made: set[Event] = field(default_factory=set)
    caused: dict[Event, None] = field(default_factory=dict)
    world: World = field(init=False)
    rules: Rules = field(init=False)
    knowledge: KnowledgeThen = field(init=False)
    due: DueList = field(default_factory=DueList)
    by_kind: dict[Kind, list[Offered]] = field(default_factory=dict)
    points: list[tuple[int, Any]] = field(default_factory=list)
    paths: dict[int, list[Path]] = field(default_factory=dict)
    building: str = ""
    learned: dict[Kind, int] = field(default_factory=dict)
    isolates: bool = False
    built: dict[int, Built] = field(default_factory=dict)
    number: int = 0
    now: int = BEGINNING

    def __post_init__(self) -> None:
        program, settings = self.core.program, self.core.rules.settings
        actions = [action for life in self.lives for action in _actions(life.rule)]
        parts = [part for life in self.lives for part in postorder(life.rule.pattern)]
        self.isolates = any(isinstance(part, s.Isolated) for part in parts)
        multiplied = [x.goal for x in parts if isinstance(x, s.Condition) and x.kind == "event_multiply"]
        knowledge = self.knowledge = KnowledgeThen(self.core, actions, multiplied)
        self.learned = {kind: len(changes) for kind, changes in knowledge_changes(program.tree).items()}
        self.world = World(
            relations(settings.relations), knowledge.solve, frozenset(known_events(program.tree)), [],
            lambda _event: None, RunState(lambda _text: None), deadlines=self.due, instead=self._note,
        )  # fmt: skip
        self.notes = SelectionNotes(self.world.record, knowledge.seen, knowledge.under)
        self.rules = Rules(program.tree, settings, self.world, self._conclude)

    def _note(self, pattern: s.Pattern, made: Any) -> Any:
        """Put an operator that notes in the place of one of the model."""
        noting: Noting
        places = self.paths.get(id(pattern), [])
        path = places.pop(0) if len(places) > 1 else places[0] if places else None
        match made:
            case ModelJoin():
                noting = NotingJoin(made, self.notes)
            case Anchored() if made.scope.policy.restricts:
                noting = NotingAnchored(made, self.notes, self.isolates)
            case Runs() if made.scope.policy.restricts:
                noting = NotingRuns(made, self.notes)
            case _:
                return made
        if path is not None:
            self.operators.setdefault((self.building, path), []).append(noting)
        return noting

    # rules

    def _put(self, lives: Iterable[RuleLife]) -> None:
        for life in lives:
            self.paths, self.building = operators_of(life.rule), life.label
            (self.built[id(life)],) = self.rules.put([(life.rule, life.label)])
        self._arrange()

    def _arrange(self) -> None:
        self.by_kind = {}
        for leaf in self.world.leaves:
            assert isinstance(leaf, Leaf)
            self.by_kind.setdefault((leaf.pattern.name, len(leaf.pattern.args)), []).append(leaf)
        self.points = sorted((point for point in self.world.points if point[0] > self.now), key=lambda point: point[0])

    def _turns(self) -> list[tuple[int, int, int, RuleLife | None]]:
        """Return the changes of rules: the input before each, its moment, and the rule; None where all was dropped."""
        found: list[tuple[int, int, int, RuleLife | None]] = []
        for life in self.lives:
            if life.since != BEGINNING:
                found.append((life.came, life.since, 2, life))
            if life.went is not None:
                found.append((life.went, life.until, 1, life))
        found += [(number, moment, 0, None) for number, moment in self.core.rules.resets]
        in_order = self.core.disorder is None
        return sorted(found, key=lambda turn: turn[:3] if in_order else (turn[1], turn[2]))

    def _turn(self, life: RuleLife | None, kind: int) -> None:
        if life is None:
            self.due.heap.clear()
            standing = [each for each in self.lives if id(each) in self.built]
            for each in standing:
                self.rules.take_out(self.built.pop(id(each)))
            self._put(standing)
        elif kind == 1:
            self.rules.take_out(self.built.pop(id(life)))
            self._arrange()
        else:
            self._put([life])

    # events

    def run(self, events: Iterable[PastEvent]) -> None:
        """Process events in their order, and what falls due meanwhile."""
        self._put(life for life in self.lives if life.since == BEGINNING)
        turns = self._turns()
        in_order = self.core.disorder is None
        for past in events:
            while turns and (turns[0][0] < past.after if in_order else turns[0][1] < past.time):
                self._reach_turn(turns.pop(0))
            self._pass_time(past.time)
            self.number = past.after
            self._move(past.time)
            self._rounds([RecordedEvent(past.event, None, ALL_EVENTS)])
        for turn in turns:
            self._reach_turn(turn)
        state, settled_upto = self.core.state, self.core.run_loop.settled
        self._pass_time(min(max(state.now, state.floor + 1 if state.floor < NEVER else NEVER), settled_upto + 1))

    def _reach_turn(self, turn: tuple[int, int, int, RuleLife | None]) -> None:
        self._pass_time(turn[1])
        self.now = max(self.now, turn[1])
        self._turn(turn[3], turn[2])

    def _move(self, time: int) -> None:
        self.now = max(self.now, time)
        self.knowledge.reach(self.number, time)
        self.world.run_state.now = time

    def _pass_time(self, time: int) -> None:
        """Let happen what is due before a moment, and the time points up to it."""
        while True:
            point = self.points[0][0] if self.points else NEVER
            due = self.due.next()
            if point <= min(due, time) and point < NEVER:
                _, receive = self.points.pop(0)
                self._move(point)
                receive(whole(point, point, {}, frozenset(), settled(frozenset())))
                self.notes.let_go()
                self._rounds([])
            elif due < time:
                self._move(due)
                for deadline in [d for d in self.due.take() if d.stands()]:
                    deadline.fire()
                    self.notes.let_go()
                self._rounds([])
            else:
                return

    def _rounds(self, events: list[RecordedEvent]) -> None:
        """Process the events of a round, then what they caused, until nothing new is caused."""
        while events or self.caused:
            for given in events:
                event = given.event
                kind = (event.name, len(event.args))
                self.world.record.append(given)
                if kind in self.learned:
                    self.knowledge.change(self.learned[kind])
                for leaf in self.by_kind.get(kind, ()):
                    leaf.offer(event, len(self.world.record) - 1)
                self.notes.let_go()
            made = sorted(self.caused, key=sort_key)
            events = [RecordedEvent(event, None, ALL_EVENTS) for event in made]
            self.caused = {}
            self.made.update(made)
            self.derived += made

    def _conclude(self, rule: s.Rule, x: Instance, scope: Scope) -> None:
        """Make a rule's event of a match of its pattern, or set the alarm."""
        args = tuple(ground(a, x.bindings) for a in rule.head.args)
        if is_too_deep(args):
            return
        if rule.alarm is None:
            self._cause(Event.make(rule.head.name, args, x.start, x.end, scope.rule))
            self.notes.became(Occurred(rule.head.name, args, x.start, x.end))
            return
        due = alarm_time(rule.alarm.kind, ground(rule.alarm.when, x.bindings), x.end)
        if due is not None:
            event = Event.make(rule.head.name, args, due, due, scope.rule)
            alarm = ModelDeadline(due, (float("inf"), 0), lambda: scope.standing.stands, lambda: self._cause(event))
            self.due.append(alarm)

    def _cause(self, event: Event) -> None:
        if event not in self.made:
            self.caused.setdefault(event)


def _actions(rule: s.Rule) -> Iterator[s.Term]:
    """Yield what a rule does."""
    if rule.action is not None:
        yield rule.action
    for part in postorder(rule.pattern):
        if isinstance(part, s.Do):
            yield part.action
