"""Partition analysis: by which attributes events can be partitioned so that every partition can be run alone.

A key names one position per kind of event. Law: if every event pattern of a rule, negated and repeated ones included,
has one and the same variable (or constant) at the position of its kind, and every absence, repetition and aggregate
joins or groups by it, then the rule's results on a stream are the union of its results on the events of each key value,
under every policy: candidates, blockers and counted elements never cross. Derived events carry the key on, up to a
fixpoint. Keys of one group of rules can be combined. What stands in the way is told as data, for `explain`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from etalis.language.check.effects import find_effects, find_lessons
from etalis.language.syntax import Const, Term, Tree, Var
from etalis.plan import algebra as p
from etalis.plan.state_access import Access

Kind: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something cannot be parted; `rule` is the label or number, None where it is the whole program."""

    rule: str | None
    text: str

    def __str__(self) -> str:
        return self.text if self.rule is None else f"rule {self.rule}: {self.text}"


@dataclass(frozen=True, slots=True)
class Key:
    """The position (from 0) that holds the key, per kind of event; `loose` are made kinds that do not carry it.

    Equal loose events can be made in several parts; they are one event, so whoever unites the parts keeps one.
    """

    positions: Mapping[Kind, int]
    loose: frozenset[Kind] = frozenset()


@dataclass(frozen=True, slots=True)
class Group:
    """Rules connected by events: the kinds they read, every key they can be parted by, or the reasons why by none."""

    kinds: tuple[Kind, ...]
    rules: tuple[str, ...]
    keys: tuple[Key, ...]
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Partitioning:
    """How a program's events can be parted: each group by its own keys, or all in one place for the `obstacles`."""

    groups: tuple[Group, ...]
    obstacles: tuple[Reason, ...]
    has_time_points: bool

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Everything that keeps events together."""
        return (*self.obstacles, *(r for g in self.groups for r in g.reasons))

    def group_of(self, kind: Kind) -> Group | None:
        """Return the group that reads a kind of event; None if no rule does."""
        return next((group for group in self.groups if kind in group.kinds), None)


@dataclass(frozen=True, slots=True)
class _Part:
    """A rule, or one alternative of a rule that is an `or`: what must have one key."""

    head: p.Head
    body: p.Node
    made: Kind
    sources: Mapping[Kind, tuple[p.Source, ...]]
    raises: bool = False  # a reaction raises what it makes: a bag, of which no two parts may make equal ones


def find_partitioning(
    heads: Sequence[p.Head], tree: Tree | None = None, *, accesses: Sequence[Access] | None = None
) -> Partitioning:
    """Find the keys of planned rules; `tree` holds the knowledge whose side effects keep everything together.

    Reactions are parted only where `accesses` says what each of them reaches; else they keep everything together.
    """
    parts = [part for head in heads for part in _parts(head)]
    nodes = [(part, node) for part in parts for node in p.walk(part.body)]
    told = () if tree is None else (*find_effects(tree), *find_lessons(tree))
    obstacles = [*_whole_program(nodes), *(Reason(None, text) for text in told)]
    hidden = [head for head in heads if head.hidden]
    if accesses is None:
        obstacles += [Reason(head.label, "it may read and change state that others read") for head in hidden]
    else:
        both = zip(hidden, accesses, strict=True)
        obstacles += [Reason(head.label, access.obstacle) for head, access in both if access.obstacle is not None]
    return Partitioning(
        find_groups(heads, accesses),
        tuple(dict.fromkeys(obstacles)),
        any(isinstance(node, p.Tick) for _, node in nodes),
    )


def find_groups(heads: Sequence[p.Head], accesses: Sequence[Access] | None = None) -> tuple[Group, ...]:
    """Find the keys of some planned rules, as if there were no others; of reactions if it is known what they reach."""
    parts = [part for head in heads if not head.hidden for part in _parts(head)]
    if accesses is not None:
        hidden = [head for head in heads if head.hidden]
        parts += [part for head, access in zip(hidden, accesses, strict=True) for part in _reacting(head, access)]
    return _groups(parts)


def _reacting(head: p.Head, access: Access) -> Iterator[_Part]:
    """Yield the parts of a reaction: facts are read like events of their keys, raised events are made."""
    for part in _parts(head):
        facts = {
            (f"the key of {show(key)}, state", len(several[0])): tuple(p.Source(key[0], terms, ()) for terms in several)
            for key, several in access.facts.items()
        }
        part = replace(part, sources={**part.sources, **facts})
        yield part
        for event in access.raised:
            raised = replace(head, event=event)
            yield replace(part, head=raised, made=raised.kind, raises=True)


def _groups(parts: Sequence[_Part]) -> tuple[Group, ...]:
    makers = _Makers(parts)
    return tuple(_group(group, makers) for group in _connect(parts, makers))


def _whole_program(nodes: Iterable[tuple[_Part, p.Node]]) -> Iterator[Reason]:
    """Yield what concerns all events at once, whatever their keys."""
    for part, node in nodes:
        if isinstance(node, p.Tick):
            yield Reason(part.head.label, "a time point happens once, for all events together")
        if any(isinstance(test, p.Alone) for test in p.tests(node)):
            yield Reason(part.head.label, "iso looks at events of every kind, whatever their attributes")


def _parts(head: p.Head) -> Iterator[_Part]:
    """Yield what must have one key: the alternatives of a rule that is an `or`, perhaps under conditions."""
    for body in _alternatives(head.body):
        sources: dict[Kind, tuple[p.Source, ...]] = {}
        for node in p.walk(body):
            if isinstance(node, p.Source):
                kind = (node.name, len(node.args))
                sources[kind] = (*sources.get(kind, ()), node)
        yield _Part(head, body, head.kind, sources)


def _alternatives(node: p.Node) -> Iterator[p.Node]:
    match node:
        case p.Union(branches=branches):
            for branch in branches:
                yield from _alternatives(branch)
        case p.Filter(child=p.Union() as child) if not any(isinstance(t, p.Absent | p.Alone) for t in node.tests):
            for branch in _alternatives(child):
                yield replace(node, child=branch)
        case _:
            yield node


class _Makers:
    """Which kinds are read, and by how many rules and alternatives each kind is made."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self.read = {kind for part in parts for kind in part.sources}
        self.labels: dict[Kind, set[str]] = {}
        self.count: dict[Kind, int] = {}
        self.raised = {part.made for part in parts if part.raises}
        for part in parts:
            self.labels.setdefault(part.made, set()).add(part.head.label)
            self.count[part.made] = self.count.get(part.made, 0) + 1

    def must_carry(self, kind: Kind) -> bool:
        """Tell whether a made kind needs the key: it is read, or else parts could disagree whose it is."""
        return kind in self.read or kind in self.raised or len(self.labels[kind]) > 1


