"""A type per attribute position of every kind of event: declared, or found by following values, else `term`.

Types flow from received events through joins, conditions (`answers`) and aggregates into heads, and on through the
rules that read them, up to a fixpoint. Law: where a type other than `term` is inferred, every value at that position is
of the type, or null; a declared type is what its author says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import TypeAlias

from etalis.language.check.goals import calls, takes_unbound
from etalis.language.lower import to_logic
from etalis.language.syntax import Const, Term, Var
from etalis.language.traversal import variables
from etalis.plan import algebra as p
from etalis.plan.answers import Answers
from etalis.plan.bindings import bound_by_pairs, sure
from etalis.plan.lattice import ANY_VALUE, ANYTHING, NULL, NUMBER, TERM, Type, TypeBound, both, either, type_of_value
from etalis.temporal.aggregate import FOLDS

Kind: TypeAlias = tuple[str, int]
Types: TypeAlias = Mapping[Kind, tuple[str, ...]]
_Found: TypeAlias = Mapping[Kind, tuple[Type, ...]]
ANY = "any"  # what an attribute is declared that may hold whatever comes
_Known: TypeAlias = dict[str, TypeBound]
_COMPUTING = frozenset((name, 2) for name in (",", "is", "=", "==", "=:=", "=\\=", "<", ">", "=<", ">=")) | {
    ("t1", 1),
    ("t2", 1),
}


class Typing(Types):
    """The types of every kind of event, and of the variables of patterns over them.

    `answers` tell what conditions bind; what is always null has the type `nothing`.
    """

    def __init__(self, kinds: Types, answers: Answers, nothing: str) -> None:
        self.kinds = kinds
        self.answers = answers
        self.nothing = nothing
        self._flow = _Flow(kinds, answers, {})
        self._sure: dict[int, tuple[p.Node, list[frozenset[str]], frozenset[str]]] = {}

    def __getitem__(self, kind: Kind) -> tuple[str, ...]:
        return self.kinds[kind]

    def __iter__(self) -> Iterator[Kind]:
        return iter(self.kinds)

    def __len__(self) -> int:
        return len(self.kinds)

    def variables(self, node: p.Node) -> dict[str, str]:
        """Return the types of the variables that a node's matches bind."""
        return {name: bound.type or self.nothing for name, bound in self._flow.known(node).items()}

    def made_types(self, head: p.Head) -> tuple[Type, ...]:
        """Return the types of what a rule makes."""
        known = self._flow.known(head.body)
        return tuple(_type_of(arg, known) for arg in head.event.args)

    def sure(self, node: p.Node) -> frozenset[str]:
        """Return the variables that every match of a node binds."""
        return self._surely(node)[1]

    def sure_by_test(self, node: p.Node) -> list[frozenset[str]]:
        """Return the variables that every match of a node has bound before each of its tests, and after all.

        Where a part may be missing these are pairs, since nothing is asked of a part alone.
        """
        return self._surely(node)[0]

    def pairs(self, node: p.Join) -> dict[str, str]:
        """Return the types of the variables that a join's pairs bind."""
        return {name: bound.type or self.nothing for name, bound in self._flow.stages(node)[-1].items()}

    def _surely(self, node: p.Node) -> tuple[list[frozenset[str]], frozenset[str]]:
        if id(node) not in self._sure:
            always = bound_by_pairs(node)
            stages = [always | _sure_of(known) for known in self._flow.stages(node)]
            is_outer = isinstance(node, p.Join) and node.alone is not None
            whole = sure(node) | _sure_of(self._flow.known(node)) if is_outer else stages[-1]
            self._sure[id(node)] = node, stages, whole
        return self._sure[id(node)][1:]


def infer_types(
    heads: Sequence[p.Head], received: Types, declared: Types, answers: Answers | None = None, nothing: str = TERM
) -> Typing:
    """Return the types of every kind that rules make or read.

    `received` are the kinds that come from outside, with what is known of them; a kind that is neither made nor
    received nor declared has `term` throughout. What is declared `any` has the type of its values; `term` may be known
    better where it is received and not made. Without `answers`, nothing is known of what facts bind.
    """
    known = Answers() if answers is None else answers
    made = dict.fromkeys(head.kind for head in heads)
    read = dict.fromkeys(kind for head in heads for kind in p.read_kinds(head.body))
    found: dict[Kind, tuple[Type, ...]] = {kind: (None,) * kind[1] for kind in made}
    found.update({kind: (TERM,) * kind[1] for kind in read if kind not in made})
    found.update(received)
    for kind, types in declared.items():
        if kind in made or kind not in received:
            open_types = found.get(kind, (TERM,) * kind[1])
            found[kind] = tuple(o if t == ANY else t for o, t in zip(open_types, types, strict=True))
    _flow(heads, found, declared, known)
    return Typing({kind: tuple(t or nothing for t in types) for kind, types in found.items()}, known, nothing)


