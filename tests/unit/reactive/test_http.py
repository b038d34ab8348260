"""Effects over HTTP, against a server on the loopback: the key as a header, the answer as what has become of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from etalis import Refused, Struct, Unknown
from etalis.effects import http
from etalis.errors import ProgramError
from etalis.reactive.effects.attempts import try_once
from etalis.reactive.effects.registry import EffectRegistry
from helpers.receivers import HttpDesk, Request


@pytest.fixture(scope="module")
def server() -> Iterator[HttpDesk]:
    desk = HttpDesk()
    yield desk
    desk.close()


@pytest.fixture
def desk(server: HttpDesk) -> HttpDesk:
    server.requests.clear()
    server.statuses = [200]
    return server


def test_arguments_and_key_are_sent(desk: HttpDesk) -> None:
    http(desk.url, ["client", "sum"])("ann", 8.5, key="k1")
    http(desk.url, method="PUT")("ann", (1, Struct("f", [2])), key="k2")
    assert desk.requests == [
        Request("POST", "k1", {"client": "ann", "sum": 8.5}),
        Request("PUT", "k2", ["ann", [1, {"name": "f", "args": [2]}]]),
    ]


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (204, "made"), (302, "refused"), (400, "refused"), (409, "refused"), (499, "refused"), (500, "failed"),
        (503, "failed"), (0, "unknown"),
    ],
)  # fmt: skip
def test_the_answer_says_what_has_become_of_it(desk: HttpDesk, status: int, outcome: str) -> None:
    desk.statuses = [status]
    assert try_once(http(desk.url), ("ann",), "k").outcome == outcome
    assert len(desk.requests) == 1


def test_a_server_that_is_not_there_did_nothing() -> None:
    desk = HttpDesk()
    desk.close()
    assert try_once(http(desk.url), (), "k").outcome == "failed"


class Slow:
    """A client whose requests are never answered."""

    def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes, timeout: float) -> int:
        raise TimeoutError


def test_a_timeout_is_unknown() -> None:
    with pytest.raises(Unknown, match=r"no answer of http://x/ in 2.5 s"):
        http("http://x/", client=Slow(), timeout=2.5)("ann", key="k")


def test_a_refusal_says_why(desk: HttpDesk) -> None:
    desk.statuses = [422]
    with pytest.raises(Refused, match="answered 422"):
        http(desk.url)(key="k")


def test_fields_are_the_arity(desk: HttpDesk) -> None:
    registry = EffectRegistry()
    registry.register("book", http(desk.url, ["client", "sum"]))
    registry.register("log", http(desk.url))
    assert registry.arities("book") == [2]
    assert registry.find("log", 4) is not None


def test_other_addresses_are_refused() -> None:
    with pytest.raises(ProgramError, match="E801"):
        http("file:///etc/passwd")
