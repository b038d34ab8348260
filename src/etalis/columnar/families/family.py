"""Families: rules of one shape, as one rule over events that say for which member of the family they are.

Every leaf of the common rule gives an event once for each member whose constants it has; all above it shares the
variable `MEMBER`, so that nothing of one member meets anything of another. What constants are elsewhere are variables,
of which the leaf knows the values. Law: what the common rule matches with a member is what the member's own rule
matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import dropwhile, takewhile
from typing import TypeAlias

from etalis.columnar.data.columns import Column, from_values
from etalis.columnar.families.search import MOST_SHARES, EqualKeys, MemberSearch, equality, find_search
from etalis.columnar.families.shape import COMPARISONS, NoShapeError, shape_of, type_of_constant, with_constants
from etalis.data.values import Value
from etalis.language.check.goals import conjuncts
from etalis.language.ground_terms import variables
from etalis.language.syntax import Compound, Const, Term, Var
from etalis.plan import algebra as p
from etalis.plan.types import Typing

Kind: TypeAlias = tuple[str, int]
MEMBER = "_#member"
LEAST = 8  # rules, for which a family is worth its making
_PARAMETER = "_#constant"


@dataclass(frozen=True, slots=True)
class CommonLeaf:
    """A leaf of the common rule: the events that it reads, how members are found, and the constants that it tells.

    `shared` is what all members ask first.
    """

    source: p.Source
    search: MemberSearch
    tells: tuple[str, ...]
    shared: p.Prefilter | None


@dataclass(frozen=True, slots=True)
class Family:
    """Rules of one shape, by member, and the common rule with its types.

    `kinds` are what they make: one kind, or one for each member, which the first attribute of the common head tells.
    `columns` has the constants that are told, by member.
    """

    numbers: tuple[int, ...]
    heads: tuple[p.Head, ...]
    common: p.Head
    kinds: tuple[Kind, ...]
    types: Typing
    leaves: Mapping[p.Node, CommonLeaf]
    columns: Mapping[str, Column]
    own: dict[int, list[p.Node]] = field(default_factory=dict, compare=False)

    def nodes(self, member: int) -> list[p.Node]:
        """Return the nodes of a member's own rule, in the order of those of the common one."""
        if member not in self.own:
            self.own[member] = list(p.walk(self.heads[member].body))
        return self.own[member]

    def own_node(self, node: p.Node, member: int) -> p.Node:
        """Return the node of a member's own rule for which one of the common rule stands."""
        return self.nodes(member)[next(i for i, each in enumerate(p.walk(self.common.body)) if each is node)]


def find_families(heads: Sequence[p.Head], parts: Sequence[tuple[int, ...]], types: Typing) -> tuple[Family, ...]:
    """Return the families among rules that share no event with others, each of all rules that make a kind."""
    if sum(map(len, parts)) < LEAST:
        return ()
    made = {head.kind for head in heads}
    alike: dict[object, list[int]] = {}
    values: dict[int, tuple[Value, ...]] = {}
    for part in parts:
        if len({heads[i].kind for i in part}) > 1 or any(made & set(p.read_kinds(heads[i].body)) for i in part):
            continue
        try:
            shapes = {i: shape_of(heads[i]) for i in part}
        except NoShapeError:
            continue
        several = {shape for shape, _ in shapes.values()}
        if len(several) > 1 or (1 < len(part) < LEAST):
            continue
        kind = heads[part[0]].kind
        key = (*several, tuple(types[kind]), kind if len(part) > 1 else None)
        alike.setdefault(key, []).extend(part)
        values.update({i: constants for i, (_, constants) in shapes.items()})
    found = (_family(numbers, heads, values, types) for numbers in alike.values() if len(numbers) >= LEAST)
    return tuple(family for family in found if family is not None)


def _family(
    numbers: Sequence[int], heads: Sequence[p.Head], values: Mapping[int, tuple[Value, ...]], types: Typing
) -> Family | None:
    """Return the family of some rules; None if a leaf does not tell members apart."""
    is_one_kind = len({heads[i].kind for i in numbers}) == 1
    ordered = sorted(numbers, key=lambda i: i if is_one_kind else (heads[i].kind[1], heads[i].kind[0]))
    first = heads[ordered[0]]
    names = _Names([tuple(values[i][place] for i in ordered) for place in range(len(values[ordered[0]]))])
    head = with_constants(first, names.next)
    kinds = (first.kind,) if is_one_kind else tuple(heads[i].kind for i in ordered)
    asked = [v for arg in head.event.args for v in variables(arg) if v in names.vectors]
    try:
        common = _Common(names.vectors, types)
        body = common.thread(head.body, tuple(dict.fromkeys(asked)))
    except NoShapeError:
        return None
    if len(common.leaves) > 1 and not all(_is_narrow(leaf.search) for leaf in common.leaves.values()):
        return None
    args = head.event.args if is_one_kind else (Var(MEMBER), *head.event.args)
    head = replace(head, event=replace(head.event, args=args), body=body)
    common.kinds[head.kind] = (*(() if is_one_kind else ("int",)), *types[first.kind])
    typing = Typing({**types.kinds, **common.kinds}, types.answers, types.nothing)
    columns = {name: from_values(several, _type(several)) for name, several in names.vectors.items()}
    columns[MEMBER] = from_values(range(len(ordered)), "int")
    return Family(tuple(ordered), tuple(heads[i] for i in ordered), head, kinds, typing, common.leaves, columns)


def _is_narrow(search: MemberSearch) -> bool:
    """Tell whether an event is for few members, so that it can wait in a join for each of them."""
    return isinstance(search, EqualKeys) and search.shares <= MOST_SHARES


