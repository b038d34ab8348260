"""How the expressions of a service are set up: what is allowed, who provides what, how secrets are found."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

import httpx

from etalis.service.access import Client, TokenFile
from etalis.service.clock import ServiceClock
from etalis.service.evaluators.named_engine import EngineEvaluator
from etalis.service.evaluators.prolog import PrologEvaluator
from etalis.service.evaluators.table import EvaluatorTable, Provider
from etalis.service.expressions.expressions import Expressions
from etalis.service.expressions.snoop_service import SnoopService, SnoopSettings
from etalis.service.expressions.uris import Uris
from etalis.service.kept import Ended, LostMatches
from etalis.service.matches import MatchEntry, MatchLog
from etalis.service.outbound.addresses import AddressRules, Resolver, resolve
from etalis.service.outbound.callbacks import Timing
from etalis.service.outbound.sender import Sender
from etalis.service.worker import Worker
from etalis.temporal.interval import MICROSECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class SnoopOptions:
    """What `etalis serve` says of expressions; tests replace the network and the time."""

    settings: SnoopSettings = field(default_factory=SnoopSettings)
    hosts: tuple[str, ...] = ()
    plain_hosts: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    providers: tuple[Provider, ...] = ()
    callback_secret: str | None = None  # of clients without tokens
    resolver: Resolver = resolve
    transport: httpx.AsyncBaseTransport | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class FollowedEngine(Protocol):
    """An engine whose matches are told."""

    matches: MatchLog


class OpenedService(Protocol):
    """The service that expressions belong to."""

    public_url: str
    worker: Worker
    clock: ServiceClock
    tokens: TokenFile | None

    def engine(self, name: str, client: Client) -> FollowedEngine:
        """Return an engine that a client sees."""


def open_snoop(service: OpenedService, options: SnoopOptions) -> SnoopService:
    """Return the expressions of a service; they start with it."""
    settings = options.settings
    timing = Timing(lambda: service.clock.now() / MICROSECONDS, options.sleep)
    expressions = Expressions(time=settings.time, lateness=settings.lateness)
    rules = AddressRules(options.hosts, options.plain_hosts, options.networks, resolver=options.resolver)
    sender = Sender(rules, transport=options.transport)

    def follow(client: str, name: str, number: int | None) -> AsyncIterator[MatchEntry]:
        engine = service.engine(name, Client(client, frozenset({"read"})))
        return matches_of(engine.matches, number)

    prolog = PrologEvaluator(expressions.knowledge, lambda question: snoop.ask(question))
    engines = EngineEvaluator(f"{service.public_url}/engines/", follow)
    table = EvaluatorTable(prolog, engines, sender, options.providers, timing)
    snoop = SnoopService(
        service.worker, service.clock, Uris(service.public_url), sender, table, secret_of=secrets(service, options),
        settings=settings, timing=timing, expressions=expressions,
    )  # fmt: skip
    return snoop


async def _detected(reader: AsyncIterator[MatchEntry | LostMatches | Ended]) -> AsyncIterator[MatchEntry]:
    async for entry in reader:
        match entry:
            case MatchEntry() if entry.sign > 0:
                yield entry
            case Ended():
                return


def matches_of(log: MatchLog, number: int | None) -> AsyncIterator[MatchEntry]:
    """Return the matches behind a number, from now on without one; what is no longer kept is passed over."""
    return _detected(log.subscribe(number))


def secrets(service: OpenedService, options: SnoopOptions) -> Callable[[str], str | None]:
    """Return what tells the secret of a client."""

    def secret_of(name: str) -> str | None:
        if service.tokens is None:
            return options.callback_secret
        client = service.tokens.named(name)
        return None if client is None else client.secret

    return secret_of
