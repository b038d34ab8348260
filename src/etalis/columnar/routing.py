"""How a program runs over batches: which rules over columns, which event at a time, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from etalis.columnar.clock import MOST_ROUNDS
from etalis.columnar.durations import find_lasting
from etalis.columnar.eligibility import RuleGroup, find_components, flat_types, in_order
from etalis.columnar.families.family import Family, find_families
from etalis.columnar.learning import UNTAUGHT, Learning, program_obstacles
from etalis.columnar.operators.isolation import isolate
from etalis.columnar.row_numbers import MOST_LEAVES, count_leaves, find_untold, number_rows
from etalis.columnar.row_rules import readers_of
from etalis.language.outer.strata import Levels
from etalis.language.rules import declarations
from etalis.logic.machine.database import Database
from etalis.plan import algebra as p
from etalis.plan.answers import Answers
from etalis.plan.strata import find_levels
from etalis.plan.types import Types, Typing, infer_types
from etalis.runtime.compiled import CompiledProgram
from etalis.runtime.state import NEVER

if TYPE_CHECKING:
    from etalis.runtime.engine import RuntimeEngine


@dataclass(frozen=True, slots=True)
class Routing:
    """How a program runs: which rules over columns, which event at a time, and why. `isolating` rules see all.

    `families` are those over columns that are alike; `levels` those of outer joins, by the ids of their nodes,
    `lasting` the kinds of events that may last longer than what comes in; `learning` tells which facts events change.
    """

    heads: tuple[p.Head, ...]
    columnar: tuple[tuple[int, ...], ...]
    at_a_time: tuple[int, ...]
    reasons: tuple[str, ...]
    types: Typing
    isolating: frozenset[int] = frozenset()
    families: tuple[Family, ...] = ()
    levels: Levels = field(default_factory=dict)
    lasting: frozenset[p.Kind] = frozenset()
    learning: Learning = UNTAUGHT

    def describe(self) -> str:
        """Say it in lines."""
        over = [self.heads[i].label for part in self.columnar for i in part]
        lines = [f"over columns: {_listed(over)}"] if over else []
        if self.at_a_time:
            lines.append(f"event at a time: {_listed([self.heads[i].label for i in self.at_a_time])}")
            lines.extend(f"  {reason}" for reason in self.reasons)
        return "\n".join(lines)


def _listed(labels: Sequence[str]) -> str:
    several = list(dict.fromkeys(labels))  # rules may have one label
    return f"{'rule' if len(several) == 1 else 'rules'} {', '.join(several)}"


def choose(
    program: CompiledProgram, received: Types, policy: str | None, database: Database, *, contributors: bool = False
) -> Routing:
    """Decide what of a program runs over columns, given the types of what comes in and the knowledge as it is now.

    With `contributors`, rules over columns tell the rows that their matches are made of.
    """
    planned = program.plans(policy)
    asked = program.settings_under(policy), tuple(received.items()), contributors

    def decide() -> Routing:
        found = _decide(program, planned, received, database, contributors=contributors)
        levels = find_levels(found.heads, program.made_levels)
        return replace(found, levels=levels, lasting=find_lasting(found.heads))

    return program.decided(("routing", asked), planned, decide)


def _decide(
    program: CompiledProgram, planned: tuple[p.Head, ...], received: Types, database: Database, *, contributors: bool
) -> Routing:
    """Decide what of some rules runs over columns."""
    learning = Learning.of(program)
    heads = isolate(planned, received, learning.changes)
    isolating = frozenset(i for i, head in enumerate(heads) if head is not planned[i])
    declared = {kind: tuple(t for _, t in d.attributes) for kind, d in declarations(program.tree).items()}
    answers = Answers(database, learned=learning.types(received, {head.kind for head in heads}, database))
    types = flat_types(infer_types(heads, received, declared, answers, "string"))
    whole = (*_whole_program(program, heads), *program_obstacles(program, learning, types))
    if whole:
        return Routing(heads, (), tuple(range(len(heads))), whole, types)
    parts = find_components(heads, types, program.settings.max_derivations < MOST_ROUNDS, learning)
    if contributors:
        heads, parts = _numbering(heads, parts, learning)
    good = tuple(part.rules for part in parts if not part.reasons and len(part.rules) < MOST_ROUNDS)
    rest = tuple(sorted(i for part in parts if part.rules not in good for i in part.rules))
    reasons = tuple(reason for part in parts for reason in part.reasons)
    alike = () if contributors else tuple(part for part in good if not _learns([heads[i] for i in part], learning))
    families = find_families(heads, alike, types)
    return _undivided(Routing(heads, good, rest, reasons, types, isolating, families, learning=learning))


def _learns(heads: Sequence[p.Head], learning: Learning) -> bool:
    """Tell whether rules change facts, or ask for facts that events change."""
    return any(head.kind in learning.changes or learning.asked_by(head) for head in heads)


def _numbering(
    heads: tuple[p.Head, ...], parts: Sequence[RuleGroup], learning: Learning
) -> tuple[tuple[p.Head, ...], list[RuleGroup]]:
    """Return rules over columns that tell the rows of their matches, and of each part why it does not."""
    several, found = list(heads), []
    for part in parts:
        mine = [heads[i] for i in part.rules]
        reasons = [f"rule {head.label}: {reason}" for head in mine for reason in find_untold(head)]
        ordered = in_order(mine, learning)
        if ordered is None:
            reasons.append(f"rule {mine[0].label}: its contributors are told, and it is recursive")
        elif not (reasons or part.reasons):
            widths = count_leaves([[mine[i] for i in group] for group in ordered])
            wide = [head.label for head in mine if widths[head.kind] > MOST_LEAVES]
            reasons += [
                f"rule {label}: its contributors are told, more than {MOST_LEAVES} of a match" for label in wide
            ]
            if not wide:
                for i in part.rules:
                    several[i] = number_rows(heads[i], widths)
        found.append(replace(part, reasons=(*part.reasons, *dict.fromkeys(reasons))))
    return tuple(several), found


def _undivided(choice: Routing) -> Routing:
    """Run everything event at a time where a rule that sees all events does, or events change facts for all rules."""
    if choice.columnar and choice.at_a_time and choice.learning.changes:
        reasons = (*choice.reasons, "events change facts, which all rules must see change together")
        return replace(event_at_a_time(choice), reasons=reasons)
    if not choice.columnar or choice.isolating.isdisjoint(choice.at_a_time):
        return choice
    label = choice.heads[min(choice.isolating.intersection(choice.at_a_time))].label
    reasons = (*choice.reasons, f"rule {label}: iso looks at what all other rules look at")
    return replace(event_at_a_time(choice), reasons=reasons)


def _whole_program(program: CompiledProgram, heads: Sequence[p.Head]) -> Iterator[str]:
    """Yield what makes a whole program run event at a time."""
    settings = program.settings
    if settings.corrects:
        yield "reported matches may be retracted"
    if settings.logging or settings.store_fired_events:
        yield "every event is logged or kept"
    if program.effects or program.acts_on_run:
        yield "goals have side effects"
    if program.reactions:
        labels = [rule.label for rule in program.rules if rule.hidden]
        yield f"{', '.join(map(str, labels))}: reactions change what later conditions see"
    if program.reads_clock:
        yield "goals read the clock"
    if any(trigger.body is not None for trigger in program.triggers):
        yield "a trigger has a condition"
    if any(isinstance(test, p.Alone) for head in heads for node in p.walk(head.body) for test in p.tests(node)):
        yield "iso looks at parts that may lie between others"


def part_from(engine: RuntimeEngine, choice: Routing, *, goes_on: bool) -> Routing:
    """Leave to an engine what must run there, all the more if its state `goes_on`."""
    whole = tuple(whole_engine(engine, goes_on=goes_on)) if choice.columnar else ()
    if choice.columnar and goes_on and engine.core.rules.log is not None:
        whole += ("iso looks at all events that an engine has processed",)
    if whole:
        return replace(event_at_a_time(choice), reasons=choice.reasons + whole)
    left = set(choice.at_a_time)
    if not left:
        return choice
    tied = tied_to(left, choice.columnar, readers_of(engine.core.rules))
    left.update(i for part in tied for i in part)
    columnar = tuple(part for part in choice.columnar if not left & set(part))
    reasons = tuple(f"rule {choice.heads[part[0]].label}: it has a part of a rule that does not" for part in tied)
    families = tuple(family for family in choice.families if left.isdisjoint(family.numbers))
    at_a_time, reasons = tuple(sorted(left)), choice.reasons + reasons
    found = replace(choice, columnar=columnar, at_a_time=at_a_time, reasons=reasons, families=families)
    return _undivided(found)


def event_at_a_time(choice: Routing) -> Routing:
    """Run everything event at a time."""
    return replace(choice, columnar=(), at_a_time=tuple(range(len(choice.heads))), families=())


def tied_to(
    left: Collection[int], parts: Iterable[tuple[int, ...]], readers: Mapping[int, set[int]]
) -> list[tuple[int, ...]]:
    """Return those of several parts, none of whose rules are left, that share parts of patterns with what is left."""
    gone = set(left)
    rest = [part for part in parts if not gone & set(part)]
    found: list[tuple[int, ...]] = []
    while True:
        more = [part for part in rest if any(each & gone and each & set(part) for each in readers.values())]
        if not more:
            return found
        found += more
        gone.update(i for part in more for i in part)
        rest = [part for part in rest if part not in more]


def whole_engine(engine: RuntimeEngine, *, goes_on: bool = True) -> Iterator[str]:
    """Yield what makes all rules of an engine run event at a time, all the more if its state `goes_on`."""
    rules = engine.core.rules
    if rules.generation or len(rules.rules) < len(rules.first):
        yield "rules were changed at run time"
    if rules.traced and goes_on:
        yield "the contributors of events are kept in an engine that goes on"
    if engine.core.guard is not None:
        yield "the number of instances has a limit"
    if not engine.core.delivery.is_plain():
        yield "events are handed to callbacks"
    if rules.spied:
        yield "events are spied upon"
    if engine.core.changes.next < NEVER:
        yield "facts are to change at a time to come"
    if rules.learned:
        yield from _unlike_facts(engine)


def _unlike_facts(engine: RuntimeEngine) -> Iterator[str]:
    """Yield what keeps facts that events change from columns: these hold plain facts, each once."""
    if engine.core.rules.record is not None:
        yield "events change facts, and what was known before is kept"
    database = engine.core.rules.conditions.solver.database
    for changes in engine.core.rules.learned.items():
        for name, _ in changes[1]:
            predicate = database.predicate(name, changes[0][1])
            if predicate.relation is None:
                yield f"events change {name}/{predicate.arity}, which has more than plain facts"
            elif len({row for row, _ in predicate.live()}) < len(predicate.relation):
                yield f"events change {name}/{predicate.arity}, which has a fact twice"
