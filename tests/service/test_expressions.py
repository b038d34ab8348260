"""Expressions over HTTP: results, streams, owners, evaluators and callbacks (cases 1, 20, 22, 25 to 28)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from etalis.service.access import TokenFile
from etalis.service.evaluators.table import Provider, read_providers
from etalis.service.expressions.opening import SnoopOptions
from etalis.service.expressions.snoop_service import SnoopSettings
from etalis.service.host import Service
from etalis.service.limits import ServiceLimits
from etalis.service.outbound.signature import sign
from etalis.snoop import read_text
from etalis.snoop.markup import messages_xml
from etalis.snoop.markup.xml_document import XmlDocument
from etalis.snoop.messages import FailureMessage
from helpers.service import URL, StandingClock, live, read_stream, served

TEXT = {"content-type": "text/plain"}
XML = {"content-type": "application/xml"}
PAIR = 'shop = "http://s". SEQ(shop:cd(t: T), shop:dvd(t: T))'
ONE = 'shop = "http://s". shop:cd(t: T)'
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def cd(title: str, name: str = "cd", **more: object) -> dict[str, object]:
    return {"operator": name, "language": "http://s", "parameters": {"t": title}, **more}


async def register(client: httpx.AsyncClient, text: str, **headers: str) -> str:
    answer = await client.post("/snoop/expressions", content=text, headers={**TEXT, **headers})
    assert answer.status_code == 201, answer.text
    return answer.headers["location"]


async def results(client: httpx.AsyncClient, uri: str, query: str = "") -> list[Any]:
    return (await client.get(f"{uri}/results{query}")).json()["results"]


async def titles(client: httpx.AsyncClient, uri: str) -> list[str]:
    return [each["bindings"]["T"] if each["kind"] == "result" else each["kind"] for each in await results(client, uri)]


def run(work: Callable[[httpx.AsyncClient], Any], **options: Any) -> None:
    async def go() -> None:
        async with served(Service(public_url=URL, clock=StandingClock(1), **options)) as client:
            await work(client)

    asyncio.run(go())


# answers


def test_xml_answers_to_xml() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        made = await client.post("/snoop/expressions", content=PAIR, headers={**TEXT, "accept": "application/xml"})
        (told,) = messages_xml.read_message(made.content)
        assert told.evaluation == f"{URL}/snoop/expressions/1"
        assert dict(told.leaves) == {path: f"{told.evaluation}/leaves/{path}" for path in ("1", "2")}
        shown = await client.get(told.evaluation, headers={"accept": "application/xml"})
        assert b"<expression" in shown.content
        signal = f'<signal evaluation="{told.evaluation}/leaves/9"/>'
        parameter = '<parameter name="p" value="1"/>'
        for body, status, code in (
            (signal, 404, "E860"),
            (f'<signal evaluation="{told.evaluation}"/>', 404, "E860"),
            ("<a>", 400, "E870"),
            ("<!DOCTYPE a [<!ENTITY b 'c'>]><signals>&b;</signals>", 400, "E871"),
            ("<signals>" + "<signal>" * 300 + "</signal>" * 300 + "</signals>", 400, "E872"),
            (f'<unregister evaluation="{told.evaluation}"/>', 400, "E864"),
            ('<signalled taken="1" matched="1" late="0" repeated="0"/>', 400, "E873"),
            (f'<signal operator="a" language="u">{2 * parameter}</signal>', 400, "E874"),
            (f'<signal evaluation="{told.evaluation}/leaves/1"/>', 409, "E863"),
        ):
            answer = await client.post("/snoop/signals", content=body, headers=XML)
            assert answer.status_code == status, answer.text
            (failure,) = messages_xml.read_message(answer.content)
            assert isinstance(failure, FailureMessage)
            assert failure.code == code
        good = '<signal operator="cd" language="http://s"><parameter name="t" value="Boy"/></signal>'
        answer = await client.post("/snoop/signals", content=good, headers=XML)
        (attributes,) = [dict(XmlDocument(answer.content).root.attrib)]
        assert attributes == {"taken": "1", "matched": "1", "late": "0", "repeated": "0"}
        again = await client.post("/snoop/signals", content=good, headers={**XML, "accept": "application/json"})
        assert again.json()["matched"] == 1
        for method, headers, status in (
            ("POST", {**XML, "origin": "https://evil.example"}, 403),
            ("PUT", XML, 405),
            ("POST", {**XML, "content-encoding": "gzip"}, 415),
        ):
            answer = await client.request(method, "/snoop/signals", content=good, headers=headers)
            assert answer.status_code == status
            assert isinstance(messages_xml.read_message(answer.content)[0], FailureMessage)

    run(work)


def test_who_may_not_signal_hears_it_in_xml(tmp_path: Path) -> None:
    async def work(client: httpx.AsyncClient) -> None:
        for headers, status, code in (
            (XML, 401, "E830"),
            ({**XML, "authorization": "Bearer t-see"}, 403, "E831"),
        ):
            answer = await client.post("/snoop/signals", content="<signals/>", headers=headers)
            (failure,) = messages_xml.read_message(answer.content)
            assert (answer.status_code, failure.code) == (status, code)
            assert ("www-authenticate" in answer.headers) == (status == 401)

    (tmp_path / "tokens").write_text("see t-see read\n")
    run(work, tokens=TokenFile(tmp_path / "tokens"))


def test_problems_of_an_expression_have_their_places() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        twice = 's = "u".\nSEQ(s:a(x: X), s:b(x: X)) with X = "1", X = "2"'
        answer = await client.post("/snoop/expressions", content=twice, headers=TEXT)
        assert answer.status_code == 422
        assert {(each["code"], each["line"], each["column"]) for each in answer.json()["problems"]} == {("E888", 2, 41)}

    run(work)


def test_who_waits_for_results_is_counted_as_a_reader() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        uri = await register(client, ONE)
        first = asyncio.ensure_future(client.get(f"{uri}/results?wait=20"))
        await until_streams(client, 1)
        assert (await client.get(f"{uri}/results?wait=20")).status_code == 429
        assert (await client.get(f"{uri}/results")).status_code == 200
        await client.post("/snoop/signals", json=cd("a"))
        assert len((await first).json()["results"]) == 1

    run(work, limits=ServiceLimits(streams=1))


async def until_streams(client: httpx.AsyncClient, count: int) -> None:
    """Wait until so many streams are being read."""
    for _ in range(1_000):
        await asyncio.sleep(0)
        if f"etalis_streams {count}" in (await client.get("/metrics")).text:
            return
    raise AssertionError("nobody reads")


def test_long_names_of_signals_are_known_again() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        for name, taken in (("n" * 50_000, 1), ("n" * 50_000, 0), ("n" * 50_001, 1)):
            answer = await client.post("/snoop/signals", json=cd("a", id=name))
            assert answer.json()["taken"] == taken

    run(work)


def test_what_was_discarded_is_told_in_xml() -> None:
    counts = {"taken": 2, "matched": 1, "late": 0, "repeated": 0}
    (discarded,) = XmlDocument(messages_xml.write_reception(counts, [(1, "leaf 1: T unbound")])).root
    assert (discarded.get("index"), discarded.text) == ("1", "leaf 1: T unbound")


def test_polling_waits_and_tells_what_is_lost() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        uri = await register(client, ONE)
        waiting = asyncio.ensure_future(results(client, uri, "?wait=30"))
        await asyncio.sleep(0)
        await client.post("/snoop/signals", json=cd("0"))
        assert [each["number"] for each in await waiting] == [1]
        await client.post("/snoop/signals", json=[cd(str(i)) for i in range(1, 5)])
        gone = await client.get(f"{uri}/results?after=1")
        assert (gone.status_code, gone.json()["first"]) == (410, 3)
        assert [each["number"] for each in await results(client, uri, "?after=2")] == [3, 4, 5]
        assert (await client.get(f"{uri}/results/4")).json()["bindings"] == {"T": "3"}
        assert (await client.get(f"{uri}/results/1")).status_code == 404

    run(work, snoop=SnoopOptions(settings=SnoopSettings(kept=3)))


def test_a_stream_goes_on_where_it_stopped_and_ends_with_the_expression() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        uri = await register(client, ONE)
        await client.post("/snoop/signals", json=[cd(str(i)) for i in range(5)])
        headers = {"accept": "text/event-stream"}
        later = asyncio.ensure_future(client.get(f"{uri}/results", headers={**headers, "last-event-id": "3"}))
        lost = asyncio.ensure_future(client.get(f"{uri}/results?after=0", headers=headers))
        for _ in range(20):
            await asyncio.sleep(0)
        await client.post("/snoop/signals", json=cd("5"))
        await client.delete(uri)
        found = read_stream((await later).text)
        assert [(kind, data.get("number")) for kind, data in found] == [
            ("result", 4), ("result", 5), ("result", 6), ("end", None)
        ]  # fmt: skip
        assert read_stream((await lost).text)[0] == ("gap", {"first": 2})

    run(work, snoop=SnoopOptions(settings=SnoopSettings(kept=4)))


def test_what_is_not_said_of_time() -> None:
    async def by_events(client: httpx.AsyncClient) -> None:
        uri = await register(client, ONE)
        assert (await client.post("/snoop/signals", json=cd("a"))).status_code == 422
        assert (await client.post("/snoop/signals", json=cd("a", at="noon"))).status_code == 400
        answer = await client.post("/snoop/signals", json=[cd("a", at="5"), cd("b", at="4")])
        assert (answer.json()["taken"], answer.json()["late"]) == (1, 1)
        assert await titles(client, uri) == ["a"]

    async def by_clock(client: httpx.AsyncClient) -> None:
        uri = await register(client, ONE)
        await client.post("/snoop/signals", json=[cd("a", at="2030-01-01T00:00:00Z"), cd("b")])
        found = await results(client, uri)
        assert [each["end"] for each in found] == ["1970-01-01T00:00:00.000001Z", "1970-01-01T00:00:00.000002Z"]
        assert found[0]["events"]["at"] == "2030-01-01T00:00:00Z"

    run(by_events, snoop=SnoopOptions(settings=SnoopSettings(time="events")))
    run(by_clock)


def test_values_are_text_and_cloud_events_are_signals() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        uri = await register(client, 'shop = "http://s". shop:dvd(year: "2006", t: T)')
        await client.post("/snoop/signals", json={**cd("x"), "operator": "dvd", "parameters": {"t": "A", "year": 2006}})
        event = {"specversion": "1.0", "type": "dvd", "source": "http://s", "id": "7", "data": {"t": "B", "year": 2006}}
        cloud = {"content-type": "application/cloudevents+json"}
        several = {"content-type": "application/cloudevents-batch+json"}
        assert (await client.post("/snoop/signals", content=json.dumps(event), headers=cloud)).json()["matched"] == 1
        again = (await client.post("/snoop/signals", content=json.dumps([event, event]), headers=several)).json()
        assert (again["taken"], again["repeated"]) == (0, 2)
        lacking = {**cd("C"), "operator": "dvd", "parameters": {"t": None, "year": "2006"}}
        assert (await client.post("/snoop/signals", json=lacking)).json()["matched"] == 0
        assert await titles(client, uri) == ["A", "B"]

    run(work)


def test_a_body_is_taken_whole_or_not_at_all() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        uri = await register(client, ONE)
        wrong = {"evaluation": f"{uri}/leaves/7", "bindings": [{}]}
        for rows, status in (([cd("a"), wrong], 404), ([cd("a"), {"operator": "cd"}], 400)):
            assert (await client.post("/snoop/signals", json=rows)).status_code == status
        assert await titles(client, uri) == []
        key = {"idempotency-key": "one"}
        first = await client.post("/snoop/signals", json=cd("a"), headers=key)
        again = await client.post("/snoop/signals", json=cd("a"), headers=key)
        assert first.json() == again.json()
        assert await titles(client, uri) == ["a"]

    run(work)


def test_an_expression_in_other_notations() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        xml = await client.post("/snoop/convert?to=xml", content=PAIR, headers=TEXT)
        plain = await client.post("/snoop/convert?to=json", content=xml.content, headers=XML)
        text = await client.post("/snoop/convert?to=text", json=plain.json())
        assert "SEQ(" in text.text
        assert (await client.post("/snoop/convert?to=json", content=text.text, headers=TEXT)).json() == plain.json()
        short = 'shop = "http://s".\nSEQ(shop:cd(t: T))'
        broken = await client.post("/snoop/convert?to=xml", content=short, headers=TEXT)
        assert broken.status_code == 422
        assert broken.json()["problems"][0]["code"] == "E882"
        broken = await client.post("/snoop/convert?to=xml", content="SEQ(", headers=TEXT)
        assert (broken.status_code, broken.json()["problems"][0]["line"]) == (400, 1)
        assert (await client.post("/snoop/convert?to=pdf", content=PAIR, headers=TEXT)).status_code == 400
        schema = await client.get("/schema/snoop-r.xsd")
        assert (schema.status_code, schema.headers["content-type"]) == (200, "application/xml")

    run(work)


# owners


def tokens(folder: Path) -> TokenFile:
    path = folder / "tokens"
    path.write_text("ann a-token-of-ann write,read,signal ann-secret\nbob b-token-of-bob write,read,signal\n"
                    "eve e-token-of-eve read\nshop s-token-of-shop signal\n")  # fmt: skip
    return TokenFile(path)


def test_expressions_of_others_are_not_there(tmp_path: Path) -> None:
    def of(name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {name[0]}-token-of-{name}"}

    async def work(client: httpx.AsyncClient) -> None:
        uri = await register(client, PAIR, **of("ann"))
        pushed = await register(client, 'push = "urn:push". OR(push:a(t: T), push:b(t: T))', **of("ann"))
        for path in ("", "/results", "/results/1"):
            assert (await client.get(uri + path, headers=of("bob"))).status_code == 404
        assert (await client.delete(uri, headers=of("bob"))).status_code == 404
        assert (await client.get("/snoop/expressions", headers=of("bob"))).json()["expressions"] == []
        assert (await client.get("/snoop/graph", headers=of("bob"))).json()["nodes"] == []
        assert (await client.post("/snoop/expressions", content=PAIR, headers={**TEXT, **of("eve")})).status_code == 403
        assert (await client.get("/snoop/expressions")).status_code == 401
        signal = {"evaluation": f"{pushed}/leaves/1", "bindings": [{"T": "x"}]}
        for name, status in (("bob", 404), ("shop", 200), ("ann", 200)):
            answer = await client.post("/snoop/signals", json=signal, headers=of(name))
            assert answer.status_code == status, name
        end = {"end": {"evaluation": f"{pushed}/leaves/1"}}
        assert (await client.post("/snoop/signals", json=end, headers=of("bob"))).status_code == 404
        for title in ("cd", "dvd"):  # by type, everybody's
            assert (await client.post("/snoop/signals", json=cd("x", title), headers=of("bob"))).status_code == 200
        assert len((await client.get(uri + "/results", headers=of("ann"))).json()["results"]) == 1

    run(work, tokens=tokens(tmp_path), snoop=SnoopOptions(providers=(Provider("urn:push", None, "shop"),)))


def test_a_client_has_so_many_expressions() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        first = await register(client, ONE)
        await register(client, ONE)
        assert (await client.post("/snoop/expressions", content=ONE, headers=TEXT)).status_code == 429
        await client.delete(first)
        await register(client, ONE)

    run(work, snoop=SnoopOptions(settings=SnoopSettings(expressions=2)))


# evaluators


def test_prolog_tells_what_is_new(tmp_path: Path) -> None:
    leaf = 'prolog = "http://languages.org/prolog". opaque(prolog, "?- price(T, P), P > 20.", [T])'

    async def know(client: httpx.AsyncClient, text: str) -> None:
        assert (await client.put("/snoop/knowledge", content=text, headers=TEXT)).status_code == 200

    async def work(client: httpx.AsyncClient) -> None:
        await know(client, "price(dune, 30). price(emma, 10).")
        uri = await register(client, leaf)
        await client.service.snoop.running.settled()
        assert await titles(client, uri) == []
        await know(client, "price(dune, 30). price(emma, 25). price('War', 40).")
        assert await titles(client, uri) == ["War", "emma"]
        await know(client, "price(emma, 25).")
        await know(client, "price(emma, 25). price(dune, 21).")
        assert await titles(client, uri) == ["War", "emma", "dune"]
        assert (await client.put("/snoop/knowledge", content="price(.", headers=TEXT)).status_code == 422
        assert (await client.get("/snoop/knowledge")).text == "price(emma, 25). price(dune, 21)."

    async def after(client: httpx.AsyncClient) -> None:
        uri = f"{URL}/snoop/expressions/1"
        await client.service.snoop.running.settled()
        assert await titles(client, uri) == ["War", "emma", "dune"]
        await know(client, "price(emma, 25). price(dune, 21). price(new, 99).")
        assert await titles(client, uri) == ["War", "emma", "dune", "new"]

    run(work, data=tmp_path / "data")
    run(after, data=tmp_path / "data")


def test_a_goal_is_first_asked_of_the_knowledge_that_it_came_to() -> None:
    goal = 'prolog = "http://languages.org/prolog". opaque(prolog, "price(T, P), P < 20", [T])'

    async def know(client: httpx.AsyncClient, *texts: str) -> None:
        await asyncio.gather(*(client.put("/snoop/knowledge", content=text, headers=TEXT) for text in texts))

    async def work(client: httpx.AsyncClient) -> None:
        early = await register(client, goal)
        await know(client, "price(boy, 25).")
        assert [told["code"] for told in await results(client, early)] == ["E816"]
        snoop = client.service.snoop
        hosted = await snoop.register(read_text(goal), "local")
        snoop.begin(hosted)
        for text in ("price(boy, 15).", "price(boy, 25). price(war, 1).", "price(war, 1)."):
            await snoop.replace_knowledge(text)
        assert await titles(client, f"{URL}/snoop/expressions/{hosted.number}") == ["boy", "war"]

    run(work)


def test_a_goal_that_cannot_be_asked_is_a_failure() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        uri = await register(client, 'prolog = "http://languages.org/prolog". opaque(prolog, "a b c", [T])')
        await client.service.snoop.running.settled()
        (told,) = await results(client, uri)
        assert (told["kind"], told["code"]) == ("failure", "E816")
        assert (await client.get(uri)).json()["state"] == "failed"

    run(work)


def test_an_engine_is_a_language(tmp_path: Path) -> None:
    program = ":- event(w(card: string, amount: int)). big(C, A) <- w(C, A) where A > 100."
    text = f'e = "{URL}/engines/bank". shop = "http://s". SEQ(opaque(e, "big(C, A)", [C, A]), shop:call(card: C))'

    async def pay(client: httpx.AsyncClient, card: str, amount: int, at: int) -> None:
        row = {"event": "w", "card": card, "amount": amount, "at": at}
        await client.post("/engines/bank/events", json=row)

    async def call(client: httpx.AsyncClient, card: str) -> None:
        row = {"operator": "call", "language": "http://s", "parameters": {"card": card}}
        await client.post("/snoop/signals", json=row)

    async def settled(client: httpx.AsyncClient) -> None:
        for _ in range(200):
            await asyncio.sleep(0.001)
            if (await client.get(f"{URL}/snoop/expressions/1")).json()["waiting"]:
                return
        raise AssertionError("nothing waits")

    async def work(client: httpx.AsyncClient) -> None:
        assert (await client.post("/engines", json={"name": "bank", "program": program})).status_code == 201
        uri = await register(client, text)
        await client.service.snoop.running.settled()
        await pay(client, "c1", 50, 1)
        await pay(client, "c2", 500, 2)
        await settled(client)
        await call(client, "c1")
        await call(client, "c2")
        (found,) = await results(client, uri)
        assert found["bindings"] == {"C": "c2", "A": "500"}

    async def after(client: httpx.AsyncClient) -> None:
        uri = f"{URL}/snoop/expressions/1"
        await client.service.snoop.running.settled()
        await call(client, "c2")
        assert len(await results(client, uri)) == 2  # told once more by what waits, not by a match that came twice
        await client.delete("/engines/bank")
        for _ in range(200):
            await asyncio.sleep(0.001)
            if (await client.get(uri)).json()["leaves"][0]["state"] == "ended":
                return
        raise AssertionError("the leaf has not ended")

    run(work, data=tmp_path / "data")
    run(after, data=tmp_path / "data")


def test_an_engine_that_is_not_there_is_a_failure() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        uri = await register(client, f'e = "{URL}/engines/none". opaque(e, "big(C)", [C])')
        await client.service.snoop.running.settled()
        assert [each["kind"] for each in await results(client, uri)] == ["failure"]

    run(work)


class Outside:
    """Other servers: what they were asked, and what they answer."""

    def __init__(self, answer: Callable[[httpx.Request], tuple[int, dict[str, str]]]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str, bytes, httpx.Headers]] = []
        self.slept: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        place = f"{request.headers['host']}{request.url.path}"
        self.asked.append((request.method, place, request.content, request.headers))
        status, headers = self.answer(request)

        async def nothing() -> AsyncIterator[bytes]:
            yield b""

        return httpx.Response(status, headers=headers, content=nothing())

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)

    def options(self, **more: Any) -> SnoopOptions:
        async def resolve(host: str, port: int) -> list[str]:
            return ["10.0.0.1"] if host == "inner.example" else ["93.184.216.34"]

        return SnoopOptions(
            hosts=("client.example", "inner.example", "provider.example"), resolver=resolve, sleep=self.sleep,
            transport=httpx.MockTransport(self), callback_secret="secret", **more,
        )  # fmt: skip


REMOTE = Provider("urn:remote", "https://provider.example/evaluate")


def test_a_remote_provider_is_asked_and_told_when_it_is_over(tmp_path: Path) -> None:
    outside = Outside(lambda r: (201, {"location": "/evaluate/77"}) if r.method == "POST" else (200, {}))
    text = 'r = "urn:remote". OR(r:new(t: T), r:old(t: T, kind: K)) with K = "x"'

    async def work(client: httpx.AsyncClient) -> None:
        broken = 'r = "urn:remote". SEQ(r:new(t: T))'
        assert (await client.post("/snoop/expressions", content=broken, headers=TEXT)).status_code == 422
        assert outside.asked == []
        uri = await register(client, text)
        await client.service.snoop.running.settled()
        asked = [json.loads(body) for _, _, body, _ in outside.asked]
        assert [each["evaluation"] for each in asked] == [f"{uri}/leaves/1", f"{uri}/leaves/2"]
        assert [(each["inputs"], each["outputs"]) for each in asked] == [({}, ["T"]), ({"K": "x"}, ["T"])]
        assert asked[0]["expression"]["operator"] == "new"
        assert "<expression" in asked[0]["xml"]
        await client.post("/snoop/signals", json={"evaluation": f"{uri}/leaves/1", "bindings": {"T": "a"}})
        assert await titles(client, uri) == ["a"]

    async def after(client: httpx.AsyncClient) -> None:
        outside.asked.clear()
        await client.service.snoop.running.settled()
        assert [(method, path) for method, path, _, _ in outside.asked] == [("GET", "provider.example/evaluate/77")] * 2
        uri = f"{URL}/snoop/expressions/1"
        await client.delete(uri)
        await client.service.snoop.running.settled()
        assert [method for method, *_ in outside.asked[2:]] == ["DELETE", "DELETE"]

    run(work, data=tmp_path / "data", snoop=outside.options(providers=(REMOTE,)))
    run(after, data=tmp_path / "data", snoop=outside.options(providers=(REMOTE,)))


def test_a_remote_provider_that_forgot_is_asked_anew(tmp_path: Path) -> None:
    outside = Outside(lambda r: (201, {"location": "/evaluate/77"}) if r.method == "POST" else (404, {}))

    async def work(client: httpx.AsyncClient) -> None:
        await register(client, 'r = "urn:remote". r:new(t: T)')
        await client.service.snoop.running.settled()

    async def after(client: httpx.AsyncClient) -> None:
        await client.service.snoop.running.settled()
        assert [method for method, *_ in outside.asked] == ["POST", "GET", "POST"]

    run(work, data=tmp_path / "data", snoop=outside.options(providers=(REMOTE,)))
    run(after, data=tmp_path / "data", snoop=outside.options(providers=(REMOTE,)))


@pytest.mark.parametrize(("status", "calls"), [(400, 1), (500, 3), (302, 1)])
def test_a_remote_provider_that_refuses_has_failed(status: int, calls: int) -> None:
    outside = Outside(lambda r: (status, {}))

    async def work(client: httpx.AsyncClient) -> None:
        uri = await register(client, 'r = "urn:remote". shop = "http://s". OR(shop:cd(t: T), r:new(t: T))')
        await client.service.snoop.running.settled()
        assert len(outside.asked) == calls
        assert [each["state"] for each in (await client.get(uri)).json()["leaves"]] == ["alive", "failed"]
        await client.post("/snoop/signals", json=cd("a"))
        assert await titles(client, uri) == ["a"]

    run(work, snoop=outside.options(providers=(REMOTE,)))


def test_a_file_of_providers(tmp_path: Path) -> None:
    path = tmp_path / "providers"
    path.write_text("# who\nurn:a push\nurn:b https://b.example/x  bob # b\n\n")
    assert list(read_providers(path)) == [Provider("urn:a", None), Provider("urn:b", "https://b.example/x", "bob")]
    path.write_text("urn:a nothing\n")
    with pytest.raises(Exception, match="is no provider"):
        list(read_providers(path))


# callbacks


def test_results_are_called_back_in_order_and_signed(tmp_path: Path) -> None:
    outside = Outside(lambda r: (200, {}))

    async def work(client: httpx.AsyncClient) -> None:
        answer = await client.post("/snoop/expressions?callback=https://client.example/hook", content=ONE, headers=TEXT)
        uri = answer.headers["location"]
        await client.post("/snoop/signals", json=[cd("a"), cd("b")], headers={"traceparent": TRACE})
        await client.service.snoop.callbacks[1].idle()
        assert [json.loads(body)["bindings"]["T"] for _, _, body, _ in outside.asked] == ["a", "b"]
        method, path, body, headers = outside.asked[0]
        assert (method, path) == ("POST", "client.example/hook")
        assert headers["traceparent"] == TRACE
        signed = sign(b"secret", f"{uri}/results/1", int(headers["webhook-timestamp"]), body)
        assert {name: headers[name] for name in signed} == signed
        assert body == (await client.get(f"{uri}/results/1")).content
        assert (await client.get(uri)).json()["callback"]["delivered"] == 2

    async def after(client: httpx.AsyncClient) -> None:
        await client.post("/snoop/signals", json=cd("c"))
        await client.service.snoop.callbacks[1].idle()
        assert [json.loads(body)["bindings"]["T"] for _, _, body, _ in outside.asked] == ["a", "b", "c"]

    run(work, data=tmp_path / "data", snoop=outside.options())
    run(after, data=tmp_path / "data", snoop=outside.options())


def test_what_was_not_taken_is_sent_after_a_restart(tmp_path: Path) -> None:
    taken = [False]
    outside = Outside(lambda r: (200 if taken[0] else 500, {}))
    hook = "/snoop/expressions?callback=https://client.example/hook"

    async def work(client: httpx.AsyncClient) -> None:
        await client.post(hook, content=ONE, headers=TEXT)
        await client.post("/snoop/signals", json=cd("a"))
        while not outside.slept:
            await asyncio.sleep(0)
        assert (await client.get(f"{URL}/snoop/expressions/1")).json()["callback"]["last_error"]

    async def after(client: httpx.AsyncClient) -> None:
        taken[0] = True
        await client.service.snoop.callbacks[1].idle()
        assert json.loads(outside.asked[-1][2])["bindings"]["T"] == "a"
        assert (await client.get(f"{URL}/snoop/expressions/1")).json()["callback"]["delivered"] == 1

    run(work, data=tmp_path / "data", snoop=outside.options())
    run(after, data=tmp_path / "data", snoop=outside.options())


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/x", "https://127.0.0.1/x", "https://evil.example/x", "http://client.example/x"]
)
def test_a_callback_to_an_address_that_is_not_allowed_is_refused(url: str) -> None:
    outside = Outside(lambda r: (200, {}))

    async def work(client: httpx.AsyncClient) -> None:
        answer = await client.post(f"/snoop/expressions?callback={url}", content=ONE, headers=TEXT)
        assert answer.status_code == 422
        assert answer.json()["problems"][0]["code"] == "E814"
        assert (await client.get("/snoop/expressions")).json()["expressions"] == []

    run(work, snoop=outside.options())


def test_a_callback_to_a_private_address_is_never_made() -> None:
    outside = Outside(lambda r: (200, {}))

    async def work(client: httpx.AsyncClient) -> None:
        await client.post("/snoop/expressions?callback=https://inner.example/x", content=ONE, headers=TEXT)
        await client.post("/snoop/signals", json=cd("a"))
        while not outside.slept:
            await asyncio.sleep(0)
        told = (await client.get(f"{URL}/snoop/expressions/1")).json()["callback"]
        assert "not a public address" in told["last_error"]
        assert outside.asked == []

    run(work, snoop=outside.options())


def test_a_client_without_a_secret_has_no_callbacks(tmp_path: Path) -> None:
    outside = Outside(lambda r: (200, {}))
    hook = "/snoop/expressions?callback=https://client.example/x"

    async def work(client: httpx.AsyncClient) -> None:
        for name, status in (("ann", 201), ("bob", 422)):
            token = {"authorization": f"Bearer {name[0]}-token-of-{name}"}
            assert (await client.post(hook, content=ONE, headers={**TEXT, **token})).status_code == status

    run(work, tokens=tokens(tmp_path), snoop=outside.options())


def test_pages_of_others_do_nothing() -> None:
    with live() as url:
        evil = {"origin": "https://evil.example", **TEXT}
        assert httpx.post(f"{url}/snoop/expressions", content=ONE, headers=evil, trust_env=False).status_code == 403
