"""Why a rule never fired: the first part of its pattern that never matched, and what is known about that part.

A part that has matched says that all it is made of has. The first one that has not, left to right and inside out, is
what a rule waits for: an event that never came, events that came and never fit together, a condition that never held.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from etalis.data.values import Struct, format_value
from etalis.language.check.spelling import nearest
from etalis.language.printer import seconds
from etalis.language.syntax import Var
from etalis.plan import algebra as p
from etalis.plan.explain.wording import event_text, key_text, names, relation_test, term_text, test_text
from etalis.plan.retention import window_of
from etalis.runtime.operators.store import members
from etalis.runtime.reporting.evidence import Kind
from etalis.runtime.state import show_time
from etalis.temporal.interval import to_seconds

if TYPE_CHECKING:
    from etalis.runtime.codegen.network import PlannedRule, Wired
    from etalis.runtime.ruleset import RuleSet

_SAMPLE = 1000
_EQUAL = "one must end before the other starts: equal times are not in sequence"
_NOUNS = {"int": "a number", "float": "a number", "string": "a text"}


@dataclass(frozen=True, slots=True)
class Why:
    """What a rule waits for: the part, why it never matched, and what to do; `missing` is an event that never came."""

    part: str
    reason: str
    hint: str | None = None
    missing: Kind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What else is known of a run.

    Kinds of events that came `unread`, or are `held`, names of events that were `refused`, rules whose conditions
    `raised`, and whether the stream is `closed`.
    """

    unread: Collection[tuple[str, int | None]]
    held: Collection[Kind]
    refused: Collection[str]
    raised: Collection[str]
    closed: bool


def show(kind: tuple[str, int | None]) -> str:
    """Write a kind of event; without a number of attributes where that is not known."""
    return kind[0] if kind[1] is None else f"{kind[0]}/{kind[1]}"