def _type(values: Sequence[Value]) -> str:
    return type_of_constant(values[0])


class _Names:
    """The constants of rules that are alike, in the order in which they are visited: those that differ get names."""

    def __init__(self, columns: Sequence[tuple[Value, ...]]) -> None:
        self.columns = iter(columns)
        self.names: dict[tuple[Value, ...], str] = {}

    @property
    def vectors(self) -> dict[str, tuple[Value, ...]]:
        """The values of each name, by member."""
        return {name: values for values, name in self.names.items()}

    def next(self, const: Const) -> Term:
        """Return what stands for the next constant."""
        values = next(self.columns)
        if all(value == values[0] for value in values):
            return const
        return Var(self.names.setdefault(values, f"{_PARAMETER}{len(self.names)}"))


class _Common:
    """The body of a common rule in the making, with its leaves and their kinds."""

    def __init__(self, vectors: Mapping[str, tuple[Value, ...]], types: Typing) -> None:
        self.vectors = vectors
        self.types = types
        self.kinds: dict[Kind, tuple[str, ...]] = {}
        self.leaves: dict[p.Node, CommonLeaf] = {}

    def thread(self, node: p.Node, asked: tuple[str, ...], tests: Sequence[p.Test] = ()) -> p.Node:
        """Return a node whose matches tell their member, and the constants that are asked for.

        `tests` are those that a leaf's events must pass in any case.
        """
        match node:
            case p.Source():
                return self._leaf(node, asked, tests)
            case p.Filter(child=child):
                below = self.thread(child, self._with_own(asked, node.tests), node.tests)
                return replace(node, child=below, tests=self._tests(node.tests), exports=_more(node, (below,)))
            case p.Join(left=left, right=right):
                a, b = self.thread(left, self._with_own(asked, node.tests)), self.thread(right, ())
                return replace(node, left=a, right=b, tests=self._tests(node.tests), exports=_more(node, (a, b)))
            case p.Union(branches=branches):
                several = tuple(self.thread(branch, asked) for branch in branches)
                return replace(node, branches=several, exports=_more(node, several[:1]))
            case _:
                raise NoShapeError

    def _leaf(self, node: p.Source, asked: tuple[str, ...], tests: Sequence[p.Test]) -> p.Node:
        types = self.types[node.name, len(node.args)]
        keys = {
            v.name: t for v, t in zip(node.args, types, strict=True) if isinstance(v, Var) and v.name in self.vectors
        }
        known = {v.name: t for v, t in zip(node.args, types, strict=True) if isinstance(v, Var)}
        search = find_search(keys, known, tests, self.vectors)
        if search is None:
            raise NoShapeError
        source = replace(node, exports=tuple(dict.fromkeys((*node.exports, *keys))))
        tells = tuple(v for v in asked if v not in keys)
        args = (*node.args, Var(MEMBER), *map(Var, tells))
        name = f"{node.name} {len(self.leaves)}"
        while (name, len(args)) in self.types:
            name += "'"
        exports = (*node.exports, MEMBER, *asked)
        leaf = replace(node, name=name, args=args, exports=exports)
        told = tuple(_type(self.vectors[v]) for v in tells)
        self.kinds[name, len(args)] = (*types, "int", *told)
        self.leaves[leaf] = CommonLeaf(source, search, asked, self._shared(tests, source.exports))
        return leaf

    def _shared(self, tests: Sequence[p.Test], bound: Sequence[str]) -> p.Prefilter | None:
        """Return how all members compare what a leaf has bound before any asks something of its own that may raise."""
        goals = [goal for test in tests if isinstance(test, p.Condition) for goal in conjuncts(test.goal)]
        rest = dropwhile(lambda goal: equality(goal, self.vectors) is not None, goals)
        found = list(takewhile(lambda goal: self._is_shared(goal, bound), rest))
        if not found:
            return None
        inputs = tuple(dict.fromkeys(v for goal in found for v in variables(goal)))
        return p.Prefilter(reduce(lambda a, b: Compound(",", (a, b)), found), inputs)

    def _is_shared(self, goal: Term, bound: Sequence[str]) -> bool:
        names = variables(goal)
        known = all(v in bound and v not in self.vectors for v in names)
        return known and isinstance(goal, Compound) and goal.name in COMPARISONS

    def _with_own(self, asked: tuple[str, ...], tests: Sequence[p.Test]) -> tuple[str, ...]:
        own = (v for test in tests if isinstance(test, p.Condition) for v in variables(test.goal) if v in self.vectors)
        return tuple(dict.fromkeys((*asked, *own)))

    def _tests(self, tests: Sequence[p.Test]) -> tuple[p.Test, ...]:
        return tuple(map(self._test, tests))

    def _test(self, test: p.Test) -> p.Test:
        match test:
            case p.GoalTest(goal=goal, inputs=inputs) | p.Prefilter(goal=goal, inputs=inputs):
                own = (v for v in variables(goal) if v in self.vectors)
                return replace(test, inputs=tuple(dict.fromkeys((*inputs, *own))))
            case p.Absent(node=node, joined=joined):
                return replace(test, node=self.thread(node, ()), joined=(*joined, MEMBER))
            case _:
                return test


def _more(node: p.Node, below: Iterable[p.Node]) -> tuple[str, ...]:
    """Return what a node exports, with its member and the constants that are told below it."""
    more = (v for child in below for v in child.exports if v == MEMBER or v.startswith(_PARAMETER))
    return tuple(dict.fromkeys((*node.exports, *more)))
