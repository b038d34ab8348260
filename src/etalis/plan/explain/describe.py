"""A rule's plan in words: a tree of steps, the one source of the explanation's text and pictures.

A step is a node of the plan: its operator as the language names it, what it tests, and per input what of it waits, by
which key and how long. A part that several rules share is described once, in the rule that comes first; the others
refer to its number.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from etalis.language.check.goals import conjuncts
from etalis.language.operators import spell
from etalis.language.printer import seconds
from etalis.language.syntax import Compound, Const, Var
from etalis.plan import algebra as p
from etalis.plan.explain.wording import (
    event_text,
    key_text,
    names,
    relation_interval,
    relation_test,
    term_text,
    test_text,
    window_text,
)
from etalis.plan.retention import NEVER_STORED, join_key, retention, window_of
from etalis.plan.sharing import Listened, Shape, count_leaves, find_shared, shape_of
from etalis.temporal.aggregate import FOLDS
from etalis.temporal.policy import Policy


@dataclass(frozen=True, slots=True)
class PlanInput:
    """A part of a step: its `role` (`a`, `b`, `cnot`, ...), and what of it is kept for how long.

    `store` is where an engine keeps it: the node that it waits at, and the name of the place there.
    """

    role: str
    step: PlanStep
    kept: str | None = None
    store: tuple[p.Node, str] | None = None


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One node in words; `form` is event, time, operator, or reference, `shared` the number of a shared part."""

    form: str
    title: str
    details: tuple[str, ...] = ()
    inputs: tuple[PlanInput, ...] = ()
    shared: int | None = None
    reads: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class DescribedRule:
    """A rule in words: its head, what happens there, and how its pattern is matched; a reaction is `hidden`."""

    label: str
    title: str
    made: tuple[str, int]
    details: tuple[str, ...]
    body: PlanStep
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class SharedPart:
    """A part that several rules use: its number and their labels."""

    number: int
    rules: tuple[str, ...]


def describe(heads: Sequence[p.Head], *, sharing: bool) -> tuple[DescribedRule, ...]:
    """Put the plans of rules in words."""
    shared = find_shared(heads) if sharing else {}
    parts = {key: SharedPart(number, rules) for number, (key, rules) in enumerate(shared.items(), 1)}
    describer = _Describer(parts)
    return tuple(describer.rule(head) for head in heads)


def _given(head: p.Head) -> str:
    """Say which variables a reaction is given."""
    return names([a.name for a in head.event.args if isinstance(a, Var)]) or "nothing"


class _Describer:
    """Walks the rules in order and remembers which shared parts have been described."""

    def __init__(self, parts: Mapping[Hashable, SharedPart]) -> None:
        self.parts = parts
        self.described: dict[Hashable, tuple[str, Shape]] = {}
        self.listened: Listened = {}
        self.above: list[tuple[str, p.GoalTest]] = []  # conditions around a node, each with what it stands on

    def rule(self, head: p.Head) -> DescribedRule:
        self.listened = count_leaves(head.body)
        details = [test_text(action) for action in head.actions]
        if head.alarm is not None:
            when = term_text(head.alarm.when)
            details.insert(
                0, f"occurs {when} s after the pattern" if head.alarm.kind == "after" else f"occurs at {when}"
            )
        title = _given(head) if head.hidden else event_text(head.event)
        body = self.step(head.body, head.label)
        return DescribedRule(head.label, title, head.kind, tuple(details), body, head.hidden)

    def step(self, node: p.Node, rule: str) -> PlanStep:
        """Describe a node; a shared one only the first time."""
        shape = shape_of(node, self.listened) if self.parts else None
        part = None if shape is None else self.parts.get(shape.key)
        if shape is None or part is None:
            return self._plain(node, rule)
        known = self.described.get(shape.key)
        if known is not None:
            return _reference(part, known, shape)
        self.described[shape.key] = (rule, shape)
        step = self._plain(node, rule)
        others = [label for label in dict.fromkeys(part.rules) if label != rule]
        return replace(step, shared=part.number, details=(*step.details, f"shared with {_rules(others)}"))

    def _plain(self, node: p.Node, rule: str) -> PlanStep:
        around = len(self.above)
        self.above += [(_operator(node), test) for test in p.tests(node) if isinstance(test, p.GoalTest)]
        parts = [self.step(child, rule) for child in p.children(node)]
        del self.above[around:]
        step = _describe(node, parts)
        absent = [t for t in p.tests(node) if isinstance(t, p.Absent)]
        tests = tuple(test_text(test) + self._origin(test) for test in p.tests(node))
        negated = [
            PlanInput(_word(t), self.step(t.node, rule), _blockers_kept(node, t), (node, f"blockers{place}"))
            for place, t in enumerate(absent)
        ]
        if isinstance(node, p.Deadline):
            kept = f"its times, {seconds(node.span)} s"
            negated.append(PlanInput("not", self.step(node.absent, rule), kept, (node, f"blockers{len(absent)}")))
        return replace(step, details=step.details + tests, inputs=(*step.inputs, *negated))

    def _origin(self, test: p.Test) -> str:
        """Say which condition a prefilter was taken from."""
        if not isinstance(test, p.Prefilter):
            return ""
        taken = conjuncts(test.goal)
        origins = (
            (where, test) for where, test in reversed(self.above) if all(g in conjuncts(test.goal) for g in taken)
        )
        return next((f", taken from the {test.kind} of {where}" for where, test in origins), "")