class SilenceSearch:
    """Looks for what the rules of an engine wait for."""

    def __init__(self, rules: RuleSet, around: Around) -> None:
        rules.note_waiting()
        self.rules = rules
        self.evidence = rules.evidence
        self.around = around
        self.makers: dict[Kind, list[str]] = {}
        for planned, _ in rules.rules:
            made = planned.head.kind
            self.makers.setdefault(made, []).append(planned.head.label)
        self.roots: dict[int, Wired] = {}
        for entry in rules.wiring.entries:
            for reader in entry.readers:
                if reader.kind == "head":
                    self.roots[reader.target.number] = entry

    def why(self, rule: PlannedRule) -> Why | None:
        """Say what a rule waits for; None if it has fired."""
        found = self._first(self.roots[rule.number], rule.head.body)
        if found is None or found.missing is not None or rule.head.label not in self.around.raised:
            return found
        return replace(found, hint="conditions of it failed with errors, which are reported too")

    def _matched(self, entry: Wired, node: p.Node) -> bool:
        if self.evidence.has_matched(entry.key, node):
            return True
        if isinstance(node, p.Source):
            plain = len({a.name for a in node.args if isinstance(a, Var)}) == len(node.args)
            return plain and self.evidence.has_come((node.name, len(node.args)))
        return any(r.kind == "input" and self._matched_above(r.target) for r in entry.readers)

    def _matched_above(self, entry: Wired) -> bool:
        return self.evidence.has_matched(entry.key, entry.node) and not isinstance(entry.node, p.Union)

    def _first(self, entry: Wired, node: p.Node) -> Why | None:
        """Return why a part has never matched; None if it has."""
        if self._matched(entry, node):
            return None
        pairs = list(zip(entry.inputs, p.children(node), strict=True))
        found = [self._first(*pair) for pair in pairs]
        match node:
            case p.Source():
                return self._source(node)
            case p.Tick(time=time):
                return Why(seconds(time), f"time has not reached {seconds(time)}", "check the times of the events")
            case p.SomeOf():
                missing = [why for why in found if why is not None]
                return self._union(missing) if len(found) - len(missing) < node.count else self._operator(entry, node)
            case p.Union():
                missing = [why for why in found if why is not None]
                return self._union(missing) if missing else None  # all came before the rule did
            case p.Join(alone="left" | "right" as alone):
                return found[0 if alone == "left" else 1] or self._alone(node)
            case p.Join() | p.Filter() | p.Repetition() | p.Fold() | p.Deadline():
                waits = next((why for why in found if why is not None), None)
                return waits or self._operator(entry, node)

    def _source(self, node: p.Source) -> Why:
        kind = node.name, len(node.args)
        if self.evidence.has_come(kind):
            text = event_text(node)
            hint = "compare the values in the pattern with those of the events: '1', 1 and 1.0 are three values"
            return Why(text, f"{show(kind)} came, but never as {text}", hint)
        if kind in self.around.held:
            hint = "late events are waited for: close() or advance(to=...) moves the watermark"
            return Why(show(kind), f"{show(kind)} came, and waits until the watermark passes it", hint)
        if kind in self.makers:
            label = self.makers[kind][0]
            return Why(show(kind), f"no {show(kind)} was derived", f"rule {label} derives it, and never fired", kind)
        if kind[0] in self.around.refused:
            return Why(show(kind), f"no {show(kind)} was accepted", "they came, but too late or wrong: see that", kind)
        return Why(show(kind), f"no {show(kind)} came", self._seen_instead(kind), kind)

    def _seen_instead(self, kind: Kind) -> str | None:
        """Say what came that may be meant."""
        arities = [arity for name, arity in self.around.unread if name == kind[0] and arity is not None]
        if arities:
            return f"{kind[0]} came with {_attributes(arities[0])}, the rule reads {_attributes(kind[1])}"
        near = near_name(kind[0], [name for name, _ in self.around.unread])
        return None if near is None else f"{near} came: is it the same?"

    def _union(self, found: list[Why]) -> Why:
        if len(found) == 1:
            return found[0]
        missing = [why.missing for why in found]
        if all(kind is not None for kind in missing):
            kinds = list(dict.fromkeys(show(kind) for kind in missing if kind is not None))
            hint = next((why.hint for why in found if why.hint), None)
            return Why(" or ".join(kinds), f"none of {', '.join(kinds)} came", hint, missing[0])
        return next(why for why in found if why.missing is None)

    def _operator(
        self, entry: Wired, node: p.Join | p.SomeOf | p.Filter | p.Repetition | p.Fold | p.Deadline
    ) -> Why:  # fmt: skip
        """Say why a part never matched though all that it is made of did."""
        match node:
            case p.Filter(child=child, tests=tests):
                return self._filter(child, tests)
            case p.Join():
                return self._join(entry, node)
            case p.Deadline(duration=duration):
                what = _text(node.absent)
                hint = None if self.around.closed else "time must pass: advance(to=...) or close() says that it has"
                reason = f"{what} came within {seconds(duration)} s each time, or the stream ended before"
                return Why(f"not {what} within {seconds(duration)}", reason, hint)
            case p.Repetition(least=least):
                text = f"{_text(node.element)} ntimes {term_text(least)}"
                return Why(text, f"never {term_text(least)} of {_text(node.element)}{_asked(node.tests)}", _hint(node))
            case p.SomeOf() | p.Fold():
                text = _text(node)
                return Why(text, f"{text} came, but never with all of{_asked(p.tests(node), ':')}", _hint(node))

    def _filter(self, child: p.Node, tests: tuple[p.Test, ...]) -> Why:
        tests = tuple(map(_as_written, tests))
        goals = [term_text(test.goal) for test in tests if isinstance(test, p.GoalTest)]
        if goals and len(goals) == len(tests):
            noun, which = ("condition", goals[0]) if len(goals) == 1 else ("conditions", " and ".join(goals))
            hint = "print what it is asked about, or ask engine.query(...): '1', 1 and 1.0 are three values"
            return Why(which, f"{_text(child)} came, but the {noun} {which} never held", hint)
        remedy = _condition_hint(tests) or _window_hint(tests)
        return Why(_text(child), f"{_text(child)} came, but never with all of{_asked(tests, ':')}", remedy)

    def _alone(self, node: p.Join) -> Why:
        """Say that a part which matches alone waits for its partner."""
        text = _text(node.left if node.alone == "left" else node.right)
        hint = None if self.around.closed else "time must pass: advance(to=...) or close() says that it has"
        return Why(text, f"{text} came, and it is not known yet whether it has a partner", hint)

    def _join(self, entry: Wired, node: p.Join) -> Why:
        text = f"{_text(node.left)} {node.relation.name} {_text(node.right)}"
        keys = self.rules.compiler.stores.shared_key(entry)
        apart = self._apart(entry, node, keys)
        if apart is not None:
            return Why(text, f"all parts of {text} came, but {apart[0]}", apart[1])
        same = f" with the same {names(keys)}" if keys else ""
        if not any(isinstance(test, p.GoalTest) for test in node.tests):  # else these say it
            same += "".join(f", {key_text(pair)}" for pair in node.keys_on)
        reason = f"all parts of {text} came, but never {_relation(node)}{same}"
        return Why(text, reason + _asked(node.tests), self._join_hint(entry, node))

    def _join_hint(self, entry: Wired, node: p.Join) -> str | None:
        """Say what to look at: times, if what waits is too old for the window, else conditions, else the policy."""
        window = window_of(node.tests)
        store: Mapping[Any, Any] = self.rules.memory.get((entry.key, "side0"), {})
        ends = [members(group)[-1][-1] for group in islice(store.values(), _SAMPLE) if type(group) in (tuple, list)]
        now = self.rules.state.now
        if window is not None and ends and now - max(ends) > window:
            last, reached = to_seconds(max(ends)), show_time(now)
            return (
                f"the last {_text(node.left)} ended at {last}, time has reached {reached}; {_window_hint(node.tests)}"
            )
        told = _condition_hint(node.tests) if ends or window is None else None
        return told or _hint(node) or (_EQUAL if node.relation.sequential else None)

    def _apart(self, entry: Wired, node: p.Join, keys: list[str]) -> tuple[str, str] | None:
        """Say that values never meet, if that can be told: of different types, or none of one side on the other."""
        if not keys:
            return None
        left = self._sample(entry, 0, keys[0])
        right = self._sample(entry, 1, keys[0])
        if left is None or right is None:
            return None
        if left.noun != right.noun:
            told = f"{keys[0]} is {left.noun} in {_text(node.left)} and {right.noun} in {_text(node.right)}"
            return told, "declare it with one type in both: `:- event(name(attribute: string, ...)).`"
        if right.value is not None and len(keys) == 1 and left.keys and right.value not in left.keys:
            first = format_value(next(iter(left.keys)))
            told = f"{keys[0]} is never the same: {first} in {_text(node.left)}, {format_value(right.value)} in"
            return f"{told} {_text(node.right)}, for example", "compare how the values are written in both"
        return None

    def _sample(self, entry: Wired, place: int, variable: str) -> _Sample | None:
        """Return what is known of the values of a variable on one side of a join."""
        noun = self._column(p.children(entry.node)[place], variable)
        if noun is not None:
            return _Sample(noun)
        store: Mapping[Any, Any] = self.rules.memory.get((entry.key, f"side{place}"), {})
        if store:
            first = next(iter(store))
            bare = len(self.rules.compiler.stores.keys(entry)) == 1
            return _Sample(_noun(first if bare else first[0]), keys=store if bare else {})
        mark = self.evidence.part(entry.inputs[place].key).seen
        return None if mark is None or mark is True else _Sample(_noun(mark), mark)

    def _column(self, node: p.Node, variable: str) -> str | None:
        """Return the type in which a variable came in columns."""
        for source in sources(node):
            types = self.evidence.types.get((source.name, len(source.args)))
            for place, arg in enumerate(source.args if types is not None else ()):
                if types is not None and isinstance(arg, Var) and arg.name == variable:
                    return _NOUNS.get(types[place])
        return None


