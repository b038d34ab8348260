"""Messages mean the same in XML and JSON, and are written so that they fit the schema."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from etalis.errors import DocumentError
from etalis.snoop import Contribution, Expression, read_xml
from etalis.snoop.markup import messages_json, messages_xml
from etalis.snoop.messages import (
    EndMessage,
    FailureMessage,
    Message,
    RegisteredMessage,
    RegisterMessage,
    ResultMessage,
    SignalMessage,
    UnregisterMessage,
)

pytestmark = pytest.mark.service  # it needs the extra

URI = "https://engine.example/snoop/expressions/7"
SHOP = "http://shop.example/events"
CD = Contribution("newCD", 1_000_000, 1_000_000, "http://shop.example/events", "3", "2026-03-02")
MESSAGES: list[Message] = [
    RegisterMessage(Expression("a", "http://shop.example/events"), "https://client.example/hook"),
    RegisterMessage(Expression("a", "http://shop.example/events")),
    RegisteredMessage(URI, (("1", f"{URI}/leaves/1"), ("2.1", f"{URI}/leaves/2.1"))),
    SignalMessage("newCD", SHOP, {"title": "Boy", "artist": ""}, at="2026-03-02T09:00:00Z", id="s1"),
    SignalMessage("started", "http://shop.example/events"),
    SignalMessage(evaluation=f"{URI}/leaves/1", tuples=({"T": "Boy"}, {}), at="1"),
    EndMessage(f"{URI}/leaves/1"),
    FailureMessage("gone", "the provider has left <us>", f"{URI}/leaves/1"),
    FailureMessage("E884", "unknown context"),
    UnregisterMessage(URI),
    ResultMessage(URI, URI, 1,
                  {"T": "Boy", "Y": 2006, "P": Decimal("2.50"), "B": True, "A": datetime(2026, 3, 2, tzinfo=UTC)},
                  1_000_000, 2_500_000, Contribution("OR", 1_000_000, 1_000_000, arguments=(("left", CD),))),
    ResultMessage(URI, None, 2),
    ResultMessage(URI, None, 2, {}, 0, 0, CD),
]  # fmt: skip


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("form", [messages_xml, messages_json])
def test_a_message_is_read_as_it_was_written(form, message: Message) -> None:
    assert form.read_message(form.write_message(message)) == (message,)


def test_signals_of_one_document_keep_their_order() -> None:
    parts = [
        m
        for m in MESSAGES
        if isinstance(m, SignalMessage | EndMessage) or (isinstance(m, FailureMessage) and m.evaluation)
    ]
    assert messages_xml.read_message(messages_xml.write_signals(parts)) == tuple(parts)
    plain = [messages_json.to_plain_message(part) for part in parts]
    assert messages_json.messages_of(plain) == messages_json.messages_of({"signals": plain}) == tuple(parts)


def test_results_of_one_document_keep_their_order() -> None:
    told = [m for m in MESSAGES if isinstance(m, ResultMessage | FailureMessage)]
    assert messages_xml.read_message(messages_xml.write_results(told, 14)) == tuple(told)


def test_the_documents_of_the_paper_have_no_namespace() -> None:
    (found,) = messages_xml.read_message(
        '<signal operator="newCD" language="u"><parameter name="title" value="Boy"/></signal>'
    )
    assert found == SignalMessage("newCD", "u", {"title": "Boy"})


def test_numbers_of_json_are_text_and_null_is_lacking() -> None:
    (found,) = messages_json.read_message(
        '{"operator": "a", "language": "u", "parameters": {"y": 2006, "p": 23.90, "b": true, "n": null}, "at": 1.5}'
    )
    assert found == SignalMessage("a", "u", {"y": "2006", "p": "23.90", "b": "true"}, at="1.5")


def test_an_expression_alone_is_registered() -> None:
    text = '<expression operator="a" language="u"/>'
    assert messages_xml.read_message(text) == (RegisterMessage(read_xml(text)),)
    assert messages_json.read_message('{"expression": {"operator": "a", "language": "u"}}') == (
        RegisterMessage(read_xml(text)),
    )
    assert messages_json.read_message('{"operator": "a", "language": "u", "having": {}}') == (
        RegisterMessage(read_xml(text)),
    )


@pytest.mark.parametrize(
    ("code", "document"),
    [
        ("E876", {"operator": "a"}),
        ("E876", {"evaluation": "u", "operator": "a", "language": "u"}),
        ("E876", {"operator": "a", "language": "u", "bindings": [{"X": 1}]}),
        ("E877", {"operator": "a", "language": "u", "at": "soon"}),
        ("E877", {"result": {"evaluation": "u", "number": "1", "start": "x"}}),
        ("E874", {"operator": "a", "language": "u", "parameters": [1]}),
        ("E874", {"result": {"evaluation": "u", "number": "one"}}),
        ("E874", 1),
        ("E893", {"operator": "a", "language": "u", "parameters": {"v": "\x00"}}),
        ("E893", {"evaluation": "u", "bindings": [{"X": "\ud800"}]}),
    ],
)
def test_a_message_is_refused(code: str, document: object) -> None:
    with pytest.raises(DocumentError) as found:
        messages_json.messages_of(document)
    assert found.value.code == code


def test_the_place_of_a_wrong_signal_is_told() -> None:
    with pytest.raises(DocumentError) as found:
        messages_xml.read_message('<signals>\n<signal operator="a" language="u"/>\n<signal operator="a"/>\n</signals>')
    assert str(found.value).startswith("<document>:3:1: error E876: signal 2 says")
