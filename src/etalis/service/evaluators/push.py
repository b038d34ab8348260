"""The evaluator of languages whose provider comes by itself: it waits for signals that name the leaf."""

from __future__ import annotations

from etalis.service.evaluators.assignment import Assignment


class PushEvaluator:
    """Starts nothing."""

    fed_by_id = True

    def beginning(self) -> str | None:
        return None

    async def start(self, leaf: Assignment) -> PushEvaluator:  # noqa: ARG002
        return self

    async def stop(self) -> None:
        """End nothing."""

    async def leave(self) -> None:
        """Leave nothing."""
