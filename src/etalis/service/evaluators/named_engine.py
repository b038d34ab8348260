"""The evaluator of engines of this service: the language is an engine's URI, the literal one pattern of an event.

Each match that the pattern fits is an event, in event time with its interval; its cursor is the match's number. So
rules and queries of EP-SPARQL take part in expressions. What is retracted later has been detected all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

from etalis.data.values import Struct, Value
from etalis.errors import EtalisError
from etalis.language.read.parser import parse_event_pattern
from etalis.language.syntax import Compound, Const, EventPattern, ListTerm, Term, Var
from etalis.service.evaluators.assignment import Assignment, LeafEmission, ProviderFailed
from etalis.service.evaluators.texts import text_of
from etalis.service.matches import MatchEntry
from etalis.temporal.event import Event

Feed = AsyncIterator[MatchEntry]
Follow = Callable[[str, str, int | None], Feed]  # client, engine, number


class EngineEvaluator:
    """Follows the matches of engines."""

    fed_by_id = True

    def __init__(self, prefix: str, follow: Follow) -> None:
        self.prefix = prefix
        self._follow = follow

    def beginning(self) -> str | None:
        return None

    async def start(self, leaf: Assignment) -> EngineEvaluation:
        name = (leaf.expression.language or "").removeprefix(self.prefix)
        literal = leaf.expression.literal
        if literal is None:
            raise ProviderFailed("an engine takes the pattern of an event as a literal, not an operator")
        try:
            pattern = parse_event_pattern(literal.text)
            feed = self._follow(leaf.client, name, None if leaf.cursor is None else int(leaf.cursor))
        except EtalisError as error:
            raise ProviderFailed(f"{leaf.expression.language}: {error.problems[0].message}") from error
        return EngineEvaluation(leaf, pattern, feed)


class EngineEvaluation:
    """A leaf that follows an engine."""

    def __init__(self, leaf: Assignment, pattern: EventPattern, feed: Feed) -> None:
        self._leaf = leaf
        self._pattern = pattern
        self._task = asyncio.get_running_loop().create_task(self._run(feed))

    async def _run(self, feed: Feed) -> None:
        async for match in feed:
            found = fit(self._pattern, match.event, self._leaf.inputs)
            if found is not None:
                bindings = {name: found[name] for name in self._leaf.outputs if name in found}
                event = match.event
                await self._leaf.emit(LeafEmission(bindings, str(match.number), (event[1], event[0])))
        await self._leaf.end()

    async def stop(self) -> None:
        """Follow no more."""
        if self._task is not asyncio.current_task():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def leave(self) -> None:
        """Follow no more in this run."""
        await self.stop()


def fit(pattern: EventPattern, event: Event, inputs: Mapping[str, str]) -> dict[str, str] | None:
    """Return the values of a pattern's variables as texts, None if the event is none of it.

    >>> fit(parse_event_pattern("fraud(Card, 2)"), Event("fraud", "c1", 2, at=0), {})
    {'Card': 'c1'}
    """
    if event.name != pattern.name:
        return None
    values: tuple[Value, ...] = event.args
    if pattern.names:
        places = event.kind.attributes
        names = [str(name.value) for name in pattern.names]
        if not set(names) <= set(places):
            return None
        values = tuple(values[places.index(name)] for name in names)
    if len(values) != len(pattern.args):
        return None
    found: dict[str, Value] = {}
    texts = dict(inputs)
    if not all(_fits(term, value, found) for term, value in zip(pattern.args, values, strict=True)):
        return None
    for name, value in found.items():
        if texts.setdefault(name, text_of(value)) != text_of(value):
            return None
    return {name: text_of(value) for name, value in found.items()}


def _fits(term: Term, value: Value, found: dict[str, Value]) -> bool:
    match term:
        case Const(value=given):
            return type(given) is type(value) and given == value
        case Var(name=name):
            return name.startswith("_") or found.setdefault(name, value) == value
        case Compound(name=name, args=args):
            same = isinstance(value, Struct) and value.name == name and len(value.args) == len(args)
            return same and all(_fits(a, v, found) for a, v in zip(args, value.args, strict=True))
        case ListTerm(items=items, tail=tail):
            if not isinstance(value, tuple) or len(value) < len(items) or (tail is None and len(value) > len(items)):
                return False
            rest = value[len(items) :]
            return all(map(lambda a, v: _fits(a, v, found), items, value)) and (
                tail is None or _fits(tail, rest, found)
            )
