"""Walking syntax trees without recursion, so that a pattern of ten thousand parts meets no limit.

`PARTS` is the one table of which patterns and terms stand directly under a node of a pattern, `ACTION_PARTS` that of
actions; walks, folds and rewrites follow from them. A sub-rule is a leaf here: it is a rule of its own (see
`rules.lift`), known outside by its head alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, assert_never

from etalis.language import syntax as s

T = TypeVar("T")
P = TypeVar("P", bound=s.Pattern)


class Parts(NamedTuple):
    """The fields of a node that hold patterns, those that hold terms, and those that hold actions, as written."""

    patterns: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


PARTS: Mapping[type[s.Pattern], Parts] = MappingProxyType(
    {
        s.EventPattern: Parts(terms=("args",)),
        s.TimePoint: Parts(),
        s.SubRule: Parts(),
        s.Binary: Parts(("left", "right")),
        s.Or: Parts(("left", "right")),
        s.Negation: Parts(("pattern", "absent")),
        s.NotWithin: Parts(("pattern", "absent")),
        s.AnyOf: Parts(("patterns",)),
        s.Condition: Parts(("pattern",), ("goal",)),
        s.Within: Parts(("pattern",)),
        s.Last: Parts(("pattern",)),
        s.Do: Parts(("pattern",), ("action",)),
        s.Isolated: Parts(("pattern",)),
        s.Repeat: Parts(("pattern",), ("least", "most")),
        s.Aggregate: Parts(("pattern",), ("value", "result")),
    }
)


ACTION_PARTS: Mapping[type[s.Action], Parts] = MappingProxyType(
    {
        s.FactChange: Parts(terms=("fact",)),
        s.Raise: Parts(terms=("event", "after")),
        s.Effect: Parts(terms=("call",)),
        s.Perform: Parts(terms=("goal",)),
        s.Composed: Parts(actions=("left", "right")),
        s.IsoAction: Parts(actions=("action",)),
        s.Possibility: Parts(actions=("action",)),
        s.IfThenElse: Parts(actions=("test", "action", "otherwise")),
        s.Skip: Parts(),
        s.Abort: Parts(),
        s.Await: Parts(patterns=("pattern",)),
        s.SubjectTo: Parts(terms=("constraint",), actions=("action",)),
    }
)


def _getter(fields: tuple[str, ...]) -> Callable[[Any], tuple[s.Pattern, ...]] | None:
    """Return what gets the patterns in some fields: each holds one, but an only field may hold several."""
    if len(fields) != 1:
        return attrgetter(*fields) if fields else None
    get = attrgetter(*fields)
    return lambda node: found if type(found := get(node)) is tuple else (found,)


_CHILDREN = MappingProxyType({node: _getter(parts.patterns) for node, parts in PARTS.items()})


def _held(pattern: s.Pattern | s.Action, fields: tuple[str, ...]) -> Iterator[Any]:
    for field in fields:
        found = getattr(pattern, field)
        if isinstance(found, tuple):
            yield from found
        elif found is not None:
            yield found


def children(pattern: s.Pattern) -> tuple[s.Pattern, ...]:
    """Return the patterns directly under a pattern, from left to right."""
    get = _CHILDREN[type(pattern)]
    return () if get is None else get(pattern)


def with_children(pattern: s.Pattern, parts: tuple[s.Pattern, ...]) -> s.Pattern:
    """Return the pattern with other patterns directly under it."""
    if isinstance(pattern, s.AnyOf):
        return replace(pattern, patterns=parts)
    changes: dict[str, Any] = dict(zip(PARTS[type(pattern)].patterns, parts, strict=True))
    return replace(pattern, **changes)


def postorder(pattern: s.Pattern) -> list[s.Pattern]:
    """Return every pattern in a pattern, parts before wholes, left before right."""
    found: list[s.Pattern] = []
    waiting: list[s.Pattern] = [pattern]
    getters = _CHILDREN
    while waiting:
        node = waiting.pop()
        found.append(node)
        get = getters[type(node)]
        if get is not None:
            waiting += get(node)
    found.reverse()
    return found


def fold(pattern: s.Pattern, combine: Callable[[s.Pattern, tuple[T, ...]], T]) -> dict[int, T]:
    """Combine results bottom-up; the answer maps the id of every node to its result."""
    return _fold(postorder(pattern), combine)


def _fold(nodes: Iterable[s.Pattern], combine: Callable[[s.Pattern, tuple[T, ...]], T]) -> dict[int, T]:
    results: dict[int, T] = {}
    getters = _CHILDREN
    for node in nodes:
        get = getters[type(node)]
        parts = () if get is None else tuple([results[id(part)] for part in get(node)])
        results[id(node)] = combine(node, parts)
    return results


class Walk:
    """A pattern walked once for all who ask: its nodes, parts before wholes, and those of each kind."""

    __slots__ = ("_by_kind", "nodes")

    def __init__(self, pattern: s.Pattern) -> None:
        self.nodes = postorder(pattern)
        self._by_kind: dict[type[Any], list[Any]] = {}
        for node in self.nodes:
            self._by_kind.setdefault(type(node), []).append(node)

    def of(self, kind: type[P]) -> Sequence[P]:
        """Return the nodes of one kind."""
        return self._by_kind.get(kind, ())

    def has(self, *kinds: type[s.Pattern]) -> bool:
        """Tell whether there is a node of some kinds."""
        return not self._by_kind.keys().isdisjoint(kinds)

    def variables(self) -> Iterator[s.Var]:
        """Yield every occurrence of a variable, goals and actions included."""
        for node in self.nodes:
            yield from variables(*terms(node))

    def fold(self, combine: Callable[[s.Pattern, tuple[T, ...]], T]) -> dict[int, T]:
        """Combine results bottom-up; the answer maps the id of every node to its result."""
        return _fold(self.nodes, combine)


def rewrite(pattern: s.Pattern, change: Callable[[s.Pattern], s.Pattern]) -> s.Pattern:
    """Apply `change` to every node, parts first, and return the new pattern."""

    def combine(node: s.Pattern, parts: tuple[s.Pattern, ...]) -> s.Pattern:
        old = children(node)
        same = all(a is b for a, b in zip(old, parts, strict=True))
        return change(node if same else with_children(node, parts))

    return fold(pattern, combine)[id(pattern)]


def terms(pattern: s.Pattern) -> tuple[s.Term, ...]:
    """Return the terms written in one node itself, in their written order."""
    node = pattern.rule.head if isinstance(pattern, s.SubRule) else pattern
    if isinstance(node, s.EventPattern):
        return node.args
    fields = PARTS[type(node)].terms
    return tuple(_held(node, fields)) if fields else ()


_SIMPLE = (s.Var, s.Const)


def subterms(term: s.Term) -> Iterator[s.Term]:
    """Yield a term and every term inside it, from left to right."""
    waiting = [term]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SIMPLE):
            waiting.extend(reversed(arguments(node)))


def arguments(term: s.Term) -> tuple[s.Term, ...]:
    """Return the terms directly inside a term."""
    match term:
        case s.Var() | s.Const():
            return ()
        case s.Compound(args=args):
            return args
        case s.ListTerm(items=items, tail=tail):
            return items if tail is None else (*items, tail)
        case _:
            assert_never(term)


def variables(*several: s.Term) -> Iterator[s.Var]:
    """Yield every occurrence of a variable, from left to right."""
    for term in several:
        if isinstance(term, _SIMPLE):
            if isinstance(term, s.Var):
                yield term
            continue
        for part in subterms(term):
            if isinstance(part, s.Var):
                yield part


def term_variables(*several: s.Term) -> tuple[str, ...]:
    """Return the names of the variables of terms, in order of first occurrence."""
    return tuple(dict.fromkeys(v.name for v in variables(*several)))


def names(found: Iterable[s.Var]) -> frozenset[str]:
    """Return the names of some variables."""
    return frozenset([v.name for v in found])


def pattern_variables(pattern: s.Pattern) -> Iterator[s.Var]:
    """Yield every occurrence of a variable in a pattern, goals and actions included."""
    for node in postorder(pattern):
        yield from variables(*terms(node))


def rule_variables(rule: s.Rule) -> Iterator[s.Var]:
    """Yield every occurrence of a variable in a rule."""
    yield from variables(*rule.head.args)
    if rule.alarm is not None:
        yield from variables(rule.alarm.when)
    if rule.action is not None:
        yield from variables(rule.action)
    yield from pattern_variables(rule.pattern)


def rewrite_term(term: s.Term, change: Callable[[s.Term, s.Term], s.Term]) -> s.Term:
    """Apply `change(old, old with its parts changed)` to every term inside a term and return the new term."""
    results: dict[int, s.Term] = {}
    for node in reversed(list(subterms(term))):
        old = arguments(node)
        parts = tuple(results[id(part)] for part in old)
        same = all(a is b for a, b in zip(old, parts, strict=True))
        results[id(node)] = change(node, node if same else _with_arguments(node, parts))
    return results[id(term)]


def _with_arguments(term: s.Term, parts: tuple[s.Term, ...]) -> s.Term:
    match term:
        case s.Compound():
            return replace(term, args=parts)
        case s.ListTerm(items=items, tail=tail):
            return replace(term, items=parts[: len(items)], tail=None if tail is None else parts[-1])
        case s.Var() | s.Const():
            return term
        case _:
            assert_never(term)


def action_parts(action: s.Action) -> tuple[s.Action, ...]:
    """Return the actions directly under an action, from left to right."""
    return tuple(_held(action, ACTION_PARTS[type(action)].actions))


def walk_action(action: s.Action) -> Iterator[s.Action]:
    """Yield an action and every action in it, wholes before parts, from left to right."""
    waiting = [action]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(action_parts(node)))


def action_terms(action: s.Action) -> tuple[s.Term, ...]:
    """Return the terms written in one node of an action itself."""
    return tuple(_held(action, ACTION_PARTS[type(action)].terms))


def action_patterns(action: s.Action) -> tuple[s.Pattern, ...]:
    """Return the patterns that one node of an action itself awaits."""
    return tuple(_held(action, ACTION_PARTS[type(action)].patterns))


def action_variables(action: s.Action) -> Iterator[s.Var]:
    """Yield every occurrence of a variable in an action."""
    for node in walk_action(action):
        yield from variables(*action_terms(node))
        for pattern in action_patterns(node):
            yield from pattern_variables(pattern)


def rewrite_action(action: s.Action, change: Callable[[s.Action], s.Action]) -> s.Action:
    """Apply `change` to every node of an action, parts first, and return the new action."""
    results: dict[int, s.Action] = {}
    for node in reversed(list(walk_action(action))):
        changes: dict[str, Any] = {}
        for field in ACTION_PARTS[type(node)].actions:
            old = getattr(node, field)
            if results[id(old)] is not old:
                changes[field] = results[id(old)]
        results[id(node)] = change(replace(node, **changes) if changes else node)
    return results[id(action)]


def actions_of(item: object) -> tuple[s.Action, ...]:
    """Return the actions of a clause, in their written order."""
    match item:
        case s.Reaction(action=action, otherwise=otherwise, undo=undo):
            return tuple(part for part in (action, otherwise, undo) if part is not None)
        case s.ActionClause(body=body):
            return (body,)
        case _:
            return ()


def with_actions(item: s.Item, change: Callable[[s.Action], s.Action]) -> s.Item:
    """Return a clause with its actions changed."""
    match item:
        case s.Reaction(action=action, otherwise=otherwise, undo=undo):
            return replace(
                item,
                action=change(action),
                otherwise=None if otherwise is None else change(otherwise),
                undo=None if undo is None else change(undo),
            )
        case s.ActionClause(body=body):
            return replace(item, body=change(body))
        case _:
            return item


def patterns_of(item: object) -> tuple[s.Pattern, ...]:
    """Return the patterns of a clause of reactive rules, those that its actions await included."""
    match item:
        case s.Reaction(pattern=pattern):
            own: tuple[s.Pattern, ...] = (pattern,)
        case s.Constraint(pattern=pattern, required=required):
            own = (pattern,) if required is None else (pattern, required)
        case _:
            own = ()
    return (*own, *(p for action in actions_of(item) for node in walk_action(action) for p in action_patterns(node)))


def with_patterns(item: s.Item, change: Callable[[s.Pattern], s.Pattern]) -> s.Item:
    """Return a clause of reactive rules with its patterns changed."""

    def change_node(node: s.Action) -> s.Action:
        return replace(node, pattern=change(node.pattern)) if isinstance(node, s.Await) else node

    item = with_actions(item, lambda action: rewrite_action(action, change_node))
    match item:
        case s.Reaction(pattern=pattern):
            return replace(item, pattern=change(pattern))
        case s.Constraint(pattern=pattern, required=required):
            return replace(item, pattern=change(pattern), required=None if required is None else change(required))
        case _:
            return item
