"""The evaluations that run: begun for the leaves of an expression, ended with it, left when the service ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from etalis.errors import EtalisError
from etalis.service.evaluators.assignment import Assignment, Evaluation, LeafEmission, ProviderFailed
from etalis.service.evaluators.table import EvaluatorTable
from etalis.service.expressions import operations as op
from etalis.service.expressions.hosted_expression import HostedExpression, ProvidedLeaf
from etalis.service.expressions.uris import Uris
from etalis.service.outbound.callbacks import Timing
from etalis.snoop import ExpressionLeaf
from etalis.snoop.expression import name_path

_PAUSE = 1.0  # seconds, after which what could not be written is tried again


class Expecting(Protocol):
    """What takes the operations of evaluators."""

    uris: Uris
    evaluators: EvaluatorTable

    async def submit(self, operation: op.Operation) -> Any:
        """Write an operation, and do it."""

    async def ask(self, question: Callable[[], Any]) -> Any:
        """Ask something in the turn of the queue."""


class RunningEvaluations:
    """The evaluations by expression and leaf."""

    def __init__(self, service: Expecting, timing: Timing) -> None:
        self._service = service
        self._timing = timing
        self._running: dict[int, dict[str, Evaluation]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._beginning: dict[asyncio.Task[None], str | None] = {}  # with the language of their leaf

    def begin(self, hosted: HostedExpression) -> None:
        """Start an evaluator for each leaf that has one; a leaf that nobody evaluates has failed."""
        provided = [leaf for leaf in hosted.registration.leaves if leaf.by_id]
        if provided and hosted.number not in self._running:
            self._running[hosted.number] = {}
            for leaf in provided:
                task = self._spawn(self._start(hosted, leaf))
                self._beginning[task] = leaf.expression.language
                task.add_done_callback(self._beginning.pop)

    def end(self, number: int) -> None:
        """Stop all evaluations of an expression."""
        for evaluation in self._running.pop(number, {}).values():
            self._spawn(evaluation.stop())

    async def leave(self) -> None:
        """Let all go on without us."""
        for several in self._running.values():
            for evaluation in list(several.values()):
                await evaluation.leave()
        self._running.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def settled(self) -> None:
        """Wait until all that was begun runs, or has failed."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def begun(self, language: str) -> None:
        """Wait until all that was begun in one language runs, or has failed."""
        await asyncio.gather(*(task for task, each in self._beginning.items() if each == language))

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _start(self, hosted: HostedExpression, leaf: ExpressionLeaf) -> None:
        path = name_path(leaf.path)
        if await self._service.ask(lambda: hosted.registration.is_dead(leaf.path)):
            return
        row = self._service.evaluators.find(leaf.expression.language)
        try:
            if row is None:
                raise ProviderFailed(f"nobody evaluates {leaf.expression.language}")
            evaluation = await row.evaluator.start(self._assignment(hosted, leaf, path))
        except ProviderFailed as error:
            await self._fail(hosted.number, path, error)
            return
        if hosted.number in self._running:
            self._running[hosted.number][path] = evaluation
        else:
            await evaluation.stop()

    def _assignment(self, hosted: HostedExpression, leaf: ExpressionLeaf, path: str) -> Assignment:
        number = hosted.number
        known = hosted.provided.get(path, ProvidedLeaf())

        async def emit(emission: LeafEmission) -> None:
            start, end = emission.interval or (None, None)
            await self._submit(op.Emitted(number, path, dict(emission.bindings), emission.cursor, start, end))

        async def end() -> None:
            await self._submit(op.Signals([op.LeafEnd(number, path)]))

        async def began(provider_id: str) -> None:
            await self._submit(op.Began(number, path, provider_id))

        async def fail(error: ProviderFailed) -> None:
            await self._fail(number, path, error)

        return Assignment(
            self._service.uris.leaf(number, path), leaf.expression, _inputs(leaf), leaf.outputs, hosted.client,
            known.cursor, known.provider_id, emit, end, fail, began,
        )  # fmt: skip

    async def _fail(self, number: int, path: str, error: ProviderFailed) -> None:
        problem = error.problems[0]
        await self._submit(op.Signals([op.LeafFailure(number, path, problem.code, problem.message)]))

    async def _submit(self, operation: op.Operation) -> None:
        """Write an operation, again and again if need be: what it says is not said a second time."""
        submit: Callable[[op.Operation], Awaitable[Any]] = self._service.submit
        while True:
            try:
                await submit(operation)
            except EtalisError:
                await self._timing.sleep(_PAUSE)
            else:
                return


def _inputs(leaf: ExpressionLeaf) -> dict[str, str]:
    """Return the values that a leaf is given: those of the variables that it names."""
    own = {v.name for v in leaf.expression.variables} | {p.variable for p in leaf.expression.parameters}
    return {name: value for name, value in leaf.inputs.items() if name in own}
