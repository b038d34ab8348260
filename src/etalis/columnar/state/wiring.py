"""Which part of an engine's state belongs to which operator over columns, rule by rule.

Operators and the engine's entries (`runtime.network`) come from the same nodes of the plan, so both are walked side by
side; variables of an entry that rules share have other names in each of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

from etalis.columnar.build import SharedOperator
from etalis.columnar.component import AlarmMaker, ColumnComponent
from etalis.columnar.data.casts import UnfitError
from etalis.columnar.operators.aggregate import OpenedAggregate, SlidingAggregate
from etalis.columnar.operators.base import (
    AbsenceTest,
    ColumnOperator,
    FilterOperator,
    SourceOperator,
    TestSequence,
    UnionOperator,
)
from etalis.columnar.operators.deadline import DeadlineOperator, TickOperator
from etalis.columnar.operators.join import JoinOperator
from etalis.columnar.operators.outer_join import OuterJoinOperator
from etalis.columnar.repetition.chains import AnchoredRepetition, ChainRepetition, FollowedRepetition
from etalis.columnar.repetition.counted import CountedRepetition
from etalis.columnar.state.aggregate import ElementLink, OpenerLink
from etalis.columnar.state.base import Link, Undo
from etalis.columnar.state.chains import AnchoredChainLink, ChainLink, WaitingMatches
from etalis.columnar.state.links import BlockerLink, Gap, JoinSideLink, LatestLink, Names, StoredSide
from etalis.columnar.state.repetition import FollowerStore, RepetitionLink
from etalis.columnar.state.timers import AlarmLink, DeadlineLink
from etalis.columnar.state.unmatched import UnmatchedLink
from etalis.plan import algebra as p
from etalis.plan.bindings import sure
from etalis.plan.retention import NEVER_STORED
from etalis.runtime.codegen.network import PlannedRule, Wired
from etalis.runtime.ruleset import RuleSet


class ComponentLinks:
    """The rules of a component, and how what they keep is tied to an engine."""

    def __init__(self, component: ColumnComponent, rules: RuleSet) -> None:
        self.component = component
        self.links: list[Link] = []
        for kind, makers, latest in component.steps:
            self.links.append(LatestLink(latest, rules.heads.made[kind], kind[1], rules.state))
            for maker in makers:
                planned = rules.rules[maker.number][0]
                if isinstance(maker, AlarmMaker):
                    self.links.append(AlarmLink(maker, rules.heads.rings[planned.number], rules.state, latest.types))
                entry, names = root_of(planned, rules)
                self.links.extend(_tie(maker.operator, entry, names, rules))
        self.links.sort(key=lambda link: isinstance(link, BlockerLink))  # these ask what waits

    def load(self) -> None:
        """Read the state of the engine; refuse what columns cannot hold, and equal parts with different contents."""
        loaded: dict[Hashable, Link] = {}
        for link in self.links:
            first = loaded.setdefault(link.here, link)
            if first is link:
                link.load()
            elif first.content() != link.content():
                raise UnfitError("equal parts of rules hold different instances")

    def take_over(self) -> None:
        """Keep the engine from doing what is now done over columns when its time has come."""
        for link in self.links:
            if isinstance(link, DeadlineLink | AlarmLink | UnmatchedLink):
                link.take_over()

    def save(self, saved: set[Hashable]) -> None:
        """Put the state back into the engine, but for parts that have been `saved`: components may share some."""
        for link in self.links:
            if link.there not in saved:
                saved.add(link.there)
                link.save()

    def mark(self) -> Undo:
        """Return what goes back to what is kept now."""
        marks = [link.mark() for link in self.links]

        def back() -> None:
            for undo in marks:
                undo()

        return back

    def clear(self) -> None:
        """Keep nothing over columns."""
        for link in self.links:
            link.clear()


def root_of(planned: PlannedRule, rules: RuleSet) -> tuple[Wired, Names]:
    """Return the entry of a rule's whole body, and the names that the rule has for its variables."""
    for entry in rules.wiring.entries:
        for reader in entry.readers:
            if reader.kind == "head" and reader.target is planned:
                return entry, reader.renames
    raise AssertionError("a rule reads its body")


