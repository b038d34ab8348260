"""The expressions of a service in its log: restored, replayed, and their snapshots.

An expression that was restored from a snapshot takes part in the replay from the entry behind it on; results come out
with the numbers that they had, since detection is a function of the entries.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from etalis.service.expressions.hosted_expression import HostedExpression
from etalis.service.expressions.operations import Register, read_operation
from etalis.service.expressions.snoop_service import ACTOR, SnoopService
from etalis.service.outbound.callbacks import CallbackState
from etalis.service.store.log import Entry, KeptUnit, ServiceLog
from etalis.service.store.marks import Frozen
from etalis.snoop import LeafInstance

_PREFIX = "expression:"


class DurableExpressions:
    """What the log asks of the expressions."""

    name = ACTOR

    def __init__(self, service: SnoopService) -> None:
        self._service = service
        self._restored: dict[int, tuple[int, HostedExpression, list[Any]]] = {}  # by number: as of which entry
        self._versions: dict[int, int] = {}  # of expressions when their last snapshot was taken
        self._frozen: dict[int, int] = {}
        self._log: ServiceLog | None = None

    def owns(self, actor: str) -> bool:
        """Tell whether an entry or a unit is of expressions."""
        return actor == ACTOR or actor.startswith(_PREFIX)

    # at the start

    def restore(self, units: Iterable[KeptUnit], state: bytes | None, log: ServiceLog) -> None:
        """Take what was kept."""
        self._log = log
        self._delivered, self._dead = log.delivered(), log.dead_letters()
        expressions = self._service.expressions
        if state is not None:
            expressions.restore(json.loads(state))
        expressions.recall(log.seen())
        for unit in units:
            hosted, held = HostedExpression.restore(unit.body)
            self._restored[hosted.number] = unit.number, hosted, held

    def replay(self, entry: Entry) -> Any:
        """Do an operation again, for those expressions whose snapshots do not have it."""
        self._add(lambda number: number < entry.number)
        operation = read_operation(entry.body)
        if isinstance(operation, Register) and operation.number in self._restored:
            return self._restored[operation.number][1]
        service = self._service
        applied = service.expressions.apply(operation, entry.number, entry.stamp)
        service.publish(operation, applied, entry.stamp, wake=False)
        if isinstance(operation, Register):
            hosted = service.expressions.hosted[operation.number]
            self._take_marks(hosted)
            return hosted
        return applied.answer

    def replayed(self) -> None:
        """Take part from now on with all of them."""
        self._add(lambda _: True)
        self._log = None

    def _add(self, has_passed: Callable[[int], bool]) -> None:
        for number, (entry, hosted, held) in list(self._restored.items()):
            if has_passed(entry):
                del self._restored[number]
                self._add_one(hosted, held)

    def _add_one(self, hosted: HostedExpression, held: list[Any]) -> None:
        assert self._log is not None
        service = self._service
        service.expressions.put(hosted)
        log = service.attach(hosted)
        log.restore(self._log.results(hosted.unit), hosted.notices)
        self._take_marks(hosted)
        if hosted.is_active:
            waiting = ((stamp, order, list(map(LeafInstance.from_plain, each))) for stamp, order, each in held)
            service.expressions.detector.hold(hosted.registration, waiting)
        else:
            service.end(hosted, log.kept()[-1].kept_since if log.kept() else 0.0)
        self._versions[hosted.number] = hosted.version

    def _take_marks(self, hosted: HostedExpression) -> None:
        """Let callbacks go on behind what was delivered."""
        callback = self._service.callbacks.get(hosted.number)
        if callback is not None:
            callback.state = CallbackState(
                delivered=self._delivered.get(hosted.unit, 0), dead_letters=self._dead.get(hosted.unit, {})
            )

    # at work

    def units(self) -> list[str]:
        """Return the expressions that there are."""
        return [f"{_PREFIX}{number}" for number in self._service.results]

    def changed(self) -> list[str]:
        """Return the expressions that have changed."""
        hosted = self._service.expressions.hosted
        numbers = [n for n in list(self._service.results) if n in hosted and hosted[n].version != self._versions.get(n)]
        return [f"{_PREFIX}{number}" for number in numbers]

    async def freeze(self, unit: str) -> Frozen | None:
        """Take the snapshot of an expression in the turn of its queue."""
        number, service = int(unit.removeprefix(_PREFIX)), self._service
        taken = await service.ask(lambda: self._freeze_now(number))
        if taken is None or number not in service.results:
            return None
        entry, version, notices, body = taken
        self._frozen[number] = version
        log = service.results[number]
        return Frozen(entry, body, log.unstored(notices), log.first)

    def _freeze_now(self, number: int) -> tuple[int, int, int, bytes] | None:
        expressions = self._service.expressions
        hosted = expressions.hosted.get(number)
        if hosted is None:
            return None
        held = [
            [stamp, order, [instance.to_plain() for instance in instances]]
            for stamp, order, instances in expressions.detector.held(number)
        ]
        return expressions.entry, hosted.version, hosted.notices, hosted.snapshot(held)

    def kept(self, unit: str, frozen: Frozen) -> None:
        """Note what is on the disk."""
        number = int(unit.removeprefix(_PREFIX))
        self._versions[number] = self._frozen.pop(number)
        log = self._service.results.get(number)
        if log is not None and frozen.results:
            log.stored = frozen.results[-1].number

    async def share(self) -> bytes | None:
        """Return what expressions share."""
        expressions = self._service.expressions
        return await self._service.ask(lambda: json.dumps(expressions.state()).encode())