def _connect(parts: Sequence[_Part], makers: _Makers) -> list[list[_Part]]:
    """Put parts together that read the same kinds, or what the other makes."""
    leader: dict[Kind, Kind] = {}

    def find(kind: Kind) -> Kind:
        while leader.setdefault(kind, kind) != kind:
            leader[kind] = leader[leader[kind]]
            kind = leader[kind]
        return kind

    def touched(part: _Part) -> list[Kind]:
        return [*part.sources, *((part.made,) if makers.must_carry(part.made) else ())]

    for part in parts:
        first, *others = touched(part) or [part.made]
        for kind in others:
            leader[find(kind)] = find(first)
    groups: dict[Kind, list[_Part]] = {}
    for part in parts:
        groups.setdefault(find((touched(part) or [part.made])[0]), []).append(part)
    return list(groups.values())


def _group(parts: Sequence[_Part], makers: _Makers) -> Group:
    kinds = tuple(dict.fromkeys(kind for part in parts for kind in part.sources))
    rules = tuple(dict.fromkeys(part.head.label for part in parts))
    if not kinds:
        return Group((), rules, (), ())
    readers: dict[Kind, list[_Part]] = {}
    for part in parts:
        for kind in {*part.sources, part.made}:
            readers.setdefault(kind, []).append(part)
    seed = min(kinds, key=lambda kind: kind[1])
    tries = [_follow(seed, position, readers, makers) for position in range(seed[1])]
    keys = tuple(found for found in tries if isinstance(found, Key))
    reasons = [found for found in tries if isinstance(found, Reason)]
    if not seed[1]:
        reasons = [Reason(readers[seed][0].head.label, f"{show(seed)} has no attribute that could be a key")]
    return Group(kinds, rules, keys, () if keys else tuple(dict.fromkeys(reasons)))


