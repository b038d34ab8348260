"""The evaluator of Prolog: a goal over the service's knowledge, asked again each time that it is replaced.

Every answer that was not there at the last asking is an event; at the first asking none is. A cursor is
`version:index`, up to which answer of which version it has come, so that a restart neither forgets nor repeats one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from etalis.service.evaluators.assignment import Assignment, LeafEmission, ProviderFailed
from etalis.service.evaluators.knowledge import ServiceKnowledge, Solution

Do = Callable[[Callable[[], set[Solution]]], Awaitable[set[Solution]]]

PROLOG = "http://languages.org/prolog"


class PrologEvaluator:
    """Asks the goals of all leaves in turn."""

    fed_by_id = True

    def __init__(self, knowledge: ServiceKnowledge, do: Do) -> None:
        self.knowledge = knowledge
        self._do = do
        self._running: list[PrologEvaluation] = []

    def beginning(self) -> str | None:
        return f"{self.knowledge.version}:"

    async def start(self, leaf: Assignment) -> PrologEvaluation:
        evaluation = PrologEvaluation(self, leaf)
        await evaluation.begin()
        self._running.append(evaluation)
        return evaluation

    async def ask_again(self) -> None:
        """Ask every goal of the knowledge that there is now."""
        for evaluation in list(self._running):
            if evaluation in self._running:
                await evaluation.ask_again()

    async def ask(self, leaf: Assignment, *, before: bool = False) -> set[Solution]:
        """Return the answers to the goal of a leaf, from the thread where engines run."""
        literal = leaf.expression.literal
        goal = "" if literal is None else literal.text
        return await self._do(lambda: self.knowledge.ask(goal, leaf.inputs, leaf.outputs, before=before))

    def forget(self, evaluation: PrologEvaluation) -> None:
        """Ask a goal no more."""
        if evaluation in self._running:
            self._running.remove(evaluation)


class PrologEvaluation:
    """One goal, and the answers of its last asking."""

    def __init__(self, evaluator: PrologEvaluator, leaf: Assignment) -> None:
        self._evaluator = evaluator
        self._leaf = leaf
        self._known: set[Solution] = set()

    async def begin(self) -> None:
        """Ask for the first time; go on where an earlier run stopped."""
        leaf = self._leaf
        if leaf.expression.literal is None:
            raise ProviderFailed("Prolog takes a goal as a literal, not an operator")
        version = self._evaluator.knowledge.version
        seen, _, index = (leaf.cursor or f"{version}:").partition(":")
        self._known = await self._evaluator.ask(leaf)
        if int(seen) == version and not index:
            return
        past = await self._evaluator.ask(leaf, before=True)
        await self._emit(self._known - past, version, int(index) + 1 if int(seen) == version else 0)

    async def ask_again(self) -> None:
        """Ask again, and emit what is new."""
        version = self._evaluator.knowledge.version
        try:
            found = await self._evaluator.ask(self._leaf)
        except ProviderFailed as error:
            self._evaluator.forget(self)
            await self._leaf.fail(error)
            return
        new, self._known = found - self._known, found
        await self._emit(new, version, 0)

    async def _emit(self, new: set[Solution], version: int, first: int) -> None:
        for index, solution in enumerate(sorted(new)):
            if index >= first:
                await self._leaf.emit(LeafEmission(dict(solution), f"{version}:{index}"))

    async def stop(self) -> None:
        """Ask no more."""
        self._evaluator.forget(self)

    async def leave(self) -> None:
        """Ask no more in this run."""
        self._evaluator.forget(self)
