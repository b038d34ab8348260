"""The table of evaluators: who evaluates a language. A client may own what it provides: only it signals such leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from etalis.errors import InputError, Problem
from etalis.service.evaluators.assignment import Evaluator
from etalis.service.evaluators.named_engine import EngineEvaluator
from etalis.service.evaluators.prolog import PROLOG, PrologEvaluator
from etalis.service.evaluators.push import PushEvaluator
from etalis.service.evaluators.remote import RemoteEvaluator
from etalis.service.outbound.callbacks import Timing
from etalis.service.outbound.sender import Sender

_SHAPE = "a line is: language push|URL [client], such as  http://shop.example/events push shop"


@dataclass(frozen=True, slots=True)
class Provider:
    """Who provides a language: an URL, or None where it comes by itself; the client that signals its leaves."""

    language: str
    url: str | None
    client: str | None = None


@dataclass(frozen=True, slots=True)
class EvaluatorRow:
    """An evaluator, and the client whose signals its leaves take beside those of their owner."""

    evaluator: Evaluator
    client: str | None = None


class EvaluatorTable:
    """The evaluators by language."""

    def __init__(
        self, prolog: PrologEvaluator, engines: EngineEvaluator, sender: Sender, providers: Iterable[Provider] = (),
        timing: Timing = Timing(),  # noqa: B008
    ) -> None:  # fmt: skip
        self.prolog = prolog
        self._engines = engines
        self._rows = {PROLOG: EvaluatorRow(prolog)}
        for provider in providers:
            made: Evaluator = PushEvaluator() if provider.url is None else RemoteEvaluator(provider.url, sender, timing)
            self._rows[provider.language] = EvaluatorRow(made, provider.client)

    def find(self, language: str | None) -> EvaluatorRow | None:
        """Return who evaluates a language, if somebody does."""
        if language is not None and language.startswith(self._engines.prefix):
            return EvaluatorRow(self._engines)
        return self._rows.get(language or "")


def read_providers(path: Path) -> Iterator[Provider]:
    """Read a file of providers, a line for each."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Problem("E817", f"the providers {path} cannot be read: {error}", hint=_SHAPE)) from None
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition(" #")[0].split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) not in (2, 3) or (words[1] != "push" and "://" not in words[1]):
            raise InputError(Problem("E817", f"{path}:{number} is no provider: {line.strip()}", hint=_SHAPE))
        yield Provider(words[0], None if words[1] == "push" else words[1], words[2] if len(words) == 3 else None)
