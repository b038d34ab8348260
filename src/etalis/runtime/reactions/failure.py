"""What a user is told of a reaction without an execution: how far the longest attempt came, and what stopped it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from etalis.data.values import Value, format_value
from etalis.errors import EtalisError, Failure, Problem
from etalis.reactive.execution import Failed, Label, steps_of
from etalis.temporal.interval import show_moment, to_seconds

_SENTENCES = {
    "no execution": "has no execution: {failed}",
    "limit": "was given up: {failed}",
    "error": "came to an error: {failed}",
    "effect refused": "has no execution without what was refused: {failed}",
    "illegal state": "would make an illegal state: {failed}",
}
_HINT = "engine.simulate(...) shows how far an action gets"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a turn came to nothing: the steps reached, the step that failed, and the kind of failure."""

    reached: tuple[Label, ...]
    failed: str
    why: str
    error: EtalisError | None = None

    @staticmethod
    def of(failed: Failed, refused: Mapping[Label, str]) -> Refusal:
        """Return that a search has found no path, without some effects that were refused, each with what was said."""
        said = {str(label): text for label, text in refused.items()}.get(failed.failed)
        return Refusal(failed.reached, f"{failed.failed}: {said}" if said else failed.failed, failed.why, failed.error)


def failure_of(
    label: str, bindings: Mapping[str, Value], interval: tuple[int, int], refusal: Refusal, number: int | None = None
) -> Failure:  # fmt: skip
    """Return the error that says it."""
    bindings = {name: value for name, value in bindings.items() if " " not in name}  # those of a text
    named = ", ".join(f"{name} = {format_value(value)}" for name, value in bindings.items())
    start, end = map(show_moment, interval)
    when = f"at {end}" if start == end else f"on [{start}, {end}]"
    steps = steps_of(refusal.reached)
    after = f", after {', '.join(steps)}" if steps else ""
    what = _SENTENCES[refusal.why].format(failed=refusal.failed)
    message = f"{label} {when} {what}{after}" + (f" ({named})" if named else "")
    hint = refusal.error.problems[0].hint if refusal.error is not None else _HINT
    span = None if refusal.error is None else refusal.error.problems[0].span
    problem = Problem("E515", message, span, hint)
    found = Failure(
        problem, label, dict(bindings), (to_seconds(interval[0]), to_seconds(interval[1])), number, steps,
        refusal.failed, refusal.why,
    )  # fmt: skip
    found.kind = (label, "reaction", refusal.why)
    return found