def _operator(node: p.Node) -> str:
    """Name the operator that a condition stands on."""
    match node:
        case p.Join(relation=relation, alone=alone):
            return spell(relation.name, alone)
        case p.SomeOf():
            return "any"
        case p.Repetition():
            return "a repetition"
        case p.Fold():
            return "an aggregate"
        case p.Deadline():
            return "not ... within"
        case p.Filter(child=p.Union()):
            return "or"
        case p.Source() | p.Tick() | p.Union() | p.Filter():
            return "an event"


def _word(test: p.Absent) -> str:
    return "fnot" if test.kind == "before" else "cnot"


def _rules(labels: Sequence[str]) -> str:
    shown = ", ".join(labels[:8]) + (f" and {len(labels) - 8} more" if len(labels) > 8 else "")
    return f"rule {shown}" if len(labels) == 1 else f"rules {shown}"


def _reference(part: SharedPart, known: tuple[str, Shape], shape: Shape) -> PlanStep:
    """Return the mention of a part described before, with whose variable is whose where the names differ."""
    rule, first = known
    pairs = [(mine, theirs) for mine, theirs in zip(shape.names, first.names, strict=True) if mine != theirs]
    said = [f"{mine} is {theirs} there" for mine, theirs in pairs if "#" not in mine + theirs]
    return PlanStep("reference", f"as in rule {rule}", tuple(said), shared=part.number)


def _describe(node: p.Node, parts: Sequence[PlanStep]) -> PlanStep:
    """Describe a node but for its tests, given its parts."""
    match node:
        case p.Source(name=name, args=args):
            return PlanStep("event", event_text(node), reads=(name, len(args)))
        case p.Tick(time=time):
            return PlanStep("time", seconds(time), ("once, when time reaches it",))
        case p.Join():
            return _join(node, parts)
        case p.SomeOf():
            return _choice(node, parts)
        case p.Union():
            return PlanStep("operator", "or", (), tuple(PlanInput("", part) for part in parts))
        case p.Filter():
            # a filter is no operator of the language: its tests are told with what they filter
            only = parts[0]
            return only if only.shared is None else PlanStep("operator", "filter", (), (PlanInput("a", only),))
        case p.Repetition():
            return _repetition(node, parts)
        case p.Fold():
            return _fold(node, parts)
        case p.Deadline(absent=absent, duration=duration, before=before):
            what = event_text(absent) if isinstance(absent, p.Source) else "..."
            kept = f"{_columns(node.left.exports)}, until {seconds(duration)} s after its end"
            title = f"seq (not {what} within {window_text(duration)})"
            if before is not None:
                title = f"not {what} within {window_text(duration)} before or after"
            return PlanStep("operator", title, (), (PlanInput("a", parts[0], kept, (node, "operator")),))
        case _:
            assert_never(node)


def _join(node: p.Join, parts: Sequence[PlanStep]) -> PlanStep:
    relation = node.relation
    key = join_key(node)
    shared = {v for v in node.left.exports if v in node.right.exports and v[0] != "$"} - set(key)
    details = [f"{relation_test(relation)}; on {relation_interval(relation)}", f"policy {node.policy.name}"]
    keys = ", ".join([*([names(key)] if key else []), *map(key_text, node.keys_on)])
    details.append(f"join key: {keys}" if keys else "no join key: every pair is looked at")
    if shared and not any(pair.kind == "bound" for pair in node.keys_on):
        details.append(f"where bound, equal: {names(sorted(shared))}")
    if node.alone is not None:
        details.append(f"{'ab'[node.alone == 'right']} without a partner matches alone, known {_known_alone(node)}")
    if node.is_apart:
        details.append("no event is in both")
    inputs = [
        PlanInput("ab"[place], part, _side_kept(node, place, key), (node, f"side{place}"))
        for place, part in enumerate(parts)
    ]
    return PlanStep("operator", spell(relation.name, node.alone), tuple(details), tuple(inputs))


def _choice(node: p.SomeOf, parts: Sequence[PlanStep]) -> PlanStep:
    details = [
        f"{node.count} of {len(parts)}: what arrives, and the latest of others that agree; on the hull",
        f"policy {node.policy.name}",
    ]
    until = _until(node.policy, window_of(node.tests))
    inputs = [
        PlanInput(
            str(place + 1), part, f"{_columns(child.exports)}{f' by {names(key)}' if key else ''}, {until}",
            (node, f"side{place}"),
        )
        for place, (part, child, key) in enumerate(zip(parts, node.constituents, node.keys, strict=True))
    ]  # fmt: skip
    return PlanStep("operator", f"any {node.count}", tuple(details), tuple(inputs))


