"""Documents as they must not be: whatever is sent to the routes of expressions is answered, never with a fault of ours.

By day some hundred documents, at night 20,000.
"""

from __future__ import annotations

import asyncio
import json
import random

import pytest

from etalis.service.host import Service
from helpers.service import URL, StandingClock, served
from helpers.snoop_examples import snoop_examples

EXPRESSION = 'shop = "http://s". SEQ(shop:cd(t: T), shop:dvd(t: T^^xsd:integer)) with A = "U2" context chronicle'
REGISTER = """<register xmlns="urn:etalis:snoop-r:1" callback="https://client.example/x">
 <expression operator="ANY" language="http://snoop-r.org" context="recent" time="points">
 <having><parameter name="numberToDetect" value="2"/></having><argument name="left"><solve>
 <expression operator="cd" language="http://s"><with><Variable name="T" mode="bind"/><Variable name="A" mode="use">
 <literal>U2</literal></Variable></with><having><parameter name="t" bindVar="T"/>
 <parameter name="a" bindVar="A" type="xsd:integer"/></having></expression></solve></argument><argument>
 <expression language="http://languages.org/prolog"><literal type="text">p(X)</literal></expression></argument>
 </expression></register>"""
SIGNALS = """<signals xmlns="urn:etalis:snoop-r:1">
 <signal operator="cd" language="http://s" at="2026-03-02T09:00:00Z" id="a"><parameter name="t" value="Boy"/></signal>
 <signal evaluation="/snoop/expressions/1/leaves/1"><bindings><tuple><Variable name="T"><literal>x</literal></Variable>
 </tuple></bindings></signal><end evaluation="/snoop/expressions/1/leaves/2"/>
 <failure evaluation="/snoop/expressions/1/leaves/1" code="E1">gone</failure></signals>"""
PLAIN = {"operator": "SEQ", "arguments": [
    {"operator": "cd", "language": "http://s", "having": {"t": {"bindVar": "T", "type": "xsd:integer"}}},
    {"language": "http://x", "literal": {"text": "p(X)"}, "with": {"X": {"mode": "use", "value": "1"}}},
]}  # fmt: skip
ROWS = [
    {"operator": "cd", "language": "http://s", "parameters": {"t": 1, "u": None}, "at": "7", "id": "x"},
    {"evaluation": "/snoop/expressions/1/leaves/1", "bindings": [{"T": "1"}]}, {"end": {"evaluation": "/x"}},
]  # fmt: skip
CLOUD = {
    "specversion": "1.0", "type": "cd", "source": "http://s", "id": "1", "time": "2026-03-02T09:00:00Z",
    "data": {"t": 1},
}  # fmt: skip
PIECES = [
    "<", ">", "&", "&lt;", "&#0;", "&#x110000;", "<!--", "]]>", "<![CDATA[", "<?x?>", "<!DOCTYPE a>", "\x00", "\x1b",
    "\ud800", "é", "𝄞", '"', "'", "{", "}", "[", "]", ",", ":", "null", "1e999", "-0", "9" * 400, "NaN", "(" * 300,
    "SEQ(", "ANY(0, ", "PLUS(", "^^xsd:date", "xsd:integer", "http://snoop-r.org", "urn:etalis:snoop-r:1", "bindVar",
    'mode="bind"', "*/", "%", "..", "/leaves/0", "/leaves/1.1.1", "expressions/99999999999999999999", "<literal/>",
    "<expression/>", "\\", "\n", "\t", "",
]  # fmt: skip
ROUTES = [
    ("POST", "/snoop/expressions", ("application/xml", "application/json", "text/plain")),
    ("POST", "/snoop/signals", ("application/xml", "application/json", "application/cloudevents+json")),
    ("POST", "/snoop/convert?to=xml", ("application/xml", "application/json", "text/plain")),
    ("POST", "/snoop/advance", ("application/json",)),
    ("PUT", "/snoop/knowledge", ("text/plain",)),
]
SEEDS = {
    "application/xml": [REGISTER, SIGNALS, *(t for e in snoop_examples() for t in e.expressions.values() if "<" in t)],
    "application/json": [json.dumps(PLAIN), json.dumps(ROWS), '{"to": 5}'],
    "application/cloudevents+json": [json.dumps(CLOUD), json.dumps([CLOUD])],
    "text/plain": [EXPRESSION, "p(1). p(X) :- q(X, _), X > 2."],
}


def spoil(text: str, rng: random.Random) -> bytes:
    """Return a text with some parts cut, repeated, moved, or replaced."""
    for _ in range(rng.randint(1, 4)):
        at, end = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        end = min(end, at + rng.choice((1, 3, 40)))
        match rng.randrange(4):
            case 0:
                text = text[:at] + text[end:]
            case 1:
                text = text[:at] + rng.choice(PIECES) + text[end:]
            case 2:
                text = text[:at] + text[at:end] * rng.choice((2, 3, 50)) + text[end:]
            case _:
                place = rng.randrange(len(text) + 1)
                text = text[:place] + text[at:end] + text[place:]
    data = text.encode("utf-8", "surrogatepass")
    if rng.randrange(8) == 0 and data:
        at = rng.randrange(len(data))
        data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    return data


def send_spoilt(count: int, seed: int) -> None:
    rng = random.Random(seed)

    async def go() -> None:
        async with served(Service(public_url=URL, clock=StandingClock(1))) as client:
            await client.post("/snoop/expressions", content=EXPRESSION, headers={"content-type": "text/plain"})
            for _ in range(count):
                method, path, medias = rng.choice(ROUTES)
                media = rng.choice(medias)
                body = spoil(rng.choice(SEEDS[media]), rng)
                answer = await client.request(method, path, content=body, headers={"content-type": media})
                assert answer.status_code < 500, (method, path, media, body, answer.text)
                if answer.status_code >= 400:
                    assert answer.content, body
            assert (await client.get("/snoop/graph")).status_code == 200
            assert (await client.get("/snoop/expressions")).status_code == 200

    asyncio.run(go())


def test_some_documents_that_are_none() -> None:
    send_spoilt(400, 22)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(20))
def test_many_documents_that_are_none(part: int) -> None:
    send_spoilt(1_000, part)
