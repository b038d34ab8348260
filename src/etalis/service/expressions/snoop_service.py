"""Expressions of a service, as doors see them: operations are written, done in order, and told to who waits.

Everything here runs in the event loop; what an operation does runs in the worker's thread, in the turn of one queue for
all expressions. Law: an operation is answered after it was written and done, and its results are seen not before.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from etalis.service.access import Client
from etalis.service.clock import ServiceClock
from etalis.service.evaluators.knowledge import refuse_if_broken
from etalis.service.evaluators.prolog import PROLOG
from etalis.service.evaluators.running import RunningEvaluations
from etalis.service.evaluators.table import EvaluatorTable
from etalis.service.expressions import operations as op
from etalis.service.expressions.expressions import Applied, Expressions, make_registration
from etalis.service.expressions.hosted_expression import HostedExpression
from etalis.service.expressions.result_log import ResultLog
from etalis.service.expressions.uris import Uris
from etalis.service.kept import KEPT, KEPT_SECONDS
from etalis.service.outbound.callbacks import Callback, CallbackState, Timing
from etalis.service.outbound.sender import Sender
from etalis.service.problems import NotFoundError, TooManyError, UnprocessableError
from etalis.service.store.journal import REQUEST, Journal
from etalis.service.worker import Actor, Worker
from etalis.snoop import Expression, Notice, Registration, checked
from etalis.snoop.expression import leaves, name_path, read_path
from etalis.snoop.markup.json_form import to_json

T = TypeVar("T")
ACTOR = "expressions"
MOST_ENDED = 10_000  # expressions that tell no more, and are still there to be read


@dataclass(frozen=True, slots=True, kw_only=True)
class SnoopSettings:
    """How expressions are detected, and what a client may have."""

    time: str = "clock"
    lateness: int = 0  # microseconds, of events
    expressions: int = 1_000
    kept: int = KEPT
    kept_seconds: float = KEPT_SECONDS


class SnoopService:
    """All expressions of a service."""

    def __init__(
        self, worker: Worker, clock: ServiceClock, uris: Uris, sender: Sender, evaluators: EvaluatorTable, *,
        secret_of: Callable[[str], str | None], settings: SnoopSettings = SnoopSettings(),  # noqa: B008
        timing: Timing = Timing(), expressions: Expressions | None = None,  # noqa: B008
    ) -> None:  # fmt: skip
        self.settings = settings
        self.uris = uris
        self.expressions = expressions or Expressions(time=settings.time, lateness=settings.lateness)
        self.evaluators = evaluators
        self.sender = sender
        self.results: dict[int, ResultLog] = {}
        self.clients: dict[int, str] = {}
        self.callbacks: dict[int, Callback] = {}
        self.actor = Actor(ACTOR)
        self.journal: Journal | None = None
        self.running = RunningEvaluations(self, timing)
        self._worker = worker
        self._clock = clock
        self._secret_of = secret_of
        self._timing = timing
        self._numbers = 0  # of expressions
        self._entries = 0  # where nothing is written
        self._owned: Counter[str] = Counter()  # expressions that are active
        self._registering: Counter[str] = Counter()
        self._ended: deque[tuple[float, int]] = deque()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._knowing = asyncio.Lock()

    # beginning and end

    async def start(self) -> None:
        """Begin: send what was not sent, evaluate what is to be evaluated."""
        for callback in self.callbacks.values():
            callback.wake()
        for hosted in list(self.expressions.hosted.values()):
            self.begin(hosted)

    async def stop(self) -> None:
        """End what was begun here; callbacks and evaluations go on in another run."""
        await self.running.leave()
        for callback in self.callbacks.values():
            await callback.stop()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        for log in self.results.values():
            log.end()
        await self.sender.close()

    # operations

    async def register(
        self, expression: Expression, client: str, *, callback: str | None = None, form: str = "json"
    ) -> HostedExpression:  # fmt: skip
        """Register an expression, or refuse it with all that is wrong with it; `begin` starts its evaluators."""
        if callback is not None:
            self._check_callback(callback, client)
        owned = self._owned[client] + self._registering[client]
        if owned >= self.settings.expressions:
            raise TooManyError("E861", f"{client} has {owned} expressions, and may have no more", "unregister one")
        self._registering[client] += 1
        try:
            return await self._register(expression, client, callback, form)
        finally:
            self._registering[client] -= 1

    async def _register(
        self, expression: Expression, client: str, callback: str | None, form: str
    ) -> HostedExpression:  # fmt: skip
        languages = {leaf.language for _, leaf in leaves(expression) if leaf.language is not None}
        provided = sorted(name for name in languages if self.evaluators.find(name) is not None)
        draft = op.Register(0, client, to_json(expression), provided, callback, form)

        def make() -> Registration:
            self.check(expression)  # as it was written: with places, and what is said twice
            return make_registration(draft)

        registration = await self._worker.do(self.actor, make)
        self._forget_ended()
        self._numbers = registration.number = number = max(self._numbers, self.expressions.numbers) + 1
        beginnings = {}
        for leaf in registration.leaves:
            row = self.evaluators.find(leaf.expression.language) if leaf.by_id else None
            cursor = None if row is None else row.evaluator.beginning()
            if cursor is not None:
                beginnings[name_path(leaf.path)] = cursor
        operation = op.Register(number, client, draft.expression, provided, callback, form, beginnings)
        now = self._clock.now()
        await self._submit(operation, lambda entry: self.expressions.add(operation, registration, entry, now))
        return self.expressions.hosted[number]

    def _check_callback(self, url: str, client: str) -> None:
        """Refuse an address that is not allowed, and a client without a secret."""
        self.sender.rules.check(url)
        if self._secret_of(client) is None:
            hint = "give it one: the fourth word of its line in the file of tokens, or --callback-secret"
            raise UnprocessableError("E815", f"{client} has no secret by which callbacks are signed", hint)

    def begin(self, hosted: HostedExpression) -> None:
        """Start the evaluators of an expression: after the answer that names its leaves."""
        if hosted.is_active:
            self.running.begin(hosted)

    async def signal(self, signals: list[op.Signal], trace: str | None = None) -> dict[str, Any]:
        """Take signals in order; return what became of them."""
        return (await self._submit(op.Signals(signals, trace))).answer

    async def unregister(self, number: int) -> None:
        """Remove an expression, after what was signalled before."""
        applied = await self._submit(op.Unregister(number))
        if not applied.answer["removed"]:
            raise no_expression(self.uris.expression(number))

    async def advance(self, to: int) -> None:
        """Say that nothing up to a time is to come."""
        await self._submit(op.AdvanceTime(to))

    async def replace_knowledge(self, text: str) -> int:
        """Put a text in the place of the knowledge; what is new to goals has been taken when it returns."""
        async with self._knowing:
            await self._worker.do(self.actor, partial(refuse_if_broken, text))
            await self.running.begun(PROLOG)  # a goal is first asked of the knowledge that was there when it came
            applied = await self._submit(op.NewKnowledge(text))
            await self.evaluators.prolog.ask_again()
            return int(applied.answer["version"])

    async def submit(self, operation: op.Operation) -> Applied:
        """Write an operation of our own, and do it: it belongs to no request."""
        REQUEST.set(None)
        return await self._submit(operation, always=True)

    async def ask(self, question: Callable[[], T]) -> T:
        """Ask something in the turn of the queue."""
        return await self._worker.do(self.actor, question, always=True)

    # what there is

    @property
    def by_clock(self) -> bool:
        """Whether signals occur when they are received."""
        return self.expressions.by_clock

    def find(self, number: int | None, client: Client) -> HostedExpression:
        """Return an expression of a client."""
        hosted = None if number is None else self.expressions.hosted.get(number)
        if hosted is None or number not in self.results or not (hosted.client == client.name or client.may("admin")):
            raise no_expression("" if number is None else self.uris.expression(number))
        return hosted

    @staticmethod
    def check(expression: Expression) -> None:
        """Refuse an expression that could not be registered, with all that is wrong with it."""
        checked(expression)

    def list(self, client: Client) -> list[HostedExpression]:
        """Return the expressions of a client, those that were registered first before others."""
        own = [number for number, name in self.clients.items() if name == client.name or client.may("admin")]
        return [self.expressions.hosted[number] for number in own if number in self.expressions.hosted]

    def signalled(self, number: int, path: str, client: Client) -> HostedExpression | None:
        """Return an expression whose leaf a client may signal: its own, or one that it provides."""
        hosted = self.expressions.hosted.get(number)
        leaf = None if hosted is None else hosted.registration.leaf(read_path(path))
        if hosted is None or leaf is None or not hosted.is_active:
            return None
        row = self.evaluators.find(leaf.expression.language)
        allowed = hosted.client == client.name or client.may("admin") or (row is not None and row.client == client.name)
        return hosted if allowed else None

    # one operation

    async def _submit(
        self, operation: op.Operation, work: Callable[[int], Applied] | None = None, *, always: bool = False
    ) -> Applied:
        """Write an operation, if something is written, then do it."""
        now = self._clock.now()

        def make(number: int) -> tuple[_OperationJob, asyncio.Future[Applied]]:
            answer: asyncio.Future[Applied] = asyncio.get_running_loop().create_future()
            apply = partial(self.expressions.apply, operation, number, now) if work is None else partial(work, number)
            return _OperationJob(self, operation, apply, now, answer), answer

        if self.journal is None:
            self._entries += 1
            job, answer = make(self._entries)
            self._worker.submit(self.actor, job, always=always)
            return await answer
        body, kind = op.write_operation(operation), str(operation.__struct_config__.tag)
        ids = op.signal_ids(operation)
        return await self.journal.perform(self.actor, ACTOR, kind, body, make, stamp=now, ids=ids, always=always)

    def publish(self, operation: op.Operation, applied: Applied, now: int, *, wake: bool = True) -> None:
        """Tell what came of an operation: results to who reads, waits, or is called back."""
        match operation:
            case op.Register(number=number):
                self.attach(self.expressions.hosted[number])
            case op.Unregister(number=number):
                if applied.answer["removed"]:
                    self._detach(number)
            case _:
                pass
        trace = operation.trace if isinstance(operation, op.Signals) else None
        for hosted, notice in applied.told:
            self._tell(hosted, notice, now, trace, wake)

    def _tell(self, hosted: HostedExpression, notice: Notice, now: int, trace: str | None, wake: bool) -> None:
        log = self.results.get(hosted.number)
        if log is None:  # it was unregistered since
            return
        log.add([notice], now / 1_000_000, trace)
        if not hosted.is_active:
            self.end(hosted, now / 1_000_000)
        callback = self.callbacks.get(hosted.number)
        if callback is not None and wake:
            callback.wake()

    def end(self, hosted: HostedExpression, at: float) -> None:
        """Take it that an expression tells no more: what it told stays for a while."""
        log = self.results[hosted.number]
        if not log.ended:
            log.end()
            self._owned[hosted.client] -= 1
            self._ended.append((at, hosted.number))
            self.running.end(hosted.number)

    def _forget_ended(self) -> None:
        """Remove expressions that ended long ago."""
        oldest = self._seconds() - self.settings.kept_seconds
        while self._ended and (self._ended[0][0] < oldest or len(self._ended) > MOST_ENDED):
            _, number = self._ended.popleft()
            if number in self.results:
                self._spawn(self.submit(op.Unregister(number)))

    def attach(self, hosted: HostedExpression, state: CallbackState | None = None) -> ResultLog:
        """Keep the results of an expression from now on, and send them where they are wanted."""
        number = hosted.number
        kept, seconds = self.settings.kept, self.settings.kept_seconds
        log = ResultLog(number, self.uris, hosted.form, seconds=seconds, kept=kept, clock=self._seconds)
        self.results[number] = log
        self.clients[number] = hosted.client
        self._owned[hosted.client] += 1
        self._numbers = max(self._numbers, number)
        if hosted.callback is not None:
            secret, mark = partial(self._secret_of, hosted.client), partial(self._mark, hosted.unit)
            self.callbacks[number] = Callback(
                hosted.callback, secret, log, self.sender, state=state, mark=mark, timing=self._timing
            )
        return log

    def _seconds(self) -> float:
        return self._clock.now() / 1_000_000

    def _mark(self, unit: str, number: int, dead: str | None) -> None:
        if self.journal is not None:
            done = self.journal.log.delivered_to(unit, number, dead=dead)
            done.add_done_callback(asyncio.Future.exception)  # what is not marked is sent again

    def _detach(self, number: int) -> None:
        log, client = self.results.pop(number), self.clients.pop(number)
        if not log.ended:
            self._owned[client] -= 1
        log.end()
        self.running.end(number)
        callback = self.callbacks.pop(number, None)
        if callback is not None:
            self._spawn(callback.stop())

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def no_expression(uri: str) -> NotFoundError:
    """Return the refusal of an expression that there is not, or not for this client."""
    return NotFoundError("E860", f"there is no expression {uri}", "GET /snoop/expressions lists yours")


class _OperationJob:
    """The job that does one operation."""

    def __init__(
        self, service: SnoopService, operation: op.Operation, work: Callable[[], Applied], now: int,
        answer: asyncio.Future[Applied],
    ) -> None:  # fmt: skip
        self._service = service
        self._operation = operation
        self._work = work
        self._now = now
        self._answer = answer

    def step(self) -> tuple[Applied, bool]:
        return self._work(), False

    def deliver(self, found: Applied) -> None:
        self._service.publish(self._operation, found, self._now)
        if not self._answer.done():
            self._answer.set_result(found)

    def finish(self) -> None:
        """Say no more: the answer was the only piece."""

    def fail(self, error: BaseException) -> None:
        if not self._answer.done():
            self._answer.set_exception(error)
