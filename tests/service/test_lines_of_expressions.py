"""Expressions of SNOOP-R in sessions of lines: as terms and as JSON."""

from __future__ import annotations

import asyncio
import json

from helpers.service import URL, StandingClock
from helpers.sessions import PROGRAM, Conversation, talking


def in_session(check) -> None:
    async def run() -> None:
        async with talking(PROGRAM, clock=StandingClock(1_000_000)) as talk:
            await asyncio.wait_for(check(talk), 30)

    asyncio.run(run())


def test_expressions_as_terms() -> None:
    async def check(talk: Conversation) -> None:
        (made,) = await talk.say('register(\'shop = "http://s". SEQ(shop:cd(t: T), shop:dvd(t: T, year: "2006"))\').\n')
        assert made.startswith("answer([['Number'=1,")
        assert "/snoop/expressions/1/leaves/2" in made
        taken = await talk.say("signal(cd, 'http://s', [t = 'Boy']).\n")
        assert taken == ["answer([['Taken'=1,'Matched'=1,'Late'=0,'Repeated'=0,'Discarded'=[]]])."]
        await talk.say("signal(dvd, 'http://s', [t = 'Boy', year = 2006]).\n")
        assert await talk.say("results(1).\n") == ["answer([['Number'=1,'Kind'=result,'T'='Boy']])."]
        assert await talk.say("results(1, 1). unregister(1).\n", 2) == ["answer([]).", "ok."]
        (gone,) = await talk.say("unregister(1).\n")
        assert gone.startswith("error('E860'")
        for wrong in (
            "signal(cd, 'http://s', t).",
            "signal(cd, f(x), []).",
            "signal(cd, 'http://s', [t]).",
            "results(x).",
        ):
            (refused,) = await talk.say(f"{wrong}\n")
            assert refused.startswith("error('E864'")
        (refused,) = await talk.say("register('SEQ(').\n")
        assert refused.startswith("error('E875'")

    in_session(check)


def test_expressions_as_json() -> None:
    async def say(talk: Conversation, row: object) -> dict[str, object]:
        (answer,) = await talk.say(json.dumps(row) + "\n")
        return json.loads(answer)

    async def check(talk: Conversation) -> None:
        leaf = {"operator": "cd", "language": "http://s", "having": {"t": {"bindVar": "T"}}}
        leaf["with"] = {"T": {"mode": "bind"}}
        made = await say(talk, {"register": {"expression": leaf}})
        assert made["answer"][0]["Number"] == 1
        signal = {"operator": "cd", "language": "http://s", "parameters": {"t": "Boy"}}
        assert (await say(talk, {"signal": signal}))["answer"][0]["Matched"] == 1
        twice = await say(talk, {"signals": [{**signal, "id": "a"}, {**signal, "id": "a"}]})
        assert twice["answer"][0]["Repeated"] == 1
        found = await say(talk, {"results": 1, "after": 1})
        assert [(row["Number"], row["T"]) for row in found["answer"]] == [(2, "Boy")]
        assert (await say(talk, {"results": 1, "after": -1}))["error"]["code"] == "E864"
        unknown = {"signal": {"evaluation": f"{URL}/snoop/expressions/9/leaves/1", "bindings": []}}
        assert (await say(talk, unknown))["error"]["code"] == "E860"
        assert await say(talk, {"unregister": {"evaluation": "/snoop/expressions/1"}}) == {"ok": True}
        assert (await say(talk, {"unregister": "x"}))["error"]["code"] == "E860"

    in_session(check)
