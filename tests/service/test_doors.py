"""Who is let in, and how much: tokens, scopes, hosts, origins, sizes, rates, queues; nothing that comes is a fault."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from etalis.errors import InputError
from etalis.service.access import Bucket, Client, Doorkeeper, TokenFile, read_tokens
from etalis.service.http.idempotency import FirstAnswers
from etalis.service.http.routes import ENDPOINTS
from etalis.service.limits import ServiceLimits, is_too_deep
from etalis.service.problems import ForbiddenError, TooManyError
from etalis.service.worker import Actor, Worker
from helpers.service import LINES, URL, lines, live, served

PAIRS = "c(X, Y) <- a(X) seq b(Y)."
TOKENS = """
# name token scopes secret
ann  t-ann   read,write,signal
bob  t-bob   read,signal
eve  t-eve   signal   hush
root t-root  admin
"""


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    path = tmp_path / "tokens"
    path.write_text(TOKENS)
    return TokenFile(path)


def test_case_28_pages_from_elsewhere_are_refused() -> None:
    async def run() -> None:
        async with served() as client:
            for headers, status in (
                ({"Origin": "https://evil.example"}, 403),
                ({"Origin": "null"}, 403),
                ({"Origin": "http://127.0.0.1:9999"}, 403),
                ({"Origin": URL}, 200),
                ({"Host": "evil.example"}, 403),
                ({"Host": "localhost.evil.example:8123"}, 403),
                ({"Host": "localhost:8123", "Origin": "http://localhost:8123"}, 200),
                ({"Host": "[::1]:8123"}, 200),
            ):
                answer = await client.get("/engines", headers=headers)
                assert answer.status_code == status, headers
            simple = {"Content-Type": "text/plain", "Origin": "https://evil.example"}
            assert (await client.post("/engines", content="{}", headers=simple)).status_code == 403

    asyncio.run(run())


@pytest.mark.parametrize("origin", ["http://[::1", "http://localhost:x", "null", "", "//", "http://a@localhost"])
@pytest.mark.parametrize("host", ["localhost", "[::1", "localhost:1@evil.example", "[::1]:x"])
def test_origins_and_hosts_that_are_no_addresses_are_refused(host: str, origin: str) -> None:
    door = Doorkeeper(None, public_url="", rate=1, burst=1)
    with pytest.raises(ForbiddenError):
        door.admit({"host": host, "origin": origin}, "read")


def test_tokens_give_scopes(tokens: TokenFile) -> None:
    async def run() -> None:
        async with served(tokens=tokens) as client:
            made = await client.post("/engines", json={"program": PAIRS, "name": "e"}, headers=bearer("t-ann"))
            assert made.status_code == 201
            for who, method, path, status in (
                (None, "GET", "/engines", 401),
                ("nobody", "GET", "/engines", 401),
                ("t-bob", "GET", "/engines", 200),
                ("t-eve", "GET", "/engines", 403),
                ("t-eve", "GET", "/engines/e/matches", 403),
                ("t-bob", "POST", "/engines", 403),
                ("t-bob", "DELETE", "/engines/e", 403),
                (None, "GET", "/health", 200),
                (None, "GET", "/", 200),
                ("nobody", "GET", "/health", 401),
            ):
                answer = await client.request(method, path, headers={} if who is None else bearer(who))
                assert answer.status_code == status, (who, method, path)
                if status == 401:
                    assert answer.headers["www-authenticate"].startswith("Bearer")
            for who in ("t-eve", "t-bob"):
                sent = await client.post(
                    "/engines/e/events", content=lines([["a", 1, 0]]), headers={**LINES, **bearer(who)}
                )
                assert sent.status_code == 200
            assert (await client.post("/engines/e/reset", headers=bearer("t-root"))).status_code == 204

    asyncio.run(run())


def test_engines_are_changed_by_who_made_them_and_scratch_ones_are_hidden(tokens: TokenFile) -> None:
    async def run() -> None:
        async with served(tokens=tokens) as client:
            ann, root = bearer("t-ann"), bearer("t-root")
            await client.post("/engines", json={"program": PAIRS, "name": "hers", "scratch": True}, headers=ann)
            await client.post("/engines", json={"program": PAIRS, "name": "ours"}, headers=root)
            assert (await client.delete("/engines/ours", headers=ann)).status_code == 403
            assert (await client.get("/engines/hers", headers=bearer("t-bob"))).status_code == 404
            listed = (await client.get("/engines", headers=bearer("t-bob"))).json()["engines"]
            assert [engine["name"] for engine in listed] == ["ours"]
            assert (await client.delete("/engines/hers", headers=root)).status_code == 204

    asyncio.run(run())


def test_the_file_of_tokens_is_read_again(tmp_path: Path) -> None:
    path, moment = tmp_path / "tokens", [0.0]
    path.write_text(TOKENS)
    tokens = TokenFile(path, clock=lambda: moment[0])
    assert tokens.find("t-eve") == Client("eve", frozenset({"signal"}), "hush")
    path.write_text("ann other read\n")
    os.utime(path, ns=(1, 1))
    assert tokens.find("t-eve") is not None
    moment[0] = 2.0
    assert (tokens.find("t-eve"), tokens.find("other")) == (None, Client("ann", frozenset({"read"})))
    path.write_text("ann\n")
    os.utime(path, ns=(2, 2))
    moment[0] = 4.0
    assert tokens.find("other") is not None


@pytest.mark.parametrize("text", ["ann", "ann t all", "ann t read\nbob t read", "a b c d e"])
def test_a_file_of_tokens_that_is_wrong_is_refused(text: str) -> None:
    with pytest.raises(InputError) as refused:
        list(read_tokens(text, "tokens"))
    assert refused.value.code == "E833"
    assert "t all" not in str(refused.value)


def test_limits_of_a_client() -> None:
    async def run() -> None:
        limits = ServiceLimits(engines=2, body=1000, program=500, rate=1, burst=8)
        async with served(limits=limits) as client:
            for number in range(2):
                assert (await client.post("/engines", json={"program": PAIRS})).status_code == 201, number
            answers = [
                (await client.post("/engines", json={"program": PAIRS}), 429, "E827"),
                (await client.post("/check", json={"program": "%" * 600}), 413, "E824"),
                (await client.post("/check", content=b"x" * 2000, headers=LINES), 413, "E824"),
                (await client.post("/check", content=parts(), headers=LINES), 413, "E824"),
                (await client.post("/check", json={"program": 1}), 422, "E823"),
                (await client.post("/check", json={"other": 1}), 422, "E823"),
                (await client.get("/engines"), 429, "E827"),
            ]
            for answer, status, code in answers:
                assert (answer.status_code, answer.json()["problems"][0]["code"]) == (status, code), answer.text
            assert int(answers[-1][0].headers["retry-after"]) >= 1

    async def parts() -> Any:
        for _ in range(4):
            yield b"x" * 500

    asyncio.run(run())


def test_a_full_queue_is_told() -> None:
    async def run() -> None:
        limits = ServiceLimits(queue_requests=3, queue_events=50)
        async with served(limits=limits) as client:
            await client.post("/engines", json={"program": PAIRS, "name": "e"})
            send = lambda body: client.post("/engines/e/events", content=body, headers=LINES)  # noqa: E731
            large = lines([["a", 1, i] for i in range(49)])
            for body in (large, lines([["a", 1, 99]])):
                answers = await asyncio.gather(*(send(body) for _ in range(20)))
                statuses = [answer.status_code for answer in answers]
                assert 200 in statuses
                assert {answer.headers["retry-after"] for answer in answers if answer.status_code == 429} == {"1"}
            assert (await send(lines([["a", 1, 100 + i] for i in range(500)]))).json()["taken"] == 500

    asyncio.run(run())


def test_an_engine_without_room_says_how_many_it_took() -> None:
    async def run() -> None:
        async with served() as client:
            program = ":- set_flag(hard_limit, 64). :- set_flag(event_consumption_policy, unrestricted). " + PAIRS
            await client.post("/engines", json={"program": program, "name": "e"})
            rows = [["a", i, i] for i in range(30)] + [["b", 1, 30]] + [["a", i, 31 + i] for i in range(100)]
            answer = await client.post("/engines/e/events", content=lines(rows), headers=LINES)
            told = answer.json()
            assert (answer.status_code, told["problems"][0]["code"]) == (503, "E321")
            assert answer.headers["retry-after"] == "1"
            assert 60 <= told["taken"] < len(rows)
            assert len((await client.get("/engines/e/matches")).json()["matches"]) == 30
            seen = (await client.get("/metrics")).text
            assert f'etalis_engine_events_total{{engine="e"}} {told["taken"]}' in seen

    asyncio.run(run())


def test_whatever_comes_the_answer_is_no_fault() -> None:
    """Bodies by chance at every route: 2xx or 4xx, a problem document if it is not 2xx, and the engines go on."""
    chance = random.Random(5)
    pieces = ['{"program"', ":", '"c <- a."', "}", "[", "]", '"', "\\", "\x00", "é", "event(a(1)).", "1e999", "null",
              '{"goal": "X = 1"}', '{"to": 1}', '{"number": 1}', '{"kind": "c/0"}', '{"rules": "d <- a."}', '["a",1]',
              "\n", ","]  # fmt: skip
    media = ["application/json", "application/x-ndjson", "text/csv", "text/plain", "application/cloudevents+json",
             "application/vnd.apache.parquet", "application/trig", "application/n-quads", "text/html", "",
             "application/json; charset=x"]  # fmt: skip

    async def run() -> None:
        async with served(limits=ServiceLimits(engines=10**6)) as client:
            await client.post("/engines", json={"program": PAIRS, "name": "e"})
            paths = [(e.method, e.path.replace("{name}", "e").replace("{label}", "1")) for e in ENDPOINTS]
            for _ in range(600):
                method, path = chance.choice(paths)
                if (method, path) in (("DELETE", "/engines/e"), ("POST", "/engines/e/close")):
                    continue
                body = "".join(chance.choices(pieces, k=chance.randrange(5))).encode()
                query = chance.choice(
                    ["", "?after=-1", "?kinds=%00/1", "?form=%22", "?unit=zz", "?wait=nan", "?limit=1e3"]
                )
                answer = await client.request(
                    method, path + query, content=body, headers={"Content-Type": chance.choice(media)}
                )
                assert answer.status_code < 500, (method, path + query, body, answer.text)
                if answer.status_code >= 400:
                    assert answer.headers["content-type"] == "application/problem+json"
                    document = answer.json()
                    assert document["status"] == answer.status_code
                    assert document["problems"]
            assert (await client.get("/health")).json()["status"] == "ok"

    asyncio.run(run())


def test_questions_that_are_none() -> None:
    async def run() -> None:
        async with served() as client:
            await client.post("/engines", json={"program": PAIRS, "name": "e", "scratch": True})
            deep: Any = 1
            for _ in range(300):
                deep = [deep]
            whys: list[Any] = [
                {},
                {"event": "c"},
                {"event": 1, "start": 0, "end": 1},
                {"event": "c", "start": [], "end": {}},
                {"event": "c", "x": deep, "start": 0, "end": 1},
                {"event": "c", "X": None, "start": 5, "end": 1},
            ]
            for match in whys:
                answer = await client.post("/engines/e/why", json={"match": match})
                assert 400 <= answer.status_code < 500, (match, answer.text)
            for kind in ("", "c/x", "c/99", "c(", "'", "C/2", "c/2/3"):
                answer = await client.post("/engines/e/why-not", json={"kind": kind, "from": 0, "to": "never"})
                assert 400 <= answer.status_code < 500, (kind, answer.text)
            for to in (1e300, "x", -1e300):
                assert (await client.post("/engines/e/advance", json={"to": to})).status_code == 422

    asyncio.run(run())


def test_ways_that_there_are_not() -> None:
    async def run() -> None:
        async with served() as client:
            answer = await client.put("/engines", json={})
            assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")
            assert (await client.get("/a/b/c")).status_code == 404
            assert (await client.get("/..%2f..%2fetc%2fpasswd")).status_code == 404
            assert (await client.get("/hosted_engine.py")).status_code == 404
            page = await client.get("/")
            assert page.headers["content-security-policy"].startswith("default-src 'self'")
            assert (await client.head("/health")).status_code == 200

    asyncio.run(run())


def test_a_bucket_fills_with_time() -> None:
    moment = [0.0]
    bucket = Bucket(2, 3, lambda: moment[0])
    assert [bucket.take() for _ in range(4)] == [0, 0, 0, 0.5]
    moment[0] = 0.5
    assert [bucket.take(), bucket.take()] == [0, 0.5]
    moment[0] = 100
    assert [bucket.take() for _ in range(4)] == [0, 0, 0, 0.5]


def test_first_answers_are_kept_for_a_while() -> None:
    async def run() -> None:
        moment, asked = [0.0], []

        async def respond() -> int:
            asked.append(1)
            await asyncio.sleep(0)
            return len(asked)

        kept: FirstAnswers[int] = FirstAnswers(most=2, seconds=10, clock=lambda: moment[0])
        same = await asyncio.gather(*(kept.answer("c", "k", b"x", respond, bool) for _ in range(3)))
        assert sorted(same) == [(1, False), (1, True), (1, True)]
        assert await kept.answer("other", "k", b"x", respond, bool) == (2, False)
        moment[0] = 20
        assert await kept.answer("c", "k", b"x", respond, lambda _: False) == (3, False)
        assert await kept.answer("c", "k", b"x", respond, bool) == (4, False)

    asyncio.run(run())


def test_actors_are_served_in_turn_and_each_in_order() -> None:
    async def run() -> None:
        worker, done = Worker(most_requests=100), []
        worker.start()
        one, two = Actor("one"), Actor("two")
        jobs = [
            worker.do(actor, lambda n=n, a=actor: done.append((a.name, n))) for n in range(20) for actor in (one, two)
        ]
        await asyncio.gather(*jobs)
        assert [n for name, n in done if name == "one"] == list(range(20))
        assert [n for name, n in done if name == "two"] == list(range(20))
        with pytest.raises(ZeroDivisionError):
            await worker.do(one, lambda: 1 / 0)
        assert await worker.do(one, lambda: 5) == 5
        assert (one.requests, two.requests) == (0, 0)
        await worker.stop()
        with pytest.raises(Exception, match="ended"):
            await worker.do(one, lambda: 1)

    asyncio.run(run())


def test_a_full_queue_of_an_actor() -> None:
    async def run() -> None:
        worker = Worker(most_requests=2)
        worker.start()
        actor = Actor("one")
        several = [worker.ask(actor, lambda: 1) for _ in range(2)]
        with pytest.raises(TooManyError):
            worker.ask(actor, lambda: 1)
        assert await asyncio.gather(*several) == [1, 1]
        await worker.stop()

    asyncio.run(run())


def test_depth() -> None:
    assert is_too_deep(b"[" * 101 + b"]" * 101, 100)
    assert not is_too_deep(json.dumps([["[" * 500]]).encode(), 100)


def test_figures_say_once_what_they_are() -> None:
    async def run() -> None:
        async with served() as client:
            for name in ("one", "two"):
                await client.post("/engines", json={"program": PAIRS, "name": name})
            text = (await client.get("/metrics")).text
            names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
            assert len(names) == len({*names})
            assert text.count("# HELP etalis_engine_matches_total") == 1
            assert 'etalis_engine_matches_total{engine="two"} 0' in text
            assert 'etalis_answers_total{status="201"} 2' in text

    asyncio.run(run())


def test_routes_are_described() -> None:
    async def run() -> httpx.Response:
        async with served() as client:
            words = (await client.get("/language.json")).json()
            assert {"seq", "where", "<-"} <= {*words["operators"]}
            assert "max_steps" in {flag["name"] for flag in words["flags"]}
            assert "append/3" in words["predicates"]
            return await client.get("/openapi.json")

    described = asyncio.run(run()).json()
    found = {(method.upper(), path) for path, several in described["paths"].items() for method in several}
    assert found == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    made = described["paths"]["/engines"]["post"]
    assert made["requestBody"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/NewEngine"}
    assert described["components"]["schemas"]["NewEngine"]["required"] == ["program"]
    assert made["security"] == [{"token": ["write"]}]
    names = [operation["operationId"] for several in described["paths"].values() for operation in several.values()]
    assert len(names) == len({*names})


def test_headers_that_do_not_end_close_the_connection() -> None:
    with live() as url:
        place = urlsplit(url)
        with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000 + b"\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
        with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ")
            with pytest.raises(OSError, match=r"reset|Broken|abort"):
                connection.sendall(b"x" * 64_000_000)
