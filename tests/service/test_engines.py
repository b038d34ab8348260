"""Engines as resources: made, listed, sent events, asked, changed, deleted; the manual's calls (003, section 4.6)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx

from etalis.service.host import Service
from etalis.service.limits import ServiceLimits
from helpers.service import LINES, TERMS, URL, StandingClock, lines, read_stream, served

PAIRS = "c(X, Y) <- a(X) seq b(Y)."
FRAUD = """
:- event(withdrawal(card: string, city: string, amount: float)).
fraud(Card, Total) <- (withdrawal(Card, CityA, A) seq withdrawal(Card, CityB, B)) within 10 min
                      where (CityA \\= CityB, Total is A + B).
"""
STREAM = {"Accept": "text/event-stream"}


async def make(client: httpx.AsyncClient, program: str = PAIRS, **given: Any) -> str:
    answer = await client.post("/engines", json={"program": program, "name": "e", **given})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["url"]).removeprefix(URL)


def atoms(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [entry["match"]["event"] for entry in answer.json()["matches"]]


def test_what_is_told_of_an_engine() -> None:
    async def run() -> None:
        async with served() as client:
            answer = await client.post("/engines", json={"program": FRAUD, "name": "cards"})
            assert answer.status_code == 201
            assert answer.headers["location"] == f"{URL}/engines/cards"
            made = answer.json()
            assert (made["name"], made["policy"], made["warnings"]) == ("cards", "recent", [])
            assert made["kinds"] == [
                {
                    "name": "withdrawal", "arity": 3, "attributes": ["card", "city", "amount"],
                    "types": ["string", "string", "float"], "role": "input",
                },
                {"name": "fraud", "arity": 2, "attributes": ["Card", "Total"], "types": ["string", "float"],
                 "role": "derived"},
            ]  # fmt: skip
            listed = (await client.get("/engines")).json()["engines"]
            assert [engine["name"] for engine in listed] == ["cards"]
            assert (await client.get("/engines/cards")).json()["kinds"] == made["kinds"]
            assert (await client.post("/engines", json={"program": FRAUD, "name": "cards"})).status_code == 409
            assert (await client.delete("/engines/cards")).status_code == 204
            assert (await client.delete("/engines/cards")).status_code == 404
            assert (await client.get("/engines/cards")).status_code == 404

    asyncio.run(run())


def test_case_24_what_a_list_of_events_triggers_and_the_same_request_again() -> None:
    async def run() -> None:
        async with served() as client:
            path = await make(client, "c <- a seq b.") + "/events"
            assert atoms(await client.post(path, content="event(a).", headers=TERMS)) == []
            again = {**TERMS, "Idempotency-Key": "k1"}
            first = await client.post(path, content="event(b).", headers=again)
            assert atoms(first) == ["c"]
            second = await client.post(path, content="event(b).", headers=again)
            assert second.content == first.content
            assert second.headers["idempotency-replayed"] == "true"
            seen = (await client.get("/metrics")).text
            assert 'etalis_engine_events_total{engine="e"} 2' in seen
            other = await client.post(path, content="event(a).", headers=again)
            assert (other.status_code, other.json()["problems"][0]["code"]) == (422, "E825")

    asyncio.run(run())


def test_by_names_the_event_that_completed_a_match() -> None:
    async def run() -> None:
        async with served() as client:
            path = await make(client) + "/events"
            body = lines([["a", 1, 0], ["b", 2, 1], {"event": "nothing"}, ["a", 3, 2], ["b", 4, 3], ["b", 5, 1]])
            answer = (await client.post(path, content=body, headers=LINES)).json()
            assert (answer["taken"], answer["late"]) == (4, 1)
            assert [row["index"] for row in answer["rejected"]] == [2]
            assert [(m["number"], m["by"], m["sign"]) for m in answer["matches"]] == [(1, 1, 1), (2, 4, 1)]
            assert answer["matches"][0]["match"] == {
                "event": "c", "X": 1, "Y": 2, "start": 0, "end": 1, "rule": "1"
            }  # fmt: skip
            counts = (await client.post(path + "?matches=no", content=lines([["a", 1, 9]]), headers=LINES)).json()
            assert counts == {"taken": 1, "late": 0, "repeated": 0, "rejected": []}

    asyncio.run(run())


def test_matches_are_read_by_number_and_kind() -> None:
    async def run() -> None:
        async with served() as client:
            path = await make(client, "c(X) <- a(X). d(X) <- a(X).")
            await client.post(path + "/events", content=lines([["a", i, i] for i in range(3)]), headers=LINES)
            found = (await client.get(path + "/matches?after=2")).json()
            assert ([match["number"] for match in found["matches"]], found["next"]) == ([3, 4, 5, 6], 6)
            found = (await client.get(path + "/matches?kinds=d/1&limit=2")).json()
            assert ([match["match"]["X"] for match in found["matches"]], found["next"]) == ([0, 1], 4)
            assert (await client.get(path + "/matches?kinds=d")).status_code == 400
            assert (await client.get(path + "/matches?after=x")).status_code == 400

    asyncio.run(run())


def test_waiting_for_a_match() -> None:
    async def run() -> None:
        async with served() as client:
            path = await make(client)
            await client.post(path + "/events", content=lines([["a", 1, 0]]), headers=LINES)
            waiting = asyncio.create_task(client.get(path + "/matches?wait=20"))
            await client.post(path + "/events", content=lines([["b", 2, 1]]), headers=LINES)
            assert atoms(await waiting) == ["c"]
            assert atoms(await client.get(path + "/matches?after=1&wait=0.01")) == []

    asyncio.run(run())


def test_a_received_kind_that_is_named_is_spied() -> None:
    async def run() -> None:
        async with served() as client:
            path = await make(client, FRAUD)
            row = {"event": "withdrawal", "card": "c1", "city": "bern", "amount": 5, "at": 1}
            assert (await client.get(path + "/matches?kinds=withdrawal/3,fraud/2")).json()["matches"] == []
            body = lines([row, {**row, "at": 0}, {**row, "city": "rome", "at": 2}])
            assert atoms(await client.post(path + "/events", content=body, headers=LINES)) == ["fraud"]
            both = (await client.get(path + "/matches?kinds=withdrawal/3,fraud/2")).json()["matches"]
            assert [(m["by"], m["match"]["event"]) for m in both] == [
                (0, "withdrawal"), (2, "withdrawal"), (2, "fraud")
            ]  # fmt: skip
            assert both[0]["match"] == {
                "event": "withdrawal", "card": "c1", "city": "bern", "amount": 5.0, "start": 1, "end": 1, "rule": None
            }  # fmt: skip
            assert atoms(await client.get(path + "/matches")) == ["fraud"]

    asyncio.run(run())


def test_rules_come_and_go() -> None:
    async def run() -> None:
        async with served() as client:
            path = await make(client)
            added = await client.post(path + "/rules", json={"rules": "r1 rule: d(X) <- a(X). r2 rule: f(X) <- a(X)."})
            assert (added.status_code, added.json()) == (201, {"labels": ["r1", "r2"]})
            assert atoms(await client.post(path + "/events", content=lines([["a", 1, 0]]), headers=LINES)) == ["d", "f"]
            assert (await client.delete(path + "/rules/r1")).json() == {"deleted": 1}
            assert atoms(await client.post(path + "/events", content=lines([["a", 1, 1]]), headers=LINES)) == ["f"]
            assert (await client.delete(path + "/rules/r1")).status_code == 422
            for wrong in ("p(1).", "g(X) <- a(X). h(Z) <- a(X).", ""):
                assert (await client.post(path + "/rules", json={"rules": wrong})).status_code == 422
            assert atoms(await client.post(path + "/events", content=lines([["a", 1, 2]]), headers=LINES)) == ["f"]

    asyncio.run(run())


def test_goals_and_what_they_may_take() -> None:
    """Case 29: a goal that does not end is refused, and another engine answers meanwhile."""

    async def run() -> None:
        async with served() as client:
            path = await make(client, "c(X) <- a(X). loop :- loop. near(basel, weil). near(bern, [thun, 2.5]).")
            other = await make(client, PAIRS, name="other")
            found = (await client.post(path + "/query", json={"goal": "near(X, Y)"})).json()
            assert found == {
                "answers": [{"X": "basel", "Y": "weil"}, {"X": "bern", "Y": ["thun", 2.5]}], "more": False
            }  # fmt: skip
            found = (await client.post(path + "/query", json={"goal": "near(X, _)", "limit": 1})).json()
            assert found == {"answers": [{"X": "basel"}], "more": True}
            endless, event = await asyncio.gather(
                client.post(path + "/query", json={"goal": "loop"}),
                client.post(other + "/events", content=lines([["a", 1, 0]]), headers=LINES),
            )
            assert (endless.status_code, endless.json()["problems"][0]["code"]) == (422, "E517")
            assert event.json()["taken"] == 1
            for flags in ({"max_steps": -1}, {"max_steps": 10**9}):
                path = await make(client, "loop :- loop. c <- a.", name=f"f{len(str(flags))}", flags=flags)
                assert (await client.post(path + "/query", json={"goal": "loop"})).status_code == 422

    asyncio.run(run())


def test_programs_reach_nothing_outside() -> None:
    async def run() -> None:
        async with served() as client:
            for program in (
                ":- [secret]. c <- a.",
                ":- use_module(secret). c <- a.",
                ":- create_server(1600). c <- a.",
                ":- open('secret', read, _). c <- a.",
                "c(X) <- a where open('secret', read, X).",
                "c <- a where shell('ls').",
            ):
                answer = await client.post("/engines", json={"program": program})
                told = answer.json()["problems" if answer.status_code == 422 else "warnings"]
                assert told, program
                if answer.status_code == 201:
                    path = answer.json()["url"].removeprefix(URL)
                    sent = await client.post(path + "/events", content=lines([["a", 1]]), headers=LINES)
                    assert " where " not in program or atoms(sent) == [], program
            for flags in ({"imports": "/"}, {"read": 1}, {"register": 1}, {"name": "x"}, {"strict": 1}):
                answer = await client.post("/engines", json={"program": PAIRS, "flags": flags})
                assert (answer.status_code, answer.json()["problems"][0]["code"]) == (422, "E205")

    asyncio.run(run())


def test_what_waits_is_told_in_every_form() -> None:
    async def run() -> None:
        async with served() as client:
            path = await make(client, "r rule: c(X, Y) <- (a(X) seq b(Y)) within 10.")
            await client.post(path + "/events", content=lines([["a", 1, 0]]), headers=LINES)
            waiting = (await client.get(path + "/state")).json()["waiting"]
            assert [(row["rules"], row["operator"], row["instances"]) for row in waiting if row["instances"]] == [
                (["r"], "seq", 1)
            ]
            partial = (await client.get(path + "/partial")).json()
            assert [(row["rule"], row["present"], row["awaited"]) for row in partial["partial"]] == [
                ("r", ["a(1)"], ["b(Y)"])
            ]
            plan = (await client.get(path + "/explain?form=json")).json()
            boxes = {node["label"]: node for node in plan["nodes"]}
            assert [node.get("waiting") for node in plan["nodes"] if node["kind"] == "operator"] == [1]
            assert boxes["c(X, Y)"]["rule"] == "r"
            assert {"from", "to"} <= plan["links"][0].keys()
            assert "rule r: c(X, Y)" in (await client.get(path + "/explain")).text
            assert (await client.get(path + "/explain?form=svg")).headers["content-type"] == "image/svg+xml"
            assert (await client.get(path + "/explain?form=x")).status_code == 422

    asyncio.run(run())


def test_why_and_why_not() -> None:
    async def run() -> None:
        async with served() as client:
            path = await make(client, scratch=True)
            sent = await client.post(path + "/events", content=lines([["a", 1, 0], ["b", 2, 1]]), headers=LINES)
            match = sent.json()["matches"][0]
            for question in ({"number": 1}, {"match": match["match"]}):
                answer = await client.post(path + "/why", json=question)
                assert answer.status_code == 200, answer.text
                assert answer.json()["text"].startswith("c(1, 2) [0, 1]")
                assert "nodes" in answer.json()["tree"]
            assert (await client.post(path + "/why", json={"number": 7})).status_code == 404
            assert (await client.post(path + "/why", json={})).status_code == 422
            await client.post(path + "/events", content=lines([["a", 5, 4]]), headers=LINES)
            for question in ({"kind": "c/2", "from": 3, "to": 9}, {"kind": "c(5, _)"}):
                answer = await client.post(path + "/why-not", json=question)
                assert answer.status_code == 200, answer.text
                assert "b(" in answer.json()["text"]
            plain = await make(client, name="plain")
            sent = await client.post(plain + "/events", content=lines([["a", 1, 0], ["b", 2, 1]]), headers=LINES)
            assert (await client.post(plain + "/why", json={"number": 1})).status_code == 422

    asyncio.run(run())


def test_time_passes_by_word() -> None:
    async def run() -> None:
        async with served() as client:
            path = await make(client, "lone(X) <- a(X) seq (not b(X) within 5).")
            await client.post(path + "/events", content=lines([["a", 1, 0]]), headers=LINES)
            assert atoms(await client.post(path + "/advance", json={"to": 4})) == []
            assert atoms(await client.post(path + "/advance", json={"to": 6})) == ["lone"]
            await client.post(path + "/events", content=lines([["a", 2, 7]]), headers=LINES)
            assert (await client.post(path + "/reset", json={})).status_code == 204
            assert atoms(await client.post(path + "/advance", json={"to": 20})) == []
            await client.post(path + "/events", content=lines([["a", 3, 30]]), headers=LINES)
            assert atoms(await client.post(path + "/close", json={})) == ["lone"]
            answer = await client.post(path + "/events", content=lines([["a", 3, 31]]), headers=LINES)
            assert answer.status_code == 422 or answer.json()["taken"] == 0

    asyncio.run(run())


def test_a_snapshot_goes_on_elsewhere() -> None:
    import etalis

    async def run() -> bytes:
        async with served() as client:
            path = await make(client)
            await client.post(path + "/events", content=lines([["a", 1, 0]]), headers=LINES)
            return (await client.get(path + "/snapshot")).content

    engine = etalis.compile(PAIRS).restore(asyncio.run(run()))
    assert [str(event) for event in engine.push("b", 2, at=1)] == ["c(1, 2) [0, 1]"]


def test_clock_time_stamps_what_comes_and_passes_without_events() -> None:
    """Case 27 for engines: a time in the future orders nothing; what is due occurs although nothing comes."""

    async def run() -> None:
        clock = StandingClock(1_000_000_000)
        async with served(clock=clock) as client:
            path = await make(client, PAIRS + " lone(X) <- a(X) seq (not b(X) within 5).", time="clock")
            sent = await client.post(
                path + "/events", content=lines([["a", 1, 99999], {"event": "b", "args": [1]}]), headers=LINES
            )
            match = sent.json()["matches"][0]["match"]
            assert (match["start"], match["end"], sent.json()["late"]) == (1000, 1000.000001, 0)
            assert atoms(await client.post(path + "/events", content="event(a(2)). event(b(2)).", headers=TERMS)) == [
                "c"
            ]
            await client.post(path + "/events", content=lines([{"event": "a", "args": [3]}]), headers=LINES)
            before = (await client.get(path + "/matches")).json()["next"]
            clock.moment += 3600_000_000
            await client.post(path + "/events", content=lines([["x", 3]]), headers=LINES)
            found = (await client.get(path + f"/matches?after={before}&wait=20")).json()["matches"]
            assert [(m["by"], m["match"]["event"], m["match"]["X"]) for m in found] == [(0, "lone", 3)]

    asyncio.run(run())


def test_a_deadline_passes_by_the_clock_alone() -> None:
    async def run() -> None:
        async with served() as client:
            path = await make(client, "lone(X) <- a(X) seq (not b(X) within 0.05).", time="clock")
            await client.post(path + "/events", content=lines([{"event": "a", "args": [1]}]), headers=LINES)
            found = (await client.get(path + "/matches?wait=20")).json()["matches"]
            assert [(m["by"], m["match"]["event"]) for m in found] == [(None, "lone")]

    asyncio.run(run())


def test_retractions_are_entries_of_their_own() -> None:
    async def run() -> None:
        async with served() as client:
            path = await make(client, ":- set_flag(revision_flag, on). " + PAIRS)
            event = {"event": "b", "args": [2], "at": 1}
            await client.post(path + "/events", content=lines([["a", 1, 0], event]), headers=LINES)
            back = {"event": "b", "a1": 2, "start": 1, "end": 1, "rule": None, "sign": -1}
            answer = (await client.post(path + "/events", content=lines([back]), headers=LINES)).json()
            assert [(m["number"], m["sign"], m["match"]["sign"]) for m in answer["matches"]] == [(2, -1, -1)]

    asyncio.run(run())


def test_queries_of_ep_sparql() -> None:
    async def run() -> None:
        async with served() as client:
            query = "PREFIX : <http://x/> SELECT ?s WHERE { ?s :p ?o }"
            path = await make(
                client, query, language="ep-sparql", background="<http://x/a> <http://x/q> <http://x/b> ."
            )
            body = json.dumps({"s": "<http://x/a>", "p": "<http://x/p>", "o": "<http://x/b>", "at": 1})
            assert len(atoms(await client.post(path + "/events", content=body, headers=LINES))) == 1

    asyncio.run(run())


def test_check_tells_problems_with_their_places() -> None:
    async def run() -> None:
        async with served() as client:
            answer = (await client.post("/check", json={"program": "c(X, Y) <-\n a(X)."})).json()
            assert answer["ok"] is False
            assert [(p["code"], p["line"], p["column"], p["severity"]) for p in answer["problems"]] == [
                ("E204", 1, 6, "error")
            ]
            answer = (await client.post("/check", json={"program": "r rule: c(X) <- a(X).\nd(X) <- c(X)."})).json()
            assert (answer["ok"], answer["rules"]) == (
                True, [{"id": "r", "line": 1, "head": "c/1"}, {"id": "2", "line": 2, "head": "d/1"}],
            )  # fmt: skip
            assert [kind["name"] for kind in answer["kinds"]] == ["a", "c", "d"]
            assert (await client.post("/check", json={"program": "", "language": "x"})).status_code == 422

    asyncio.run(run())


def test_scratch_engines_go_when_nobody_uses_them() -> None:
    async def run() -> None:
        clock = StandingClock()
        service = Service(clock=clock, public_url=URL, limits=ServiceLimits(scratch_seconds=600))
        async with served(service) as client:
            await make(client, scratch=True)
            await make(client, name="kept")
            clock.moment = 599_000_000
            service.drop_unused()
            await client.post("/engines/e/events", content=lines([["a", 1, 0]]), headers=LINES)
            clock.moment = 1_198_000_000
            service.drop_unused()
            assert [e["name"] for e in (await client.get("/engines")).json()["engines"]] == ["e", "kept"]
            clock.moment = 1_200_000_000
            service.drop_unused()
            assert [e["name"] for e in (await client.get("/engines")).json()["engines"]] == ["kept"]

    asyncio.run(run())


def test_the_end_of_an_engine_ends_its_streams() -> None:
    async def run() -> None:
        async with served() as client:
            path = await make(client)
            body = lines([["a", 1, 0], ["b", 2, 1]])
            await client.post(path + "/events", content=body, headers=LINES)
            stream = asyncio.create_task(client.get(path + "/matches?after=0", headers=STREAM))
            await asyncio.sleep(0)
            await client.delete(path)
            told = read_stream((await stream).text)
            assert [kind for kind, _ in told] == ["match", "end"]

    asyncio.run(run())
