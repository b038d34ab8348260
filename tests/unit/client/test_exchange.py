"""Requests of clients without a network: what is sent again, after which while, and what is not."""

from __future__ import annotations

import json

import pytest

import etalis
from etalis.client.errors import LostMatchesError, ServiceError, error_of
from etalis.client.exchange import IncomingAnswer, OutgoingRequest, Wait, attempt, get, post
from etalis.client.streams import StreamPosition
from etalis.errors import Source

FULL = b'{"problems": [{"code": "E828", "message": "the queue of x is full"}]}'


def run(steps, *answers: IncomingAnswer) -> tuple[list[object], object]:
    """Give answers to the requests of a call; return what it asked for, and its result or error."""
    asked: list[object] = []
    waiting = iter(answers)
    try:
        step = next(steps)
        while True:
            asked.append(step)
            step = next(steps) if isinstance(step, Wait) else steps.send(next(waiting))
    except StopIteration as done:
        return asked, done.value
    except etalis.EtalisError as error:
        return asked, error


def test_a_request_that_may_have_been_lost_is_sent_again_under_its_key() -> None:
    lost, busy = IncomingAnswer(0, body=b"reset"), IncomingAnswer(429, {"retry-after": "3"}, FULL)
    asked, found = run(post("/engines", {"program": ""}), lost, busy, lost, IncomingAnswer(201, body=b'{"name": "x"}'))
    assert found == {"name": "x"}
    requests = [step for step in asked if isinstance(step, OutgoingRequest)]
    assert len(requests) == 4
    assert len({request.headers["Idempotency-Key"] for request in requests}) == 1
    assert len(requests[0].headers["Idempotency-Key"]) == 32
    assert [step.seconds for step in asked if isinstance(step, Wait)] == [0.2, 3.0, 0.8]


def test_two_calls_have_two_keys_and_reading_needs_none() -> None:
    keys = {run(post("/x"), IncomingAnswer(204))[0][0].headers["Idempotency-Key"] for _ in range(2)}  # type: ignore[attr-defined]
    assert len(keys) == 2
    (request,), found = run(get("/x", after="1"), IncomingAnswer(200, body=b"[]"))
    assert (request, found) == (OutgoingRequest("GET", "/x", {"after": "1"}), [])


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
def test_what_is_refused_is_not_sent_again(status: int) -> None:
    asked, found = run(attempt(OutgoingRequest("GET", "/x")), IncomingAnswer(status, body=FULL))
    assert len(asked) == 1
    assert isinstance(found, ServiceError)
    assert (found.status, found.code) == (status, "E828")


def test_a_batch_that_was_taken_in_part_is_not_sent_again() -> None:
    body = b'{"problems": [{"code": "E321", "message": "no room", "hint": "let time pass"}], "taken": 7}'
    asked, found = run(post("/events", []), IncomingAnswer(503, {"retry-after": "1"}, body))
    assert len(asked) == 1
    assert isinstance(found, etalis.LimitError)
    assert found.__notes__ == ["rows taken before it: 7"]


def test_after_the_last_answer_nothing_is_sent_again() -> None:
    gone = IncomingAnswer(0, body=b"refused", is_last=True)
    asked, found = run(get("/x"), gone)
    assert len(asked) == 1
    assert isinstance(found, ServiceError)
    assert "the service cannot be reached: refused" in str(found)


@pytest.mark.parametrize("body", [b"<html>", b"", b"[]", b'{"problems": []}', b'{"problems": [{}]}', b"\xff"])
def test_an_answer_that_is_no_problem_is_told_as_it_came(body: bytes) -> None:
    found = error_of(502, body)
    assert isinstance(found, ServiceError)
    assert (found.code, found.status) == ("E851", 502)


@pytest.mark.parametrize(
    ("code", "kind"),
    [("E204", etalis.ProgramError), ("E301", etalis.EventError), ("E321", etalis.LimitError),
     ("E402", etalis.InputError), ("E506", etalis.ConditionError), ("E343", etalis.OptionError),
     ("E820", ServiceError)],
)  # fmt: skip
def test_errors_have_the_classes_of_their_codes(code: str, kind: type[Exception]) -> None:
    assert type(error_of(422, b'{"problems": [{"code": "%s", "message": "m"}]}' % code.encode())) is kind


def test_places_beyond_the_source_are_told_in_words() -> None:
    body = b'{"problems": [{"code": "E204", "message": "m", "line": 2, "column": 3, "end_line": 2, "end_column": 5}]}'
    assert str(error_of(422, body)) == "error E204: m (line 2, column 3)"
    shown = str(error_of(422, body, Source("p", "a.\nb <- cd.\n")))
    assert shown == "p:2:3: error E204: m\n    2 | b <- cd.\n          ^^"


def sent(number: int, x: int) -> bytes:
    match = json.dumps({"number": number, "match": {"event": "c", "X": x, "start": 1, "end": 2, "rule": "1"}})
    return f"id: {number}\nevent: match\ndata: {match}\n\n".encode()


def test_a_stream_goes_on_behind_the_last_match_and_tells_none_twice() -> None:
    position = StreamPosition("/matches", 3, "c/1")
    assert position.request().headers["Last-Event-ID"] == "3"
    stream = b": still here\n\n" + sent(4, 1) + sent(5, 2)
    found = [event.X for piece in stream for event in position.feed(bytes([piece]))]
    assert (found, position.number) == ([1, 2], 5)
    assert list(position.feed(sent(6, 3)[:-8])) == []  # the connection breaks off within an event
    assert position.pause_after(IncomingAnswer(0, body=b"reset")) == 0.2
    assert position.pause_after(IncomingAnswer(503, {"retry-after": "2"}, b"")) == 2.0
    assert position.request() == OutgoingRequest(
        "GET", "/matches", {"kinds": "c/1"}, headers={"Accept": "text/event-stream", "Last-Event-ID": "5"}
    )
    assert [event.X for event in position.feed(sent(5, 2) + sent(6, 3))] == [3]
    assert position.failures == 0


def test_a_stream_ends_when_it_is_told_so_or_refused() -> None:
    position = StreamPosition("/matches", None, retries=1)
    assert "Last-Event-ID" not in position.request().headers
    with pytest.raises(LostMatchesError) as lost:
        list(position.feed(b'event: gap\ndata: {"first": 101}\n\n'))
    assert (lost.value.first, position.number) == (101, 100)
    assert position.pause_after(IncomingAnswer(0, body=b"reset")) == 0.2
    with pytest.raises(ServiceError, match="cannot be reached: reset"):
        position.pause_after(IncomingAnswer(0, body=b"reset"))
    with pytest.raises(ServiceError, match="E820"):
        StreamPosition("/m", 1).pause_after(
            IncomingAnswer(404, body=b'{"problems": [{"code": "E820", "message": "none"}]}')
        )
    assert list(position.feed(b"event: end\ndata: {}\n\n")) == []
    assert position.is_over
