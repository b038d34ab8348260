"""The code of one rule set while it is written: the wired plan, the state it works on, and the texts so far.

Everything that writes a part of the code shares this, and nothing in it writes any.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

from etalis.language.attributes import Signature
from etalis.plan import algebra as p
from etalis.plan.retention import window_of
from etalis.plan.sharing import ends_first, meet
from etalis.plan.types import Typing
from etalis.runtime.codegen.conditions import Conditions
from etalis.runtime.codegen.heads import Heads
from etalis.runtime.codegen.network import PlannedRule, Wired, Wiring, may_double
from etalis.runtime.codegen.plain_floats import PlainFloats
from etalis.runtime.codegen.source import Code
from etalis.runtime.operators.blockers import EventLog
from etalis.runtime.reporting.evidence import Evidence
from etalis.runtime.state import State

Names = dict[str, str]  # variable -> Python expression (a local name)


class RuleCode:
    """What all that writes code for one rule set knows of it."""

    def __init__(
        self, wiring: Wiring, state: State, memory: dict[Any, Any], conditions: Conditions, heads: Heads,
        evidence: Evidence, infer: Callable[[], Typing], declared: Mapping[str, Signature],
        computed: Collection[p.Kind], levels: Mapping[Hashable, int], stages: Mapping[Hashable, int],
    ) -> None:  # fmt: skip
        self.wiring = wiring
        self.state = state
        self.memory = memory
        self.conditions = conditions
        self.heads = heads
        self.evidence = evidence
        self.infer = infer
        self.computed = computed
        self.levels = levels  # of outer joins, by the ids of their nodes
        self.stages = stages  # of what falls due, likewise
        self.joint = False  # whether events of several kinds may come as one arrival
        self.corrects = False  # whether what has happened is run again, corrected
        self.told = sys.maxsize  # elements of an aggregate that a match tells
        self._typing: Typing | None = None
        self._types: dict[int, Mapping[str, str]] = {}
        self._interned: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
        self.sources: list[tuple[str, str, list[Any]]] = []  # what it does, text and constants of every function
        self.floats = PlainFloats(wiring, self.types, declared)

    def remember(self, entry: Wired, name: str, make: Callable[[], Any]) -> Any:
        """Return the part of an entry's state under a name, made on first use and kept while the rule lives."""
        key = (entry.key, name)
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]

    def types(self, entry: Wired) -> Mapping[str, str]:
        """Return the types of the variables of an entry's matches, after all its tests.

        A value is of its type, null, or None where it is not bound; `term` is any value.
        """
        if id(entry) not in self._types:
            self._types[id(entry)] = self._alike(self._typed().variables(entry.node))
        return self._types[id(entry)]

    def kind_types(self, kind: p.Kind) -> tuple[str, ...] | None:
        """Return the types that the attributes of a kind of events are taken to have; None where nothing is known."""
        return self._typed().kinds.get(kind)

    def _typed(self) -> Typing:
        if self._typing is None:
            self._typing = self.infer()
        return self._typing

    def _alike(self, types: Mapping[str, str]) -> Mapping[str, str]:
        """Return types that equal some: rules that are alike have the same ones."""
        return self._interned.setdefault(tuple(types.items()), types)

    def finish(self, code: Code, what: str) -> Callable[..., Any]:
        """Compile a function and keep its text for `explain`."""
        text = sys.intern(code.source())  # rules of one shape have one text
        self.sources.append((what, text, code.objects))
        return code.function(text)

    def rule_of(self, entry: Wired) -> str:
        """Return the label of a rule that an entry belongs to, for messages."""
        readers = entry.readers
        while readers[0].kind != "head":
            readers = readers[0].target.readers
        rule: PlannedRule = readers[0].target
        return rule.head.label

    def log(self) -> EventLog | None:
        """Return the log of all events, if the program isolates anything."""
        several = [p.tests(e.node) for e in self.wiring.entries]
        windows = [window_of(tests) for tests in several if any(isinstance(t, p.Alone) for t in tests)]
        if not windows:
            return None
        log: EventLog = self.memory.setdefault("log", EventLog())
        bounded = [window for window in windows if window is not None]
        log.keep = max(bounded) if len(bounded) == len(windows) else None
        return log

    def meets_itself(self, entry: Wired) -> bool:
        """Tell whether an event may replace its own partner, where an operator keeps the newest (definition 12.14)."""
        node = entry.node
        if not isinstance(node, p.Join | p.Repetition) or node.policy.keep != "newest" or len(entry.inputs) < 2:
            return False
        return self.joint or (meet(*p.children(node)) and not ends_first(node))

    def reads_numbers(self) -> bool:
        """Tell whether anything asks which event is being offered."""
        return self.tell_apart(self.wiring.entries)

    def tell_apart(self, entries: Sequence[Wired]) -> bool:
        """Tell whether some entries ask which event is being offered: one may match two alternatives of an `or`."""
        tells = any(isinstance(entry.node, p.SomeOf) or "$one" in entry.node.exports for entry in entries)
        unions = [entry for entry in entries if isinstance(entry.node, p.Union)]
        doubles = any(self.may_double(child, union) for union in unions for child in union.inputs)
        return tells or doubles or any(map(self.meets_itself, entries))

    def may_double(self, child: Wired, union: Wired) -> bool:
        """Tell whether the event that an alternative matches may match again: there once more, or in another one."""
        return may_double(child, union, joint=self.joint)

    def add(self, part: Wiring, typing: Typing) -> None:
        """Add entries of rules that come later, with the types of what they read and make."""
        self.wiring.add(part)
        self._types.update((id(entry), self._alike(typing.variables(entry.node))) for entry in part.entries)
        self.floats.add(part)
