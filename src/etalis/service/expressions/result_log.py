"""The results of one expression: polling, streams and callbacks see the same list."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from etalis.service.expressions.uris import Uris
from etalis.service.kept import Kind, NumberedLog
from etalis.service.matches import encode
from etalis.service.outbound.callbacks import Message
from etalis.service.store.log import KeptResult
from etalis.snoop import Notice, Result
from etalis.snoop.markup import messages_json, messages_xml
from etalis.snoop.messages import FailureMessage, ResultMessage

JSON, XML = "application/json", "application/xml"


@dataclass(frozen=True)
class ResultEntry:
    """A result or a failure with its number; `uri` is its own, `trace` the traceparent of what completed it."""

    number: int
    kept_since: float
    message: ResultMessage | FailureMessage
    uri: str
    trace: str | None = None

    @property
    def kind(self) -> str:
        return "result" if isinstance(self.message, ResultMessage) else "failure"

    @cached_property
    def plain(self) -> dict[str, Any]:
        """The entry as it is in a list: a result as its message has it, a failure with its number."""
        if isinstance(self.message, ResultMessage):
            return {"kind": "result", **messages_json.plain_result(self.message)}
        told = messages_json.to_plain_message(self.message)["failure"]
        return {"kind": "failure", "number": self.number, **told}

    @cached_property
    def json(self) -> bytes:
        """The entry in JSON."""
        return encode(self.plain)

    @cached_property
    def xml(self) -> bytes:
        """The entry as a document."""
        return messages_xml.write_message(self.message).encode()

    @property
    def stored(self) -> bytes:
        """The entry as it is on disk."""
        return json.dumps([messages_json.write_message(self.message), self.trace]).encode()

    def is_asked_for(self, kinds: Collection[Kind] | None) -> bool:  # noqa: ARG002  all are
        """Tell whether a reader sees it: all do."""
        return True


class ResultLog(NumberedLog[ResultEntry]):
    """The results of an expression that are kept, and what is kept of them on disk."""

    what = "results"

    def __init__(
        self, number: int, uris: Uris, form: str, *, seconds: float, kept: int, clock: Callable[[], float]
    ) -> None:  # fmt: skip
        super().__init__(kept=kept, seconds=seconds, clock=clock)
        self.form = form
        self.stored = 0  # results up to this number are on disk
        self._number = number
        self._uris = uris

    def add(self, notices: Iterable[Notice], now: float, trace: str | None = None) -> None:
        """Number and keep what an expression tells."""
        own = self._uris.expression(self._number)
        self.keep([self._entry(n, notice, own, now, trace) for n, notice in enumerate(notices, self.last + 1)])

    def _entry(self, number: int, notice: Notice, own: str, now: float, trace: str | None) -> ResultEntry:
        message: ResultMessage | FailureMessage
        if isinstance(notice, Result):
            next_one = None if notice.is_last else own
            has_bindings = notice.events is not None
            bindings = notice.bindings if has_bindings else None
            message = ResultMessage(own, next_one, number, bindings, notice.start, notice.end, notice.events)
        else:
            message = FailureMessage(notice.code, notice.text, own)
        return ResultEntry(number, now, message, self._uris.result(self._number, number), trace)

    def next_after(self, number: int) -> Message | None:
        """Return the first kept result behind a number, as callbacks send it."""
        if number >= self.last or not self._kept:
            return None
        entry = self._kept[max(0, number + 1 - self._kept[0].number)]
        body, media = (entry.xml, XML) if self.form == "xml" else (entry.json, JSON)
        return Message(entry.number, entry.uri, entry.kept_since, media, body, entry.trace)

    # on disk

    def unstored(self, last: int) -> list[KeptResult]:
        """Return the results up to a number that are not on disk yet."""
        return [
            KeptResult(entry.number, entry.kept_since, entry.stored)
            for entry in self.kept()
            if self.stored < entry.number <= last
        ]

    def restore(self, results: Iterable[KeptResult], last: int) -> None:
        """Take the results that are on disk; the last one had this number, though it may be kept no more."""
        entries = []
        for number, at, body in results:
            told, trace = json.loads(body)
            (message,) = messages_json.read_message(told)
            assert isinstance(message, ResultMessage | FailureMessage)
            entries.append(ResultEntry(number, at, message, self._uris.result(self._number, number), trace))
        self.keep(entries)
        self.last = self.stored = last