def may_hold(known: Sequence[str] | None, types: Sequence[Type]) -> bool:
    """Tell whether attributes of some types may also be of others without being known less well."""
    return known is None or all(either(old, new) == old for old, new in zip(known, types, strict=True))


def asks_knowledge(heads: Sequence[p.Head]) -> bool:
    """Tell whether what rules bind may be of types that the knowledge decides."""
    nodes = (node for head in heads for node in p.walk(head.body))
    binding = (test for node in nodes for test in p.tests(node) if isinstance(test, p.GoalTest) and test.outputs)
    return not all(call.indicator in _COMPUTING for test in binding for call in calls(test.goal))


class _Everything(Collection[Kind]):
    """Predicates of which nothing is known: any may be defined or changed while events are processed."""

    def __contains__(self, _: object) -> bool:
        return True

    def __iter__(self) -> Iterator[Kind]:
        return iter(())

    def __len__(self) -> int:
        return 0


def types_event_at_a_time(heads: Sequence[p.Head], elsewhere: Collection[Kind], declared: Types) -> Typing:
    """Return the types of what an engine with these rules sees: pushed values are converted, those of heads are not.

    Any kind may be pushed, so one that is not declared has `term` throughout, and one that is made and declared the
    declared types where all heads keep to them. What is made `elsewhere` comes as it is.
    """
    received = {
        kind: tuple(TERM if t == ANY else t for t in types) for kind, types in declared.items() if kind not in elsewhere
    }
    return infer_types([h for h in heads if h.kind in received], received, {}, Answers(changing=_Everything()))


def _flow(heads: Sequence[p.Head], found: dict[Kind, tuple[Type, ...]], declared: Types, answers: Answers) -> None:
    """Let types flow through the rules until nothing changes; they only grow towards `term`."""
    readers: dict[Kind, list[p.Head]] = {}
    for head in heads:
        for kind in p.read_kinds(head.body):
            readers.setdefault(kind, []).append(head)
    waiting = dict.fromkeys(range(len(heads)))
    numbers = {id(head): i for i, head in enumerate(heads)}
    while waiting:
        head = heads[next(iter(waiting))]
        del waiting[numbers[id(head)]]
        kind = head.kind
        is_open = [t == ANY for t in declared.get(kind, (ANY,) * kind[1])]
        if not any(is_open) and is_open:
            continue
        known = _Flow(found, answers).known(head.body)
        places = zip(is_open, found[kind], head.event.args, strict=True)
        new = tuple(either(old, _type_of(a, known)) if may_grow else old for may_grow, old, a in places)
        if new != found[kind]:
            found[kind] = new
            waiting.update(dict.fromkeys(numbers[id(reader)] for reader in readers.get(kind, ())))


def _type_of(term: Term, known: _Known) -> Type:
    match term:
        case Var(name=name):
            return known.get(name, ANYTHING).type
        case Const(value="null"):
            return None
        case Const(value=value):
            return {int: "int", str: "string", tuple: TERM}.get(type(value), "float")
        case _:
            return TERM


def _join(a: _Known, b: _Known) -> _Known:
    """Return what is known of the variables of two parts that match together; a value that is sure decides."""
    joined = dict(a)
    for name, other in b.items():
        mine = a.get(name)
        if mine is None:
            joined[name] = other
        elif mine.sure and other.sure:
            joined[name] = TypeBound(both(mine.type, other.type), True)
        elif mine.sure or other.sure:
            joined[name] = mine if mine.sure else other
        else:
            joined[name] = TypeBound(either(mine.type, other.type), False)
    return joined


@lru_cache(maxsize=256)
def _sure_bound(known: Type) -> TypeBound:
    return TypeBound(known, True)


