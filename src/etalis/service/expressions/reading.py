"""Bodies about expressions: read by their content type, and signals as the operations that they ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from etalis.service.access import Client
from etalis.service.expressions import operations as op
from etalis.service.expressions.hosted_expression import HostedExpression
from etalis.service.expressions.uris import Uris
from etalis.service.problems import ConflictError, MalformedError, NotFoundError, UnprocessableError, WrongTypeError
from etalis.snoop import Expression, read_text
from etalis.snoop.expression import read_path
from etalis.snoop.markup import messages_json, messages_xml
from etalis.snoop.markup.json_form import load_json
from etalis.snoop.messages import EndMessage, FailureMessage, Message, Part, RegisterMessage, SignalMessage, read_moment

XML_TYPES = ("application/xml", "text/xml")
EXPRESSION_TYPES = (*XML_TYPES, "application/json", "text/plain")
CLOUD_TYPES = ("application/cloudevents+json", "application/cloudevents-batch+json")
SIGNAL_TYPES = (*XML_TYPES, "application/json", *CLOUD_TYPES)


class Visible(Protocol):
    """What tells which expressions there are, and who may signal their leaves."""

    uris: Uris

    @property
    def by_clock(self) -> bool:
        """Whether signals occur when they are received."""

    def signalled(self, number: int, path: str, client: Client) -> HostedExpression | None:
        """Return an expression whose leaf a client may signal."""


def read_register(media: str, body: bytes) -> RegisterMessage:
    """Return what a body asks to register."""
    if media == "text/plain":
        return RegisterMessage(read_text(decode_text(body)))
    found = _messages(media, body, EXPRESSION_TYPES)
    if len(found) != 1 or not isinstance(found[0], RegisterMessage):
        hint = "send <register> or <expression>, or the same in JSON"
        raise MalformedError("E864", "the body is no expression to register", hint)
    return found[0]


def read_expression(media: str, body: bytes) -> Expression:
    """Return the expression of a body."""
    return read_register(media, body).expression


def read_signals(media: str, body: bytes) -> tuple[Part, ...]:
    """Return the signals of a body."""
    found = _messages(media, body, SIGNAL_TYPES)
    signals = tuple(message for message in found if isinstance(message, SignalMessage | EndMessage | FailureMessage))
    if len(signals) != len(found):
        raise MalformedError("E864", "the body has something that is no signal", "send <signals>, or the same in JSON")
    return signals


def _messages(media: str, body: bytes, types: tuple[str, ...]) -> tuple[Message, ...]:
    if media not in types:
        hint = f"send one of {', '.join(types)}"
        raise WrongTypeError("E822", f"this does not come as {media or 'a body without a type'}", hint)
    return _READERS[media](body)


def _cloud_events(body: bytes) -> tuple[Message, ...]:
    given = load_json(body)
    return messages_json.messages_of([_signal(each) for each in given] if isinstance(given, list) else _signal(given))


def _signal(event: Any) -> Any:
    """Return a CloudEvent as a signal: its type is the operator, its source the language, its data the parameters."""
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        raise MalformedError("E864", "the body has something that is no CloudEvent", "it has at least type and source")
    source, name = event.get("source"), event.get("id")
    found = {"operator": event["type"], "language": source, "parameters": event.get("data") or {}}
    more = {"at": event.get("time"), "id": None if name is None else f"{source} {name}"}
    return found | {key: value for key, value in more.items() if value is not None}


def decode_text(body: bytes) -> str:
    """Return the text of a body."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise MalformedError("E870", "the document is not text in UTF-8", "send UTF-8") from None


_READERS: Mapping[str, Callable[[bytes], tuple[Message, ...]]] = MappingProxyType(
    {
        "application/json": messages_json.read_message,
        **dict.fromkeys(XML_TYPES, messages_xml.read_message),
        **dict.fromkeys(CLOUD_TYPES, _cloud_events),
    }
)


def to_operations(signals: tuple[Part, ...], host: Visible, client: Client) -> list[op.Signal]:
    """Return signals as operations; refuse all of them if one names no leaf, or comes the wrong way."""
    return [_operation(signal, host, client) for signal in signals]


def _operation(signal: Part, host: Visible, client: Client) -> op.Signal:
    match signal:
        case EndMessage():
            return op.LeafEnd(*_leaf(signal.evaluation, host, client))
        case FailureMessage():
            number, path = _leaf(signal.evaluation, host, client)
            return op.LeafFailure(number, path, signal.code, signal.text)
        case SignalMessage():
            name = None if signal.id is None else f"{client.name} {signal.id}"
            at = _moment(signal, host)
            if signal.evaluation is None:
                operator, language = signal.operator or "", signal.language or ""
                return op.TypeSignal(operator, language, dict(signal.parameters), at, signal.at, name)
            number, path = _leaf(signal.evaluation, host, client, by_id=True)
            return op.LeafSignal(number, path, list(map(dict, signal.tuples)) or [{}], at, signal.at, name)


def _moment(signal: SignalMessage, host: Visible) -> int | None:
    if host.by_clock:
        return None
    if signal.at is None:
        hint = 'give it one, at="2026-03-02T09:00:00Z", or begin the service with --time clock'
        raise UnprocessableError("E862", "a signal without a time, where time is that of the events", hint)
    return read_moment(signal.at)


def _leaf(uri: str | None, host: Visible, client: Client, *, by_id: bool = False) -> tuple[int, str]:
    """Return the expression and path of a leaf that the client may signal."""
    named = None if uri is None else host.uris.read_leaf(uri)
    hosted = None if named is None else host.signalled(*named, client)
    if named is None or hosted is None:
        hint = "the answer to the registration names the leaves; an expression's own id names none"
        raise NotFoundError("E860", f"there is no leaf {uri}", hint)
    leaf = hosted.registration.leaf(read_path(named[1]))
    if by_id and leaf is not None and not leaf.by_id:
        node = leaf.expression
        hint = f'signal it by its type: operator="{node.operator}" language="{node.language}"'
        raise ConflictError("E863", f"the leaf {uri} is not fed by its id", hint)
    return named