def _tie(operator: ColumnOperator, entry: Wired, names: Names, rules: RuleSet) -> Iterator[Link]:
    """Yield the links of an operator and of those below it."""
    match operator:
        case SharedOperator(operator=inner):
            yield from _tie(inner, entry, names, rules)
        case SourceOperator() | TickOperator():
            pass
        case UnionOperator(branches=branches):
            for place, branch in enumerate(branches):
                yield from _tie(branch, *below(entry, "input", place, names), rules)
        case FilterOperator(child=child, tests=tests):
            yield from _tie(child, *below(entry, "input", 0, names), rules)
            yield from _tie_tests(tests, entry, names, rules)
        case SlidingAggregate():
            yield from _tie_slider(operator, entry, names, rules)
        case OpenedAggregate():
            yield from _tie_folder(operator, entry, names, rules)
        case DeadlineOperator():
            yield from _tie_waiter(operator, entry, names, rules)
        case JoinOperator():
            yield from _tie_join(operator, entry, names, rules)
        case OuterJoinOperator(join=join, lone=lone):
            yield from _tie_join(join, entry, names, rules)
            if not lone.is_at_once:
                types = {v: join.waiting[lone.place].column(v).type for v in join.names[lone.place]}
                stored = stored_in(entry, lone.place, names, types, rules)
                yield UnmatchedLink(join, lone, rules.memory[entry.key, "unmatched"], stored, rules.state)
        case CountedRepetition():
            yield from _tie_repeater(operator, entry, names, rules)
        case ChainRepetition() | AnchoredRepetition():
            yield from _tie_chains(operator, entry, names, rules, None)
        case FollowedRepetition():
            yield from _tie_followed(operator, entry, names, rules)
        case _:
            raise AssertionError("refused before")


def _tie_join(join: JoinOperator, entry: Wired, names: Names, rules: RuleSet) -> Iterator[Link]:
    places = _places(join.node)
    gaps = tuple(_gap(gap, places[id(gap.test)], entry, names, rules) for gap in join.gaps)
    for place in (0, 1):
        if rules.compiler.stores.retention(entry, place) != NEVER_STORED:
            types = {v: join.waiting[place].column(v).type for v in join.names[place]}
            yield JoinSideLink(join, place, stored_in(entry, place, names, types, rules), () if place else gaps)
        yield from _tie(join.inputs[place], *below(entry, "input", place, names), rules)
    for absence in join.tests.tests:
        if isinstance(absence, AbsenceTest):
            yield from _tie_absence(absence, entry, places[id(absence.test)], names, rules)
    for gap in join.gaps:
        yield from _tie(gap.operator, *below(entry, "negated", places[id(gap.test)], names), rules)


def stored_in(entry: Wired, place: int, names: Names, types: Mapping[str, str], rules: RuleSet) -> StoredSide:
    """Return where instances of one side of a join wait in the engine."""
    memory, stores = rules.memory, rules.compiler.stores
    keys, values = _called(stores.keys(entry), names), _called(stores.columns(entry, place), names)
    store, fifo = memory[entry.key, f"side{place}"], memory.get((entry.key, f"fifo{place}"))
    inputs = _called(stores.values_carried(entry, place), names)
    make_key = stores.key_function(entry, place)
    return StoredSide(store, fifo, keys, values, types, rules.compiler.base.meets_itself(entry), make_key, inputs)


def _places(node: p.Node) -> dict[int, int]:
    """Return the places of a node's absences, by the identity of their tests."""
    return {id(test): place for place, test in enumerate(t for t in p.tests(node) if isinstance(t, p.Absent))}


def _gap(absence: AbsenceTest, place: int, entry: Wired, names: Names, rules: RuleSet) -> Gap:
    return Gap(absence, rules.memory[entry.key, f"blockers{place}"], joined_in(entry, place, names))


