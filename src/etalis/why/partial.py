"""What is missing now: patterns that have begun, read from the stores of an engine between two inputs.

A row is an instance that waits at an operator. What it holds (its leaves) is present, the other leaves of the rule are
awaited; of one derivation only the instance at the highest operator is shown. Nothing here changes the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import Any, assert_never

from etalis.data.values import Value, to_value
from etalis.language import syntax as s
from etalis.plan import algebra as p
from etalis.plan.explain.wording import event_text, term_text, test_text, window_text
from etalis.runtime.codegen.network import PlannedRule
from etalis.runtime.limits.expiry import sweep
from etalis.runtime.ruleset import RuleSet
from etalis.temporal.interval import to_seconds
from etalis.temporal.json_values import to_plain
from etalis.why.asking.options import refuse_below, refuse_rule
from etalis.why.waiting import Leaf, OpenTest, WaitingInstance, leaves_of, waiting_of

LIMIT = 100


@dataclass(frozen=True, slots=True)
class PartialMatch:
    """A pattern that has begun.

    `parts` are the numbers of its inputs, where the engine keeps them; `share` is the part of the rule's events that
    is there; `since` is when the last of it came, `until` when it is too late for the rest (None: no bound);
    `open` are conditions and absences that are still to be judged.
    """

    rule: str
    bindings: Mapping[str, Value]
    present: tuple[str, ...]
    awaited: tuple[str, ...]
    share: float
    since: int | float
    until: int | float | None
    open: tuple[str, ...] = ()
    parts: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "rule": self.rule,
            "bindings": {name: to_plain(value) for name, value in self.bindings.items()},
            "present": list(self.present),
            "awaited": list(self.awaited),
            "open": list(self.open),
            "share": self.share,
            "since": self.since,
            "until": self.until,
            "parts": list(self.parts),
        }


@dataclass(frozen=True, slots=True)
class PartialMatches:
    """The fullest partial matches, the latest first among equals, and how many each rule has in all."""

    rows: tuple[PartialMatch, ...]
    counts: Mapping[str, int]

    def __iter__(self) -> Iterator[PartialMatch]:
        return iter(self.rows)

    def __len__(self) -> int:
        return sum(self.counts.values())


def partial_matches(
    rules: RuleSet, rule: str | None = None, key: Mapping[str, Any] | None = None, limit: int = LIMIT
) -> PartialMatches:
    """Return what waits, of one rule or all, where variables have the values of `key`."""
    refuse_rule(rules, rule)
    refuse_below(0, limit=limit)
    sweep(rules, rules.state.now)
    wanted = {name: to_value(value) for name, value in (key or {}).items()}
    counts: dict[str, int] = {}
    found: list[tuple[float, int, PlannedRule, WaitingInstance]] = []
    for planned, _ in rules.rules:
        if rule in (None, planned.head.label):
            begun = (x for x in waiting_of(rules, planned) if x.until is None or x.until >= rules.state.now)
            waiting = [x for x in begun if _agree(x.bindings, wanted)]
            sizes = {id(x.place): len(leaves_of(planned.head.body, x.place.branches)) for x in waiting}
            shares = [(x.share(sizes[id(x.place)]), x) for x in _highest(waiting)]
            missing = [(-share, -x.end, planned, x) for share, x in shares if share < 1 or x.until is not None]
            found += missing
            counts[planned.head.label] = counts.get(planned.head.label, 0) + len(missing)
    best = nsmallest(limit, found, key=lambda item: item[:2])
    return PartialMatches(tuple(_row(planned, x) for *_, planned, x in best), {k: n for k, n in counts.items() if n})


def _agree(bindings: Mapping[str, Value], wanted: Mapping[str, Value]) -> bool:
    return all(name in bindings and bindings[name] == value for name, value in wanted.items())


def _row(planned: PlannedRule, x: WaitingInstance) -> PartialMatch:
    leaves = [_leaf_text(leaf, x.bindings) for leaf in leaves_of(planned.head.body, x.place.branches)]
    is_counting = x.counted and x.leaves.stop < len(leaves)
    if is_counting:
        leaves[x.leaves.stop] += f" ({round(100 * x.counted)} %)"
    return PartialMatch(
        planned.head.label, x.bindings, tuple(leaves[i] for i in x.leaves),
        tuple(text for i, text in enumerate(leaves) if i not in x.leaves), round(x.share(len(leaves)), 4),
        to_seconds(x.end), None if x.until is None else to_seconds(x.until),
        tuple(_test_text(test, x.bindings) for test in x.place.open), x.parts,
    )  # fmt: skip


def _highest(found: list[WaitingInstance]) -> Iterator[WaitingInstance]:
    """Yield the instances that are part of none further up.

    By the numbers of their inputs where the engine keeps them, else by values and moments.
    """
    around: dict[Any, list[WaitingInstance]] = {}
    for x in found:
        for mark in _marks(x):
            around.setdefault(mark, []).append(x)
    for x in found:
        if not any(_contains(y, x) for mark in _marks(x)[:2] for y in around[mark]):
            yield x


def _marks(x: WaitingInstance) -> Sequence[Any]:
    return x.parts or (("start", x.start), ("end", x.end))


def _contains(whole: WaitingInstance, part: WaitingInstance) -> bool:
    a, b = whole.leaves, part.leaves
    if not (a.start <= b.start and b.stop <= a.stop and len(a) > len(b)):
        return False
    if whole.parts and part.parts:
        return set(part.parts) <= set(whole.parts)
    agrees = all(whole.bindings.get(name, value) == value for name, value in part.bindings.items())
    return agrees and whole.start <= part.start and part.end <= whole.end


# texts


def _leaf_text(leaf: Leaf, bindings: Mapping[str, Value]) -> str:
    """Write a leaf with what is bound."""
    texts = [
        f"the time {to_seconds(each.time)}" if isinstance(each, p.Tick)
        else event_text(replace(each, args=tuple(bind(arg, bindings) for arg in each.args)))
        for each in leaf
    ]  # fmt: skip
    return " or ".join(dict.fromkeys(texts))


def _test_text(test: OpenTest, bindings: Mapping[str, Value]) -> str:
    """Write a test with what is bound."""
    match test:
        case p.GoalTest(kind=kind, goal=goal):
            return f"{kind} {term_text(bind(goal, bindings))}"
        case p.Absent(kind=kind, node=node):
            return f"{'fnot' if kind == 'before' else 'cnot'} {_events_text(node, bindings)}"
        case p.Deadline(absent=node, duration=duration, before=before):
            around = "" if before is None else " before or after"
            return f"not {_events_text(node, bindings)} within {window_text(duration)}{around}"
        case p.Alone():
            return test_text(test)
        case _:
            assert_never(test)


def _events_text(node: p.Node, bindings: Mapping[str, Value]) -> str:
    sources = [each for each in p.walk(node) if isinstance(each, p.Source)]
    return " ... ".join(_leaf_text((source,), bindings) for source in sources)


def bind(term: s.Term, bindings: Mapping[str, Value]) -> s.Term:
    """Return a term with the values of its variables; anonymous ones as `_`."""
    match term:
        case s.Var(name=name) if name in bindings:
            return s.Const(bindings[name])
        case s.Var(name=name):
            return s.Var("_") if name.startswith("_#") else term
        case s.Compound():
            return replace(term, args=tuple(bind(arg, bindings) for arg in term.args))
        case s.ListTerm(items=items, tail=tail):
            rest = None if tail is None else bind(tail, bindings)
            return replace(term, items=tuple(bind(item, bindings) for item in items), tail=rest)
        case s.Const():
            return term
        case _:
            assert_never(term)
