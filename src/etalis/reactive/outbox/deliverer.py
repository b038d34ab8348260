"""Makes the effects of an outbox: at least once each, a transaction's in order, one deliverer at a time.

An effect that fails waits 1, 2, 4 ... seconds and is tried again, and holds up its own transaction alone. One that
fails for good ends its transaction: the rest is dropped, and what was made is compensated, last first. Law: no effect
is tried before the outbox says that it is, so what a deliverer leaves behind that ends suddenly is known as uncertain.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from etalis.reactive.effects.attempts import Tried, try_once
from etalis.reactive.effects.registry import EffectRegistry, RegisteredEffect
from etalis.reactive.outbox.delivery_queue import DeliveryQueue, DueEffect, DueTransaction, LeaseLost

_LOG = logging.getLogger("etalis.outbox")
_BATCH = 100  # transactions that are looked up at once
_SHORTEST, _LONGEST = 0.01, 3_600.0  # seconds between two looks at a lease, and between two tries
_UNKNOWN_WAITS = 60.0  # seconds until an effect is looked for again that nobody makes


@dataclass(frozen=True, slots=True)
class DeliveryOptions:
    """How to deliver: when it is, how to wait, in which order."""

    clock: Callable[[], float]
    wait: Callable[[float], object]
    in_order: bool = False
    poll: float = 0.5


class Deliverer:
    """Delivers what waits in a queue, by the functions of a registry."""

    def __init__(self, queue: DeliveryQueue, registry: EffectRegistry, options: DeliveryOptions) -> None:
        self._queue = queue
        self._registry = registry
        self._options = options
        self._count = 0

    def run(self, stopped: Callable[[], bool]) -> int:
        """Deliver until it is stopped; return how many effects were made or compensated."""
        queue, options = self._queue, self._options
        while not stopped():
            pause = self._pause()
            if pause > 0:
                options.wait(pause)
            elif queue.acquire(options.clock()):
                self._deliver(stopped)
            else:
                options.wait(min(options.poll, max(queue.free_at() - options.clock(), _SHORTEST)))
        queue.release()
        return self._count

    def _pause(self) -> float:
        """Return for how many seconds nothing is due, or until it is time to look again."""
        due = self._queue.next_due(in_order=self._options.in_order)
        return self._options.poll if due is None else min(self._options.poll, due - self._options.clock())

    def run_once(self) -> int:
        """Deliver what is due now; return how many effects were made or compensated."""
        if self._queue.acquire(self._options.clock()):
            self._deliver(lambda: False)
            self._queue.release()
        return self._count

    def _deliver(self, stopped: Callable[[], bool]) -> None:
        """Deliver while something is due."""
        try:
            while due := self._queue.due(self._options.clock(), _BATCH, in_order=self._options.in_order):
                for transaction in due:
                    if stopped():
                        break
                    (self._make if transaction.state == "open" else self._compensate)(transaction)
                self._queue.flush(self._options.clock())
                if stopped():
                    return
        except LeaseLost:
            _LOG.warning("another one delivers now: the lease was too short for the effects")

    def _make(self, transaction: DueTransaction) -> None:
        """Make the effects of a transaction that are not made yet, up to one that fails."""
        for effect in self._queue.effects(transaction.id):
            if effect.state == "made":
                continue
            known = self._find(transaction, effect)
            if known is None or not self._try(transaction, effect, known):
                return
        self._queue.end(transaction.id, "done")

    def _try(self, transaction: DueTransaction, effect: DueEffect, known: RegisteredEffect) -> bool:
        """Try an effect; tell whether it was made."""
        queue, id = self._queue, transaction.id  # noqa: A001
        uncertain = effect.uncertain or effect.state == "begun"
        if effect.tries > known.retries:  # who tried it last did not live to say how it ended
            tried = Tried("unknown", "the deliverer ended during the last try")
        elif not queue.begin(self._options.clock(), id, effect):
            return False
        else:
            effect.tries += 1
            tried = try_once(known.function, effect.args, effect.key)
        if tried.outcome == "made":
            queue.mark(effect, "made", error="")
            self._count += 1
            return True
        uncertain = uncertain or tried.outcome == "unknown"
        if tried.outcome != "refused" and effect.tries <= known.retries:
            queue.mark(effect, "waiting", uncertain=uncertain, error=tried.error)
            queue.postpone(id, self._later(effect.tries))
            return False
        queue.mark(effect, "failed", uncertain=uncertain, error=tried.error)
        queue.drop(id)
        queue.fail(id, effect.key)
        return False

    def _compensate(self, transaction: DueTransaction) -> None:
        """Compensate what was made of a transaction, or may have been, last first."""
        queue = self._queue
        queue.drop(transaction.id)
        effects = queue.effects(transaction.id)
        for effect in reversed(effects):
            if effect.may_be_made:
                known = self._find(transaction, effect)
                if known is None or not self._take_back(transaction, effect, known):
                    return
        stuck = any(effect.state == "stuck" for effect in effects)
        queue.end(transaction.id, "stuck" if stuck else "failed" if transaction.failed is not None else "undone")

    def _take_back(self, transaction: DueTransaction, effect: DueEffect, known: RegisteredEffect) -> bool:
        """Compensate an effect; tell whether the one before it is next."""
        queue = self._queue
        if known.compensate is None:
            queue.mark(effect, "stands")
            return True
        if effect.undo_tries > known.retries:
            tried = Tried("unknown", "the deliverer ended during the last try")
        elif not queue.begin_compensation(self._options.clock(), transaction.id, effect):
            return False
        else:
            effect.undo_tries += 1
            tried = try_once(known.compensate, effect.args, effect.key)
        if tried.outcome == "made":
            queue.mark(effect, "compensated")
            self._count += 1
            return True
        if tried.outcome != "refused" and effect.undo_tries <= known.retries:
            queue.mark(effect, "compensating", uncertain=effect.uncertain, error=tried.error)
            queue.postpone(transaction.id, self._later(effect.undo_tries))
            return False
        queue.mark(effect, "stuck", uncertain=effect.uncertain, error=tried.error)
        _LOG.error("the compensation of %s failed for good: %s (key %s)", effect.name, tried.error, effect.key)
        return True

    def _find(self, transaction: DueTransaction, effect: DueEffect) -> RegisteredEffect | None:
        """Return what makes an effect; without it the transaction waits, since nobody can say that it failed."""
        known = self._registry.find(effect.name, len(effect.args))
        if known is None:
            error = f"nobody makes {effect.name}/{len(effect.args)}: register it where effects are delivered"
            self._queue.mark(effect, effect.state, uncertain=effect.uncertain, error=error)
            self._queue.postpone(transaction.id, self._options.clock() + _UNKNOWN_WAITS)
            _LOG.error(error)
        return known

    def _later(self, tries: int) -> float:
        """Return when the next try is due: after 1, 2, 4 ... seconds, an hour at most."""
        return self._options.clock() + min(2.0 ** (tries - 1), _LONGEST)