def _follow(seed: Kind, position: int, readers: Mapping[Kind, list[_Part]], makers: _Makers) -> Key | Reason:
    """Follow a key from one kind through all rules that touch it, to a fixpoint."""
    positions = {seed: position}
    loose: set[Kind] = set()
    waiting = [seed]
    while waiting:
        kind = waiting.pop()
        for part in readers.get(kind, ()):
            unknown = [k for k in dict.fromkeys((*part.sources, part.made)) if k not in positions]
            reason = _extend(part, kind, positions, loose, makers)
            if reason is not None:
                return Reason(part.head.label, reason)
            waiting.extend(k for k in unknown if k in positions)
    return Key(positions, frozenset(loose))


def _extend(part: _Part, kind: Kind, positions: dict[Kind, int], loose: set[Kind], makers: _Makers) -> str | None:
    """Add what a part says about positions; return why the key cannot pass it."""
    term = _term_at(part, kind, positions[kind])
    if term is None:
        return f"attribute {positions[kind] + 1} of {show(kind)} is not one variable or constant throughout"
    for read, sources in part.sources.items():
        place = _place(term, [source.args for source in sources], positions.get(read))
        if place is None:
            settled = f", partitioned by attribute {positions[read] + 1}," if read in positions else ""
            return f"{show(read)}{settled} is not joined by {_shown(term, kind, positions[kind])}"
        positions[read] = place
    crossing = _crossing(part.body, term) if isinstance(term, Var) else None
    if crossing is not None:
        return f"{crossing} {_shown(term, kind, positions[kind])}"
    return _carry(part, term, kind, positions, loose, makers)


def _carry(
    part: _Part, term: Term, kind: Kind, positions: dict[Kind, int], loose: set[Kind], makers: _Makers
) -> str | None:
    """Let the part's head carry the key, or note that it does not and need not."""
    made = part.made
    place = _place(term, [part.head.event.args], positions.get(made))
    if place is None and makers.must_carry(made):
        why = "is raised" if part.raises else "other rules read" if made in makers.read else "several rules derive"
        return f"its head {show(made)}, which {why}, does not carry {_shown(term, kind, positions[kind])}"
    if place is None or (makers.count[made] > 1 and not makers.must_carry(made)):
        loose.add(made)
    else:
        positions[made] = place
    return None


def _term_at(part: _Part, kind: Kind, position: int) -> Term | None:
    """Return the variable or constant at a kind's key position, if it is one for the whole part."""
    found = [source.args[position] for source in part.sources.get(kind, ())]
    if not found:
        found = [part.head.event.args[position]]
    term = found[0]
    return term if isinstance(term, Var | Const) and all(_same(term, other) for other in found) else None


def _place(term: Term, several: Sequence[tuple[Term, ...]], fixed: int | None) -> int | None:
    """Return the first position where all patterns have a term; `fixed` if it is settled and they have it there."""
    candidates = range(len(several[0])) if fixed is None else (fixed,)
    return next((i for i in candidates if all(_same(term, args[i]) for args in several)), None)


def _same(a: Term, b: Term) -> bool:
    """Tell whether two terms are one variable, or equal constants (1 and 1.0 are not)."""
    match a, b:
        case Var(name=x), Var(name=y):
            return x == y
        case Const(value=x), Const(value=y):
            return type(x) is type(y) and bool(x == y)
        case _:
            return False


_CROSSING: Mapping[type[p.Node], str] = {
    p.Repetition: "a repetition counts events of all values of",
    p.Fold: "an aggregate is not grouped by",
    p.Deadline: "an absence is not joined by",
}


def _crossing(body: p.Node, key: Var) -> str | None:
    """Return what looks across values of the key: an absence, a repetition or an aggregate that does not join by it."""
    name = key.name
    for node in p.walk(body):
        groups = p.groups(node)
        if groups is not None and name not in groups:
            return _CROSSING[type(node)]
        if any(isinstance(test, p.Absent) and name not in test.joined for test in p.tests(node)):
            return "an absence is not joined by"
    return None


def _shown(term: Term, kind: Kind, position: int) -> str:
    """Name a key in words: by its variable, or by its place where that has no name."""
    if isinstance(term, Var) and not term.name.startswith("_"):
        return term.name
    return f"attribute {position + 1} of {show(kind)}"


def show(kind: Kind) -> str:
    """Write a kind of event.

    >>> show(("withdrawal", 3))
    'withdrawal/3'
    """
    return f"{kind[0]}/{kind[1]}"