@dataclass(frozen=True, slots=True)
class _Sample:
    """A type in words, one value of it, and all that wait where these are known."""

    noun: str
    value: Hashable | None = None
    keys: Mapping[Any, Any] | None = None


def near_name(name: str, others: Collection[str]) -> str | None:
    """Return the name most like another one; writing in capitals makes no difference.

    >>> near_name("Login", ["logout", "login"]), near_name("x", ["y"])
    ('login', None)
    """
    folded = next((other for other in others if other.casefold() == name.casefold() and other != name), None)
    return folded or nearest(name, others)


def sources(node: p.Node) -> Iterator[p.Source]:
    """Yield the events that a part reads, negated ones aside."""
    if isinstance(node, p.Source):
        yield node
    for child in p.children(node):
        yield from sources(child)


def _text(node: p.Node) -> str:
    """Write a part briefly: its events."""
    kinds = list(dict.fromkeys(show((source.name, len(source.args))) for source in sources(node)))
    return " ... ".join(kinds) if kinds else "the time point"


def _relation(node: p.Join) -> str:
    if node.relation.name == "seq":
        return "the first before the second"
    return f"with {relation_test(node.relation)}" if node.relation.comparisons else "together"


def _as_written(test: p.Test) -> p.Test:
    """Return a prefilter as the condition that it was taken from."""
    return p.GoalTest("where", test.goal, test.inputs, ()) if isinstance(test, p.Prefilter) else test


def _asked(tests: tuple[p.Test, ...], before: str = ",") -> str:
    told = [test_text(test) for test in tests if not isinstance(test, p.Action)]
    return f"{before} {', '.join(told)}" if told else ""


def _hint(node: p.Node) -> str | None:
    if isinstance(node, p.Join) and node.policy.keep == "newest" and window_of(node.tests) is None:
        return "under the policy `recent` only the newest waits; policy='unrestricted' pairs all"
    return _window_hint(p.tests(node)) if isinstance(node, p.Join) else _condition_hint(p.tests(node))


def _condition_hint(tests: tuple[p.Test, ...]) -> str | None:
    goal = next((term_text(test.goal) for test in tests if isinstance(test, p.GoalTest)), None)
    return None if goal is None else f"leave out the condition {goal} to see what there is"


def _window_hint(tests: tuple[p.Test, ...]) -> str | None:
    window = next((test for test in tests if isinstance(test, p.Window)), None)
    if window is None:
        return None
    return (
        f"within {seconds(window.duration)} is in seconds: are times, too? unit= (--unit) says in what they are counted"
    )


def _attributes(number: int) -> str:
    return f"{number} attribute" if number == 1 else f"{number} attributes"


def _noun(value: Any) -> str:
    if isinstance(value, str):
        return "a text"
    if isinstance(value, int | float):
        return "a number"
    return "a term" if isinstance(value, Struct | tuple) else type(value).__name__