@dataclass(frozen=True, slots=True)
class _Flow:
    """How types flow through a pattern, given those of the kinds found so far."""

    found: _Found
    answers: Answers
    memo: dict[int, tuple[p.Node, list[_Known]]] | None = None  # by identity, once the types of all kinds are known

    def known(self, node: p.Node) -> _Known:
        """Return what is known of the variables that a node's matches bind."""
        found = self.stages(node)[-1]
        if isinstance(node, p.Join) and node.alone is not None:
            return _outer(self.known(node.left if node.alone == "left" else node.right), found)
        return found

    def stages(self, node: p.Node) -> list[_Known]:
        """Return what is known of the variables of a node's matches before each of its tests, and after all."""
        if self.memo is not None and id(node) in self.memo:
            return self.memo[id(node)][1]
        found = [self._bound(node)]
        for test in p.tests(node):
            known = found[-1]
            found.append({**known, **self._goal(test, known)} if isinstance(test, p.GoalTest) else known)
        if self.memo is not None:
            self.memo[id(node)] = node, found
        return found

    def _bound(self, node: p.Node) -> _Known:
        match node:
            case p.Source(name=name, args=args):
                types = self.found.get((name, len(args)), (TERM,) * len(args))
                inner = {v.name: ANY_VALUE for a in args if not isinstance(a, Var) for v in variables(a)}
                single = [{a.name: _sure_bound(t)} for a, t in zip(args, types, strict=True) if isinstance(a, Var)]
                return reduce(_join, single, inner)
            case p.Tick():
                return {}
            case p.Union(branches=branches):
                return _union([self.known(branch) for branch in branches])
            case p.Repetition(element=element, shared=shared):
                inside = _only(self.known(element), shared)
                return inside if node.left is None else _join(self.known(node.left), inside)
            case p.Fold():
                return _fold(node, self.known(node.element), {} if node.opener is None else self.known(node.opener))
            case p.SomeOf():
                several = _union([self.known(part) for part in node.constituents])
                return {name: TypeBound(each.type, name in sure(node)) for name, each in several.items()}
            case p.Join() | p.Filter() | p.Deadline():
                return reduce(_join, map(self.known, p.children(node)))

    def _goal(self, test: p.GoalTest, known: _Known) -> _Known:
        """Return what is known of the variables that a condition binds, or may bind where they have no value yet."""
        goal = to_logic(test.goal)
        given = {name: known.get(name, ANYTHING) for name in test.inputs}
        loose = () if takes_unbound(test.goal, test.inputs) else [n for n, bound in given.items() if not bound.sure]
        names = (*test.outputs, *loose)
        before = {goal.variable(name): bound for name, bound in given.items() if bound.sure}
        found = self.answers.solve(goal.term, before)
        if found is None:
            return dict.fromkeys(names, NULL)
        return {name: found.get(goal.variable(name), ANYTHING) for name in names}


def _outer(alone: _Known, pairs: _Known) -> _Known:
    """Return what is known of the variables of a part that matches alone too: then only it binds some."""
    found = {}
    for name, each in pairs.items():
        mine = alone.get(name)
        if mine is None:
            found[name] = TypeBound(each.type, False)
        else:
            found[name] = mine if mine.sure else TypeBound(either(mine.type, each.type), False)
    return found


def _sure_of(known: _Known) -> frozenset[str]:
    return frozenset(name for name, bound in known.items() if bound.sure)


def _union(parts: Sequence[_Known]) -> _Known:
    names = dict.fromkeys(name for part in parts for name in part)
    total: _Known = {}
    for name in names:
        several = [part[name] for part in parts if name in part]
        sure = len(several) == len(parts) and all(each.sure for each in several)
        total[name] = TypeBound(reduce(either, [each.type for each in several]), sure)
    return total


def _only(known: _Known, names: Sequence[str]) -> _Known:
    return {name: known.get(name, ANYTHING) for name in names}


def _fold(node: p.Fold, inside: _Known, opener: _Known) -> _Known:
    """Return what is known after an aggregate; at its opener, the variables of elements have no value yet."""
    groups = _only(inside, node.groups)
    if node.opener is not None:
        groups = {name: TypeBound(each.type, False) for name, each in groups.items()}
    known = _join(opener, groups)
    if isinstance(node.result, Var):
        return _join(known, {node.result.name: TypeBound(_fold_type(node, inside), True)})
    return _join({v.name: ANY_VALUE for v in variables(node.result)}, known)


def _fold_type(node: p.Fold, inside: _Known) -> Type:
    """Return the type of an aggregate's value; the sum at an opener is the integer 0, whatever is summed later."""
    row = FOLDS[node.kind]
    found = row.type(TERM if node.value is None else _type_of(node.value, inside))
    if node.opener is None or not row.at_opener or not node.at_opener <= set(node.opener.exports):
        return found
    first = type_of_value(row.first)
    return NUMBER if found == NUMBER and first in ("int", "float") else either(found, first)
