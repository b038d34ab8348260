"""Stages: rules that one key partitions run side by side, rules with other keys after them.

Rules that make one kind, and rules that need each other, are a unit. Units are put into stages so that everything a
unit reads is received, made in an earlier stage, or made in its own stage under its own key; units without key come
when nothing with a key can. Law: in which stage a rule runs never changes what it makes, if what earlier stages made
comes to it in the round in which it would have come (`runtime.relay`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from etalis.language.syntax import Tree
from etalis.logic.tabling.components import number_components
from etalis.plan import algebra as p
from etalis.plan.keys import Group, Kind, Reason, find_groups, find_partitioning
from etalis.plan.state_access import Access, find_accesses, find_shared_state


@dataclass(frozen=True, slots=True)
class Stage:
    """Rules that run side by side: their places in the program, how their events are parted, what others need of it.

    `read` are the kinds it reads, whoever makes them; `forwarded` those it makes that
    later stages read.
    """

    rules: tuple[int, ...]
    groups: tuple[Group, ...]
    read: tuple[Kind, ...]
    forwarded: tuple[Kind, ...]

    def group_of(self, kind: Kind) -> Group | None:
        """Return the group that reads a kind of event; None if no rule of the stage does."""
        return next((group for group in self.groups if kind in group.kinds), None)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why some of its events cannot be parted."""
        return tuple(reason for group in self.groups for reason in group.reasons)


@dataclass(frozen=True, slots=True)
class Stages:
    """All stages in order; `obstacles` keep a whole program in one stage, in one place."""

    stages: tuple[Stage, ...]
    obstacles: tuple[Reason, ...]
    has_time_points: bool


@dataclass(frozen=True, slots=True)
class _Unit:
    """Rules that cannot be taken apart."""

    rules: tuple[int, ...]
    made: frozenset[Kind]
    read: frozenset[Kind]


def find_stages(
    heads: Sequence[p.Head], tree: Tree | None = None, more: Sequence[Reason] = (), *, several: bool = True
) -> Stages:
    """Put planned rules into stages, of which there may be several; `more` says what else keeps all rules together."""
    reacts = tree is not None and any(head.hidden for head in heads)
    accesses = find_accesses(tree) if reacts and tree is not None else None
    whole = find_partitioning(heads, tree, accesses=accesses)
    shared = dict.fromkeys(find_shared_state(tree)) if reacts and tree is not None else ()
    obstacles = (*whole.obstacles, *(Reason(None, text) for text in shared), *more)
    if obstacles or not several or reacts:
        sets: list[list[int]] = [list(range(len(heads)))]
    else:
        sets = _divide(heads, _units(heads))
    return Stages(_describe(heads, sets, accesses), obstacles, whole.has_time_points)


def one_stage(heads: Sequence[p.Head], stages: Stages) -> Stages:
    """Return the same with all rules in one stage."""
    return Stages(_describe(heads, [list(range(len(heads)))]), stages.obstacles, stages.has_time_points)


def _units(heads: Sequence[p.Head]) -> list[_Unit]:
    """Return the units, each after those that make what it reads."""
    derived = {head.kind for head in heads}
    needs: dict[Kind, dict[Kind, None]] = {}
    for head in heads:
        needs.setdefault(head.kind, {}).update({kind: None for kind in p.read_kinds(head.body) if kind in derived})
    numbers = number_components(needs)
    rules: dict[int, list[int]] = {}
    for i, head in enumerate(heads):
        rules.setdefault(numbers[head.kind], []).append(i)
    units = []
    for _, mine in sorted(rules.items()):
        made = frozenset(heads[i].kind for i in mine)
        units.append(_Unit(tuple(mine), made, frozenset(kind for i in mine for kind in p.read_kinds(heads[i].body))))
    return units


def _divide(heads: Sequence[p.Head], units: Sequence[_Unit]) -> list[list[int]]:
    """Fill one stage after the other, with keys where that is possible."""
    waiting = dict.fromkeys(units)
    keyed = {unit: _has_keys(heads, [unit]) for unit in units}
    stages = []
    while waiting:
        unmade = {kind for unit in waiting for kind in unit.made}
        chosen = _with_keys(heads, [u for u in waiting if keyed[u]], unmade)
        chosen += _without_keys([u for u in waiting if not keyed[u]], unmade, chosen)
        for unit in chosen:
            del waiting[unit]
        stages.append(sorted(i for unit in chosen for i in unit.rules))
    return stages


def _with_keys(heads: Sequence[p.Head], units: Sequence[_Unit], unmade: Collection[Kind]) -> list[_Unit]:
    """Choose units that can run now, each group of them parted by a key."""
    ready = _ready(units, unmade, lambda _: True)
    if _has_keys(heads, ready):  # and so have fewer of them
        return ready
    chosen: list[_Unit] = []

    def fits(unit: _Unit) -> bool:
        if not _has_keys(heads, [*chosen, unit]):
            return False
        chosen.append(unit)
        return True

    return _ready(ready, unmade, fits)


def _without_keys(units: Sequence[_Unit], unmade: Collection[Kind], chosen: Sequence[_Unit]) -> list[_Unit]:
    """Choose units that run in one place: beside others if they share nothing with these, or all if there are none."""
    used = {kind for unit in chosen for kind in unit.read | unit.made}
    return _ready(units, unmade, lambda unit: not unit.read & used)


def _ready(units: Sequence[_Unit], unmade: Collection[Kind], fits: Callable[[_Unit], bool]) -> list[_Unit]:
    """Choose units that fit and read nothing that is still to be made, but by themselves and by those chosen before."""
    missing = set(unmade)
    found = []
    for unit in units:
        if not (unit.read - unit.made) & missing and fits(unit):
            missing -= unit.made
            found.append(unit)
    return found


def _has_keys(heads: Sequence[p.Head], units: Sequence[_Unit]) -> bool:
    groups = find_groups([heads[i] for unit in units for i in unit.rules])
    return all(group.keys or not group.kinds for group in groups)


def _describe(
    heads: Sequence[p.Head], sets: Sequence[Sequence[int]], accesses: Sequence[Access] | None = None
) -> tuple[Stage, ...]:
    """Say what comes to each stage and what goes on from it; reactions and all that they touch are one stage."""
    found = []
    for number, rules in enumerate(sets):
        mine = [heads[i] for i in rules]
        made = dict.fromkeys(head.kind for head in mine)
        later = {kind for rest in sets[number + 1 :] for i in rest for kind in p.read_kinds(heads[i].body)}
        read = dict.fromkeys(kind for head in mine for kind in p.read_kinds(head.body))
        forwarded = tuple(kind for kind in made if kind in later)
        found.append(Stage(tuple(rules), find_groups(mine, accesses), tuple(read), forwarded))
    return tuple(found)