def _known_alone(node: p.Join) -> str:
    """Say when it is known that a side of a join has no partner."""
    assert node.relation.alone is not None
    known = node.relation.alone[0 if node.alone == "left" else 1]
    return known if known != "in its window" else f"{seconds(window_of(node.tests) or 0)} s after its start"


def _side_kept(node: p.Join, place: int, key: tuple[str, ...]) -> str:
    """Say what of one side waits for partners, and how long."""
    exports = (node.left, node.right)[place].exports
    keep = retention(node.relation, place, window_of(node.tests))
    if keep == NEVER_STORED:
        return "nothing: no partner can come later"
    columns = _columns([v for v in exports if v not in key])
    by = f" by {names(key)}" if key else ""
    return f"{columns}{by}, {_until(node.policy, keep)}"


def _columns(exports: Sequence[str]) -> str:
    """Name what a waiting instance holds: its values and always its interval."""
    return names([*exports, "interval"])


def _until(policy: Policy, keep: int | None) -> str:
    """Say when a waiting instance goes: by time, by consumption, by a newer one."""
    ends = {None: "for ever", 0: "while time is at its end"}
    limit = ends.get(keep) or f"until {seconds(keep or 0)} s after its end"
    if policy.consume:
        return "until matched" if keep is None else f"{limit} or matched"
    if policy.keep == "newest":
        return "until a newer one comes" if keep is None else f"{limit} or a newer one comes"
    return limit


def _repetition(node: p.Repetition, parts: Sequence[PlanStep]) -> PlanStep:
    least, most = term_text(node.least), None if node.most is None else term_text(node.most)
    word = "star_times" if most is None else f"ntimes {least}" if least == most else f"ntimes ({least}, {most})"
    details = [f"one value for all of a run: {names(node.shared)}"] if node.shared else []
    details.append(f"policy {node.policy.name}" + ("" if node.left is None else ", but what is counted after stays"))
    window = window_of(node.tests)
    limit = "until consumed by what follows" if window is None else f"until {seconds(window)} s after its start"
    if node.left is None:
        runs = PlanInput("a", parts[0], f"counts of runs, {limit}", (node, "operator"))
        return PlanStep("operator", word, tuple(details), (runs,))
    kept = f"{_columns(node.left.exports)}, its count, {limit}"
    return PlanStep(
        "operator",
        f"seq {word}",
        tuple(details),
        (PlanInput("a", parts[0], kept, (node, "operator")), PlanInput("b", parts[1], "nothing: counted")),
    )


def _fold(node: p.Fold, parts: Sequence[PlanStep]) -> PlanStep:
    kind = term_text(Const(node.kind) if node.value is None else Compound(node.kind, (node.value,)))
    title = f"aggregate({kind}, {'b' if node.opener is not None else 'a'}, {term_text(node.result)})"
    details = [f"one value per {names(node.groups)}"] if node.groups else []
    window = window_of(node.tests)
    if node.opener is not None:
        row = FOLDS[node.kind]
        details.append("each opener has its own value" + (f", {row.first} to begin with" if row.at_opener else ""))
        limit = "for ever" if window is None else f"until {seconds(window)} s after its start"
        kept = f"{_columns(node.opener.exports)}, its values, {limit}"
        inputs = (PlanInput("a", parts[0], kept, (node, "operator")), PlanInput("b", parts[1], "nothing: folded"))
        return PlanStep("operator", f"seq {title}", tuple(details), inputs)
    spans = [f"of the last {seconds(node.within)} s"] if node.within is not None else []
    spans += [f"the last {node.last} of a group"] if node.last is not None else []
    over = ", ".join(spans) or "all, for ever"
    details.append(f"slides over its elements: {over}")
    kept = over if spans or FOLDS[node.kind].grows else "what all have come to, for ever"
    return PlanStep("operator", title, tuple(details), (PlanInput("a", parts[0], kept, (node, "operator")),))


def _blockers_kept(node: p.Node, test: p.Absent) -> str:
    """Say how long the occurrences of a negated pattern are remembered."""
    by = f" by {names(test.joined)}" if test.joined else ""
    by = f", {names(test.brought)}{by}" if test.brought else by
    if test.kind == "before":
        kept = "the first, for ever" if test.window is None else f"{seconds(test.window)} s"
        return f"its times{by}, {kept}"
    window = window_of(p.tests(node))
    if window is not None:
        return f"its times{by}, {seconds(window)} s"
    if isinstance(node, p.Join) and _is_watched(node, test):
        return f"its times{by}, while an a of the key waits"
    return f"its times{by}, for ever"


def _is_watched(node: p.Join, test: p.Absent) -> bool:
    """Tell whether only left sides that wait under the same key can ever be blocked."""
    single = test.kind == "gap" and node.relation.sequential and "$first" not in node.left.exports
    return single and bool(test.joined) and test.joined == join_key(node)
