"""All derivations of an event: the kept past is run once more, and what is made again is noted.

Rules are those of the engine, conditions are asked over the knowledge of their time, raised events come as they came:
no action runs again. Nothing here touches the engine that is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, takewhile
from typing import TYPE_CHECKING, Any

from etalis.errors import ConditionError
from etalis.language.steps import Occur
from etalis.runtime.changes import Changes
from etalis.runtime.limits.circuit_breaker import Breaker
from etalis.runtime.reporting.evidence import Evidence
from etalis.runtime.ruleset import RuleSet
from etalis.runtime.run_loop import RunLoop
from etalis.runtime.state import BEGINNING, NEVER, Raw, State
from etalis.why import justification as j
from etalis.why.build import JustificationBuilder
from etalis.why.rule_texts import program_digest

if TYPE_CHECKING:
    from etalis.runtime.core import Core

LIMIT = 100
CHANGED = "rules have changed since the run began: other derivations are not told"


def derivations(core: Core, raw: Raw | int, limit: int = LIMIT) -> Iterator[j.Justification]:
    """Yield the derivations of an event, the first by arrival first, no more than so many."""
    return islice(_derivations(core, raw), limit)


def _derivations(core: Core, raw: Raw | int) -> Iterator[j.Justification]:
    lives = core.rules.lives.values()
    changed = any(life.since != BEGINNING or life.until != NEVER for life in lives)
    told: set[Any] = set()
    others: Iterator[Raw] = iter(())
    if isinstance(raw, tuple) and raw[2].rule is not None and not changed:
        others = _all_made(core, raw)
    for one in chain([raw], others):
        builder = JustificationBuilder(core)
        root = builder.event(one)
        signature = _signature(root)
        if signature not in told:
            told.add(signature)
            notes = (*builder.notes, *((CHANGED,) if changed else ()))
            dates = core.evidence.shown.dates
            yield j.Justification(root, program_digest(core), core.level, builder.complete, notes, dates)


def _all_made(core: Core, wanted: Raw) -> Iterator[Raw]:
    """Yield the event as often as a run of the kept past makes it."""
    arity = wanted[2].arity
    identity = (*wanted[:2], *wanted[3 : 3 + arity])
    found: list[Raw] = []

    def note(several: Sequence[Raw]) -> None:
        for raw in several:
            alike = raw[0] == identity[0] and (raw[2].name, raw[2].arity) == (wanted[2].name, arity)
            if alike and (*raw[:2], *raw[3 : 3 + arity]) == identity:
                found.append(raw)

    replay = _Replay(core, note)
    for _ in replay.run(wanted[0]):
        yield from found
        found.clear()
    yield from found


class _Replay:
    """A second run of the kept past, beside the engine."""

    def __init__(self, core: Core, note: Any) -> None:
        record, rules = core.record, core.rules
        assert record is not None
        self._record = record
        errors: list[ConditionError] = []
        self._state = State()
        self._made: dict[Any, Any] = {}
        self._rules = RuleSet(
            core.program, rules.solver, policy=rules.settings.policy, parts=True, report=errors.append,
            breaker=Breaker(core.program.settings.max_rule_failures), evidence=Evidence(), replays=True,
            state=self._state, made=self._made, like=(rules.rules, rules.first), derivations=note,
        )  # fmt: skip
        self._loop = RunLoop(core.program, lambda _step: None)
        self._loop.begin(self._rules, Changes(self._state, rules.conditions.solver.database, errors.append))
        self._raised: dict[int, list[Raw]] = {}
        for number, raw in record.raised:
            self._raised.setdefault(number, []).append(raw)
        self._sorts = core.disorder is not None

    def run(self, until: int) -> Iterator[None]:
        """Run all up to a moment, deadlines of that moment included; yield after every input."""
        inputs = self._record.source.items()
        ordered = sorted(inputs, key=lambda kept: (kept.end, kept.start, kept.number)) if self._sorts else inputs
        out: list[Raw] = []
        self._raise_after(0, until, out)
        for kept in takewhile(lambda kept: kept.end <= until, ordered):
            kind = (kept.name, len(kept.args))
            self._loop.process(kind, kept.args, kept.start, kept.end, kept.number, out)
            self._raise_after(kept.number, until, out)
            yield
            out.clear()
        self._loop.pass_time(until, out, inclusive=True)

    def _raise_after(self, number: int, until: int, out: list[Raw]) -> None:
        """Let the events occur that goals raised after an input."""
        for raw in self._raised.get(number, ()):
            if raw[0] <= until:
                values = raw[3 : 3 + raw[2].arity]
                self._loop.raise_again(Occur(raw[2].name, values, raw[1], raw[0], raw[-1]), out)


def _signature(root: j.Node) -> Any:
    """Return what tells a derivation from others: its rule and the events at its leaves, in order."""
    if not isinstance(root, j.Derived):
        return id(root)
    leaves: list[Any] = []
    waiting: list[j.Node] = [root.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, j.Received):
            leaves.append(node.number)
        elif isinstance(node, j.Occurred):
            leaves.append((node.name, node.args, node.start, node.end))
        else:
            leaves.append(node.which if isinstance(node, j.ChosenBranch) else None)
            waiting.extend(reversed(j.below(node)))
    return root.rule, tuple(leaves)
