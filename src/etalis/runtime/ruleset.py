"""The rules of a running engine: planned, wired and compiled, with state that outlives a change of rules.

Inserting or deleting a rule compiles anew over the same stores: a rule's state is found by the rule's number, a
shared part's by its shape and the generation of rules it came with, so a new rule sees later events only and the
others notice nothing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from etalis.errors import ConditionError
from etalis.language.check.outline import Outline
from etalis.language.check.recursion import growing_events
from etalis.language.goal_limits import goal_limits
from etalis.language.reactive.reach import has_effects, raises_later
from etalis.language.reactive.sagas import begins_to_wait
from etalis.language.reactive.wait_names import is_of_wait
from etalis.language.rules import events_in, knowledge_changes, label_properties
from etalis.language.syntax import Rule, Var
from etalis.language.traversal import actions_of
from etalis.logic.knowledge.facts import changing
from etalis.logic.solver import Solver
from etalis.plan import algebra as p
from etalis.plan.keys import Partitioning, find_partitioning
from etalis.plan.rules import as_run, plan_rule
from etalis.plan.strata import find_levels, find_stages
from etalis.plan.types import Typing, types_event_at_a_time
from etalis.runtime.codegen.compile import Compiler
from etalis.runtime.codegen.conditions import Conditions
from etalis.runtime.codegen.deadlines.timer import have_own_lanes
from etalis.runtime.codegen.heads import Heads
from etalis.runtime.codegen.network import PlannedRule, Wired, Wiring
from etalis.runtime.codegen.rule_code import RuleCode
from etalis.runtime.codegen.source import Code
from etalis.runtime.deadlines.timers import Owner, Pending
from etalis.runtime.deadlines.unmatched import Unmatched
from etalis.runtime.deadlines.waiter import Waiter
from etalis.runtime.limits.circuit_breaker import Breaker
from etalis.runtime.operators.blockers import Blockers, JudgedBlockers
from etalis.runtime.operators.store import Doubles, count_instances
from etalis.runtime.reactions.raising import RaisedLater
from etalis.runtime.record.kept_past import KeptPast
from etalis.runtime.record.learning import learn_first, record_first
from etalis.runtime.reporting.evidence import Evidence, has_held
from etalis.runtime.reporting.spying import show_first
from etalis.runtime.rule_change.network_change import end_timers
from etalis.runtime.state import BEGINNING, NEVER, Made, Raw, State

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram


OF_CODE = frozenset({
    "wiring", "compiler", "processors", "ticks", "log", "listened", "reacts", "sources", "numbered", "has_timers",
})  # fmt: skip
Pair = tuple[PlannedRule, Rule]
Tick = tuple[int, Callable[[], None]]  # a time point, and what happens then


@dataclass(slots=True)
class RuleLife:
    """A rule as it was, since when and until when it was there; `came` and `went` are the inputs before that."""

    rule: Rule
    since: int
    until: int = NEVER
    label: str = ""
    came: int = 0
    went: int | None = None
    given: Rule | None = None  # as it was given, with each `any` of it


class RuleSet:
    """Rules, their compiled form and their state."""

    def __init__(
        self,
        program: CompiledProgram,
        solver: Solver,
        *,
        policy: str | None,
        parts: bool,
        report: Callable[[ConditionError], None],
        breaker: Breaker,
        evidence: Evidence,
        watched: bool = False,
        replays: bool = False,
        state: State | None = None,
        made: dict[tuple[str, int], Made] | None = None,
        like: tuple[Sequence[Pair], tuple[Pair, ...]] | None = None,
        recorded: bool = False,
        derivations: Callable[[Sequence[Raw]], object] | None = None,
        defers: bool = False,
    ) -> None:
        self.compiled = False
        self.program = program
        self.evidence = evidence
        self.settings = program.settings_under(policy)
        self.traced = parts
        self.state = State() if state is None else state
        self.memory: dict[Any, Any] = {}
        self.computed = program.knowledge.computed  # once, since stores are laid out by it
        self.pending = Pending()
        self.later = RaisedLater(self.state)
        self.record = None if replays or not recorded else self._begin_record()
        horizon = NEVER if program.settings.corrects else program.settings.knowledge_horizon
        if self.record is not None:
            horizon = max(horizon, NEVER if self.record.horizon is None else self.record.horizon)
        watched = watched or program.knowledge.calls_host or program.reads_clock
        self.watched = watched or program.settings.knowledge_horizon > 0
        if not replays:
            solver.database.keep_versions(horizon, lambda: self.state.now)
            if self.record is not None:
                self.watched = self.watched or bool(program.effects or knowledge_changes(program.around_rules))
                solver.database.note_change = self.record.begin_change
        self.solver = solver
        limited = solver.within(goal_limits(program.settings))
        self.conditions = Conditions(limited, report, breaker, (lambda: self.state.now) if replays else None)
        self.heads = Heads(
            self.state, self.conditions, program.attributes, program.triggers, parts, evidence.shown, made, self.record,
            derivations,
        )  # fmt: skip
        self.conditions.acts = derivations is None
        self.turns: list[tuple[str, str, list[Any]]] = []  # the code of reactions, which do not change
        self.rules: list[Pair] = []
        self.resets: list[tuple[int, int]] = []  # when all that waited was dropped: the input before, the moment
        self.ticks: list[Tick]
        self.learned = knowledge_changes(program.around_rules) if derivations is None else {}
        self.spied: set[tuple[str, int]] = set()
        self.apart = dict(label_properties(program.around_rules))
        self.is_patched = False  # whether rules have come or gone without all being compiled
        self.generation = 0
        self.numbers = 0
        self.added = 0
        self.acts = program.acts_on_run
        if like is not None:
            self.rules, self.first = list(like[0]), like[1]
            self.lives = {pair[0].number: self.life(pair[1], BEGINNING, pair[0].head.label) for pair in self.rules}
        else:
            planned = program.plans(policy, parts=parts)
            self.first = program.recalled(("pairs", self.settings, parts), lambda: self._number(planned))
            self.rules = list(self.first)
            self.numbers = self.added = len(self.first)
        self.heads.numbered = self._find_numbered()
        if not defers:
            self.compile()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Compile rules that were deferred when something of their code is first asked for."""
            if name not in OF_CODE or self.compiled or "first" not in self.__dict__:
                raise AttributeError(name)
            given = self.__dict__.get("ticks")
            self.compile()
            if given is not None:  # by whoever runs the rules instead: time points that are done there stay away
                self.ticks = given
            return getattr(self, name)

    def _number(self, heads: Sequence[p.Head]) -> tuple[Pair, ...]:
        """Return the rules of the program as all engines begin with them."""
        shares = not self.program.effects and self.settings.sharing
        pairs = zip(heads, self.program.rules, strict=True)
        return tuple((PlannedRule(number, 0, head, shares), rule) for number, (head, rule) in enumerate(pairs, 1))

    @cached_property
    def lives(self) -> dict[int, RuleLife]:
        """All rules that the engine has ever had, by number; those that it began with when any is asked for."""
        settings = self.settings
        forms = self.program.recalled(("as run", settings), lambda: [as_run(r, settings) for r in self.program.rules])
        return {
            planned.number: self.life(rule, BEGINNING, planned.head.label, 0, form)
            for (planned, rule), form in zip(self.first, forms, strict=True)
        }

    def _find_numbered(self) -> frozenset[int]:
        """Return the rules of reactions whose matches are told from equal ones: by their keys outside, or in waits."""
        if not self.program.reactions:
            return frozenset()
        if self.settings.corrects:  # what is done for a match must be found again
            return frozenset(planned.number for planned, _ in self.rules if planned.head.hidden)
        hidden = [planned.number for planned, _ in self.rules if planned.head.hidden]
        outline, pairs = Outline(self.program.tree), zip(hidden, self.program.reactions, strict=True)
        return frozenset(
            n for n, reaction in pairs
            if begins_to_wait(reaction) or any(has_effects(a, outline) for a in actions_of(reaction))
        )  # fmt: skip

    def _begin_record(self) -> KeptPast:
        """Return what keeps the past for explanations: as far as its own horizon, else that of late events."""
        settings, program = self.settings, self.program
        bounds = [settings.revision_window if settings.revision else settings.lateness, settings.justification_horizon]
        horizon = bounds[1] if bounds[1] is not None else bounds[0]
        arities = [len(e.args) for rule in program.rules for e in (rule.head, *events_in(rule.pattern))]
        return KeptPast(self.state, max(arities, default=0), horizon)

    @property
    def originals(self) -> tuple[PlannedRule, ...]:
        """The rules of the program, deleted ones included."""
        return tuple(planned for planned, _ in self.first)

    def add(self, rule: Rule, head: p.Head, shares: bool) -> None:
        """Add a rule that is planned, behind all others; nothing is compiled."""
        self.added += 1
        self.rules.append(self.pair(rule, head, shares))

    def plan(self, rule: Rule) -> p.Head:
        """Return the plan of a rule that comes next."""
        return plan_rule(rule, self.added + 1, self.settings, parts=self.traced)

    def pair(self, rule: Rule, head: p.Head, shares: bool) -> Pair:
        """Number a rule; with effects about, rules share nothing, so that these come in the order of the rules."""
        self.numbers += 1
        self.lives[self.numbers] = self.life(rule, self.state.now, head.label, self.state.number)
        return PlannedRule(self.numbers, self.generation, head, shares and self.settings.sharing), rule

    def life(self, rule: Rule, since: int, label: str, came: int = 0, form: Rule | None = None) -> RuleLife:
        """Return a rule as it is run: with each `any` expanded that is no operator of its own."""
        own = as_run(rule, self.settings) if form is None else form
        return RuleLife(own, since, label=label, came=came, given=rule)

    def compile(self) -> None:
        """Compile all rules over the state they have."""
        if self.compiled:
            self.note_waiting()
        self.is_patched = False
        self.wiring = Wiring([planned for planned, _ in self.rules])
        self.heads.raises = self.traced and self.acts
        planned_heads = [planned.head for planned, _ in self.rules]
        heads = [head.kind for head in planned_heads if not head.hidden]
        self.heads.makers = Counter(heads)
        base = RuleCode(
            self.wiring,
            self.state,
            self.memory,
            self.conditions,
            self.heads,
            self.evidence,
            self._infer_types,
            self.program.signatures,
            self.computed,
            find_levels(planned_heads, self.program.made_levels),
            find_stages(planned_heads, self.program.made_stages),
        )
        base.joint, base.corrects = self.settings.joint_arrivals, self.settings.corrects
        if self.settings.justification_limit is not None:
            base.told = self.settings.justification_limit
        whole = not base.corrects and not raises_later(self.program.tree)
        self.state.timers.give_own(whole and have_own_lanes(self.wiring.entries, planned_heads))
        self.compiler = Compiler(base)
        self.processors = self.compiler.processors()
        self.ticks = self.compile_ticks(self.wiring.leaves)
        self.log = base.log()
        self.listened = {*self.processors, *heads, *self.learned}
        for kind, changes in self.learned.items():
            told = None if self.record is None else self.record.tell
            change = changing(self.conditions.solver.database, changes)
            learn = learn_first(kind[1], change, self.processors.get(kind, _nothing))
            self.processors[kind] = learn if told is None else record_first(kind[1], partial(told, changes), learn)
        for kind in self.spied:
            output = self.conditions.solver.host.output
            self.processors[kind] = show_first(kind, output, self.processors.get(kind, _nothing))
        self.reacts = any(planned.head.hidden for planned, _ in self.rules)
        growing = growing_events(rule for _, rule in self.rules)
        for planned, _ in self.rules:
            made = self.heads.kind(planned)
            if planned.head.hidden:
                continue
            made.grows = (made.name, made.arity) in growing
            made.feeds = self.processors.get((made.name, made.arity))
            if made.feeds is None and self.log is not None:
                made.feeds = _nothing
        self.sources = base.sources
        self.sources += self.turns
        self.numbered = self.log is not None or base.reads_numbers()
        self.has_timers = any(p.falls_due(e.node) for e in self.wiring.entries) or any(
            planned.head.alarm is not None for planned, _ in self.rules
        )
        self.has_timers = self.has_timers or raises_later(self.program.tree)
        self.compiled = True

    def taken_kinds(self) -> list[tuple[str, int]]:
        """Return the kinds of events that rules read, or that are looked at for what they change; compile nothing."""
        if self.compiled:
            return list(self.processors)
        read = (kind for planned, _ in self.rules for kind in p.read_kinds(planned.head.body))
        return list(dict.fromkeys([*read, *self.learned, *self.spied]))

    def _infer_types(self) -> Typing:
        return self._types_among([planned.head for planned, _ in self.rules if not planned.head.hidden])

    def infer_types_of(self, some: Sequence[PlannedRule]) -> Typing:
        """Return the types of what some rules read and make, which are those among all rules."""
        found = [planned.head for planned in some]
        wanted = {kind for head in found for kind in p.read_kinds(head.body)} & self.heads.makers.keys()
        seen: set[p.Kind] = set()
        while wanted:
            seen |= wanted
            makers = [pl.head for pl, _ in self.rules if pl.head.kind in wanted and not pl.head.hidden]
            found += makers
            wanted = {kind for head in makers for kind in p.read_kinds(head.body)} & self.heads.makers.keys() - seen
        return self._types_among(list({id(head): head for head in found}.values()))

    def _types_among(self, heads: Sequence[p.Head]) -> Typing:
        elsewhere = self.program.made_kinds.union(self.heads.made).difference(self.heads.makers)
        declared = {(name, len(s)): tuple(t for _, t in s) for name, s in self.program.signatures.items()}
        return types_event_at_a_time(heads, elsewhere, declared)

    def compile_ticks(self, leaves: Sequence[Wired]) -> list[Tick]:
        """Return the time points among some leaves that are to come, the next one last."""
        compiler = self.compiler
        found = []
        for leaf in leaves:
            if isinstance(leaf.node, p.Tick):
                code = Code([])
                time = code.constant(leaf.node.time)
                compiler.deliver(code, leaf, compiler.marks(code, leaf.node.exports), time, time)
                found.append((leaf.node.time, compiler.base.finish(code, "time point")))
        found = [tick for tick in found if tick[0] > self.state.now]
        return sorted(found, key=lambda tick: tick[0])[::-1]

    def kinds_seen(self) -> list[tuple[str, int]]:
        """Return the kinds of event that make a difference: what rules read and, with isolation, what they know."""
        return list(dict.fromkeys([*self.processors, *(sorted(self.listened) if self.log is not None else ())]))

    def timer_owners(self) -> dict[Hashable, Owner]:
        """Return who may set timers, by place."""
        owners: list[Owner] = [part for part in self.memory.values() if isinstance(part, Waiter | Unmatched)]
        owners += [ring for ring in self.heads.rings.values() if ring.kind.alive]
        return {owner.place: owner for owner in (*owners, self.pending, self.later)}

    def partitioning(self) -> Partitioning:
        """Return by what the events of the rules can be parted."""
        return find_partitioning([planned.head for planned, _ in self.rules], self.program.tree)

    def keys_are(self, positions: Mapping[tuple[str, int], int]) -> bool:
        """Tell whether everything that waits stands under the bare value of a partition's key."""
        parts, stores = self.memory.values(), self.compiler.stores
        bare = all(isinstance(part, dict | deque | Blockers | Doubles) for part in parts)
        bare = bare and not any(isinstance(part, JudgedBlockers) for part in parts)
        joins = [e for e in self.wiring.entries if isinstance(e.node, p.Join)]
        absent = [t for e in self.wiring.entries for t in p.tests(e.node) if isinstance(t, p.Absent)]
        sources = [e.node for e in self.wiring.leaves if isinstance(e.node, p.Source)]
        return (
            bare
            and all(len(stores.shared_key(join)) == len(stores.keys(join)) == 1 for join in joins)
            and all(len(test.joined) == 1 for test in absent)
            and all(
                isinstance(node.args[positions[kind]], Var)
                for node in sources
                if (kind := (node.name, len(node.args))) in positions
            )
        )

    def next_tick(self) -> int:
        """Return when the next time point is."""
        return self.ticks[-1][0] if self.ticks else NEVER

    def fire_tick(self) -> None:
        """Let the next time point happen."""
        self.state.current += 1
        self.ticks.pop()[1]()

    def is_logged(self, kind: tuple[str, int]) -> bool:
        """Tell whether events of a kind may disturb what is isolated."""
        return kind in self.listened and not is_of_wait(kind[0])

    def log_event(self, name: str, arity: int, start: int, end: int) -> None:
        """Note an event for isolation, if the program isolates anything and knows the kind."""
        if self.log is not None and self.is_logged((name, arity)):
            self.log.add(start, end, self.state.current)

    def note_waiting(self) -> None:
        """Mark the parts that are known to have matched by what waits or was made, before that changes."""
        self.evidence.settle()
        self.note_matched(self.wiring.entries)

    def note_matched(self, entries: Sequence[Wired]) -> None:
        """Mark those of some parts that are known to have matched by what waits or was made."""
        for entry in entries:
            store, kind = self.compiler.waits_at(entry), self.compiler.makes_at(entry)
            if (store is not None and has_held(store)) or (kind is not None and kind.has_occurred):
                self.evidence.part(entry.key).seen = True

    def forget(self) -> None:
        """Drop the state of parts that no rule has any more; what they wait for will not come."""
        live = {entry.key for entry in self.wiring.entries}
        if self.log is None:
            self.memory.pop("log", None)
        for key in [k for k in self.memory if k != "log" and k[0] not in live]:
            end_timers(self.memory.pop(key))

    def waiting(self) -> int:
        """Return how many instances wait in the stores of joins."""
        sides = [v for k, v in self.memory.items() if k != "log" and str(k[1]).startswith("side")]
        return sum(map(count_instances, sides))

    def code(self) -> str:
        """Return the generated source, one function after the other, each after comments on its constants."""
        from etalis.runtime.codegen.constants import Constants  # of use where a person looks alone

        lines = Constants(self.compiler).lines
        return "\n".join(f"# {what}\n{''.join(lines(objects))}{text}" for what, text, objects in self.sources)


def _nothing(*_: Any) -> None:
    """An event that no rule listens to, but isolation must see."""