def _tie_repeater(repeater: CountedRepetition, entry: Wired, names: Names, rules: RuleSet) -> Iterator[Link]:
    """Yield the links of a repetition; if something follows it, `entry` is that of the join of both."""
    places = {**_places(repeater.node), **({} if repeater.follower is None else _places(repeater.follower))}
    own, known, following = entry, names, None
    if repeater.follower is not None:
        own, known = below(entry, "input", 0, names)
        yield from _tie(repeater.inputs[-1], *below(entry, "input", 1, names), rules)
        gaps = tuple(_gap(gap, places[id(gap.test)], entry, names, rules) for gap in repeater.gaps)
        following = FollowerStore(stored_in(entry, 0, names, {}, rules), gaps)
    node = own.node
    assert isinstance(node, p.Repetition)
    types = {v: repeater.waiting.column(v).type for v in repeater.names}
    exports = node.shared if node.left is None else node.left.exports
    firm = node.shared if node.left is None else [v for v in node.shared if v in sure(node.left) & sure(node.element)]
    called = tuple(_called(variables, known) for variables in (exports, node.shared, firm))
    yield RepetitionLink(repeater, rules.memory[own.key, "operator"], following, called[0], called[1], called[2], types)
    for place in range(len(own.inputs)):
        yield from _tie(repeater.inputs[place], *below(own, "input", place, known), rules)
    for absence in repeater.outcome.tests.tests:
        if isinstance(absence, AbsenceTest):
            yield from _tie_absence(absence, entry, places[id(absence.test)], names, rules)
    for asked, at, called_there in zip(repeater.asked, (own, entry), (known, names), strict=True):
        for absence in () if asked is None else asked.absences:
            yield from _tie_absence(absence, at, places[id(absence.test)], called_there, rules)
    for gap in repeater.gaps:
        yield from _tie(gap.operator, *below(entry, "negated", places[id(gap.test)], names), rules)


def _tie_followed(followed: FollowedRepetition, entry: Wired, names: Names, rules: RuleSet) -> Iterator[Link]:
    """Yield the links of a repetition whose chains are looked for, and of what follows it."""
    join, left = followed.join, followed.inputs[0]
    inner = left.operator if isinstance(left, SharedOperator) else left
    assert isinstance(inner, ChainRepetition | AnchoredRepetition)
    types = {v: join.waiting[0].column(v).type for v in join.names[0]}
    waiting = WaitingMatches(join, FollowerStore(stored_in(entry, 0, names, types, rules), ()), types)
    yield from _tie_chains(inner, *below(entry, "input", 0, names), rules, waiting)
    yield from _tie(followed.inputs[1], *below(entry, "input", 1, names), rules)
    yield from _tie_tests(followed.tests, entry, names, rules)


def _tie_chains(
    operator: ChainRepetition | AnchoredRepetition,
    entry: Wired,
    names: Names,
    rules: RuleSet,
    waiting: WaitingMatches | None,
) -> Iterator[Link]:
    node, theirs = entry.node, rules.memory[entry.key, "operator"]
    assert isinstance(node, p.Repetition)
    shares = _called(node.shared, names)
    if isinstance(operator, ChainRepetition):
        yield ChainLink(operator, theirs, waiting, shares)
    else:
        assert node.left is not None
        firm = [v for v in node.shared if v in sure(node.left) & sure(node.element)]
        rows = operator.join.waiting[0]
        types = {v: rows.column(v).type for v in operator.join.names[0]}
        exports, keys = _called(node.left.exports, names), _called(firm, names)
        yield AnchoredChainLink(operator, theirs, waiting, exports, shares, keys, types)
    for place, child in enumerate(operator.inputs):
        yield from _tie(child, *below(entry, "input", place, names), rules)
    yield from _tie_tests(operator.outcome.tests, entry, names, rules)


