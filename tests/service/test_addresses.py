"""Which addresses are called, how callbacks are sent, and what becomes of those that are not taken (case 28)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import httpx
import pytest

from etalis.errors import InputError
from etalis.service.outbound.addresses import AddressRefused, AddressRules
from etalis.service.outbound.callbacks import Callback, CallbackState, Message, Timing
from etalis.service.outbound.sender import LONGEST, Sender, SendFailed
from etalis.service.outbound.signature import read_secret, sign

DAY = 24 * 3600.0


def resolver(**hosts: list[str]):
    async def resolve(host: str, port: int) -> list[str]:
        if host.replace(".", "_") not in hosts:
            raise OSError("unknown")
        return hosts[host.replace(".", "_")]

    return resolve


PUBLIC = ["93.184.216.34"]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1", "not on the list"),
        ("https://127.0.0.1/", "not on the list"),
        ("https://evil.example/", "not on the list"),
        ("http://good.example/", "not listed for http"),
        ("ftp://good.example/", "no https"),
        ("https:///x", "no https"),
        ("https://user:word@good.example/", "name or password"),
        ("https://good.example:99999/", "no URL"),
        ("https://good.example:0/", "no https"),
        ("https://[good.example/", "no URL"),
        ("https://good.example/\r\nHost: x", "blanks"),
        ("https://good.example.evil.example/", "not on the list"),
        ("https://good.example./", "not on the list"),
        ("file:///etc/passwd", "no https"),
    ],
)
def test_a_url_is_refused_by_what_it_says(url: str, why: str) -> None:
    with pytest.raises(AddressRefused, match=why):
        AddressRules(["good.example"]).check(url)


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1", "127.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "239.1.1.1", "255.255.255.255", "192.0.2.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1",
        "::ffff:10.0.0.1", "::ffff:127.0.0.1", "2002:0a00:0001::", "64:ff9b::10.0.0.1", "64:ff9b::7f00:1",
        "2001:db8::1",
    ],
)  # fmt: skip
def test_a_host_with_one_address_that_is_not_public_is_refused(address: str) -> None:
    rules = AddressRules(["good.example"], resolver=resolver(good_example=[*PUBLIC, address]))
    with pytest.raises(AddressRefused, match="not a public address"):
        asyncio.run(rules.resolve("https://good.example/hook"))


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34", "64:ff9b::8.8.8.8"])
def test_public_addresses_are_called(address: str) -> None:
    rules = AddressRules(["good.example"], resolver=resolver(good_example=[address]))
    target = asyncio.run(rules.resolve("https://good.example:8443/hook?a=1"))
    shown = f"[{address}]" if ":" in address else address
    assert (target.connect_url, target.host_header) == (f"https://{shown}:8443/hook?a=1", "good.example:8443")


def test_stars_networks_and_plain_hosts() -> None:
    names = resolver(a_good_example=PUBLIC, inner_example=["10.1.2.3"])
    rules = AddressRules(["*.good.example", "inner.example"], ["inner.example"], ["10.1.0.0/16"], resolver=names)
    assert asyncio.run(rules.resolve("https://A.Good.example/")).host_header == "a.good.example"
    assert asyncio.run(rules.resolve("http://inner.example:8000/x")).connect_url == "http://10.1.2.3:8000/x"
    for url in ("https://good.example/", "https://a.b.good.example/", "http://a.good.example/"):
        with pytest.raises(AddressRefused):
            rules.check(url)
    with pytest.raises(InputError, match="no network"):
        AddressRules(networks=["10.1.0.0/99"])


def test_signatures_are_those_of_standard_webhooks() -> None:
    secret = read_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")  # the example of the specification
    headers = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    assert read_secret("plain") == b"plain"
    with pytest.raises(InputError, match="no base64"):
        read_secret("whsec_!")


def reply(status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> httpx.Response:
    async def stream() -> AsyncIterator[bytes]:
        yield body

    return httpx.Response(status, headers=headers, content=stream())


@dataclass
class FakeTime:
    """A clock that moves when someone sleeps."""

    now: float = 1_000_000.0
    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    @property
    def timing(self) -> Timing:
        return Timing(lambda: self.now, self.sleep)


@dataclass
class Results:
    """Results that are to be sent."""

    messages: list[Message]

    @property
    def first(self) -> int:
        return self.messages[0].number

    def next_after(self, number: int) -> Message | None:
        return next((m for m in self.messages if m.number > number), None)


def message(number: int, at: float = 1_000_000.0, trace: str | None = None) -> Message:
    body = json.dumps({"number": number}).encode()
    return Message(number, f"https://engine.example/7/results/{number}", at, "application/json", body, trace)


def sender(answer: Callable[[httpx.Request], httpx.Response], **hosts: list[str]) -> Sender:
    names = resolver(**(hosts or {"client_example": PUBLIC}))
    rules = AddressRules(["client.example"], resolver=names)
    return Sender(rules, transport=httpx.MockTransport(answer))


def deliver(answer, results: list[Message], clock: FakeTime, state: CallbackState, **hosts: list[str]):
    marks: list[tuple[int, str | None]] = []

    async def work() -> None:
        out = sender(answer, **hosts)
        callback = Callback(
            "https://client.example/hook", lambda: "secret", Results(results), out,
            state=state, mark=lambda number, why: marks.append((number, why)), timing=clock.timing,
        )  # fmt: skip
        callback.wake()
        callback.wake()
        await callback.idle()
        await out.close()

    asyncio.run(work())
    return marks


def test_results_are_sent_in_order_signed_to_the_checked_address() -> None:
    seen: list[httpx.Request] = []

    def take(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return reply(204)

    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    marks = deliver(take, [message(2), message(3, trace=trace)], FakeTime(), CallbackState(delivered=1))
    assert marks == [(2, None), (3, None)]
    assert [json.loads(r.content)["number"] for r in seen] == [2, 3]
    request = seen[1]
    assert (request.url.host, request.headers["host"]) == (PUBLIC[0], "client.example")
    assert request.extensions["sni_hostname"] == "client.example"
    assert request.headers["traceparent"] == trace
    assert "traceparent" not in seen[0].headers
    signed = sign(b"secret", "https://engine.example/7/results/3", 1_000_000, b'{"number": 3}')
    assert {name: request.headers[name] for name in signed} == signed


def test_a_result_that_is_not_taken_is_sent_again_after_longer_pauses() -> None:
    left = [500, 302, 404, 429]
    clock = FakeTime()
    marks = deliver(lambda r: reply(left.pop(0) if left else 200), [message(1)], clock, CallbackState())
    assert marks == [(1, None)]
    assert clock.slept == [1, 2, 4, 8]


def test_after_a_day_it_is_a_dead_letter_and_the_next_one_follows() -> None:
    clock, state = FakeTime(), CallbackState()
    numbers: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        number = json.loads(request.content)["number"]
        numbers.append(number)
        return reply(500 if number == 1 else 200)

    marks = deliver(answer, [message(1), message(2)], clock, state)
    assert marks == [(1, "answered with status 500"), (2, None)]
    assert clock.slept[:12] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]
    assert set(clock.slept[12:]) == {3600}
    assert DAY <= sum(clock.slept) < DAY + 3600
    assert numbers[-2:] == [1, 2]
    assert state.describe()["dead_letters"] == [{"number": 1, "why": "answered with status 500"}]


def test_results_that_were_dropped_before_they_were_sent_are_dead_letters() -> None:
    marks = deliver(lambda r: reply(200), [message(5)], FakeTime(), CallbackState(delivered=1))
    assert marks == [(4, "3 results up to this one were no longer kept"), (5, None)]


@pytest.mark.parametrize("hosts", [{"client_example": ["10.0.0.1"]}, {"other": PUBLIC}], ids=["private", "unknown"])
def test_a_listed_name_at_a_private_address_is_never_connected_to(hosts: dict[str, list[str]]) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise AssertionError("connected")

    state = CallbackState()
    marks = deliver(answer, [message(1, at=1_000_000.0 - DAY)], FakeTime(), state, **hosts)
    assert [number for number, why in marks if why] == [1]


def test_a_redirect_is_a_failed_attempt() -> None:
    seen = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return reply(302, headers={"location": "http://10.0.0.1/"})

    marks = deliver(answer, [message(1, at=1_000_000.0 - DAY)], FakeTime(), CallbackState())
    assert marks == [(1, "answered with status 302 (redirects are not followed)")]
    assert seen == ["https://93.184.216.34/hook"]


def test_an_answer_is_cut_and_a_slow_one_given_up() -> None:
    async def slow(request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async def work() -> None:
        long = sender(lambda r: reply(200, b"x" * (LONGEST * 3)))
        answer = await long.send("POST", "https://client.example/", b"", {})
        assert len(answer.body) == LONGEST
        await long.close()
        rules = AddressRules(["client.example"], resolver=resolver(client_example=PUBLIC))
        late = Sender(rules, transport=httpx.MockTransport(slow), seconds=0.01)
        with pytest.raises(SendFailed):
            await late.send("POST", "https://client.example/", b"", {})
        await late.close()

    asyncio.run(work())


def test_the_environment_sets_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://10.0.0.1:3128")
    monkeypatch.setenv("ALL_PROXY", "http://10.0.0.1:3128")
    out = Sender(AddressRules(["client.example"]))
    assert not out._http()._mounts