def _tie_waiter(waiter: DeadlineOperator, entry: Wired, names: Names, rules: RuleSet) -> Iterator[Link]:
    place = len(entry.negated) - 1
    left, own = waiter.pending, waiter.blockers
    values = _called(p.children(entry.node)[0].exports, names)
    owner = rules.memory[entry.key, "operator"]
    yield DeadlineLink(waiter, owner, rules.state, {v: left.column(v).type for v in values})
    types = {v: own.column(v).type for v in joined_in(entry, place, names)}
    yield BlockerLink(waiter, rules.memory[entry.key, f"blockers{place}"], types)
    yield from _tie(waiter.left, *below(entry, "input", 0, names), rules)
    yield from _tie(waiter.absent, *below(entry, "negated", place, names), rules)
    yield from _tie_tests(waiter.outcome.tests, entry, names, rules)


def _tie_slider(slider: SlidingAggregate, entry: Wired, names: Names, rules: RuleSet) -> Iterator[Link]:
    node, rows = entry.node, slider.total.elements
    assert isinstance(node, p.Fold)
    types = {v: rows.column(v).type for v in slider.total.names}
    theirs = rules.memory[entry.key, "operator"]
    yield ElementLink(slider, theirs, rules.state, _called(node.groups, names), types)
    yield from _tie(slider.elements.operator, *below(entry, "input", 0, names), rules)
    yield from _tie_tests(slider.outcome.outcome.tests, entry, names, rules)


def _tie_folder(folder: OpenedAggregate, entry: Wired, names: Names, rules: RuleSet) -> Iterator[Link]:
    node, waiting, reached = entry.node, folder.join.waiting[0], folder.running.elements
    assert isinstance(node, p.Fold)
    assert node.opener is not None
    firm = [v for v in node.groups if v in node.opener.exports and v in sure(node.opener) and v in sure(node.element)]
    groups, exports = _called(node.groups, names), _called(node.opener.exports, names)
    types = {v: waiting.column(v).type for v in folder.join.names[0]}
    totals = {v: reached.column(v).type for v in folder.running.names}
    theirs = rules.memory[entry.key, "operator"]
    yield OpenerLink(folder, theirs, exports, groups, _called(firm, names), types, totals)
    yield from _tie(folder.openers.operator, *below(entry, "input", 0, names), rules)
    yield from _tie(folder.elements.operator, *below(entry, "input", 1, names), rules)
    yield from _tie_tests(folder.outcome.outcome.tests, entry, names, rules)


def _called(variables: Iterable[str], names: Names) -> tuple[str, ...]:
    """Return how the rule calls the variables of an entry."""
    return tuple(names.get(v, v) for v in variables)


def _tie_tests(tests: TestSequence, entry: Wired, names: Names, rules: RuleSet) -> Iterator[Link]:
    for place, absence in enumerate(t for t in tests.tests if isinstance(t, AbsenceTest)):
        yield from _tie_absence(absence, entry, place, names, rules)


def _tie_absence(absence: AbsenceTest, entry: Wired, place: int, names: Names, rules: RuleSet) -> Iterator[Link]:
    types = {v: absence.blockers.column(v).type for v in joined_in(entry, place, names)}
    yield BlockerLink(absence, rules.memory[entry.key, f"blockers{place}"], types)
    yield from _tie(absence.operator, *below(entry, "negated", place, names), rules)


def joined_in(entry: Wired, place: int, names: Names) -> tuple[str, ...]:
    """Return the variables that an absence shares, as the rule calls them, in the order of the engine's keys."""
    absent: list[p.Absent | p.Deadline] = [t for t in p.tests(entry.node) if isinstance(t, p.Absent)]
    if isinstance(entry.node, p.Deadline):
        absent.append(entry.node)
    return _called(absent[place].joined, names)


def below(entry: Wired, kind: str, place: int, names: Names) -> tuple[Wired, Names]:
    """Return an input of an entry, and the rule's names for its variables."""
    child = (entry.inputs if kind == "input" else entry.negated)[place]
    for reader in child.readers:
        if reader.kind == kind and reader.target is entry and reader.place == place:
            known = {v: reader.renames.get(v, v) for v in (*child.node.exports, *reader.renames)}
            return child, {v: names.get(n, n) for v, n in known.items()}
    raise AssertionError("an input is read by its parent")
