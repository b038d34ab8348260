"""Bodies: every content type gives the same matches, the quick way reads what the readers of files read."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import etalis
from etalis.formats import Bad, Row
from etalis.formats.json_lines import read_json_lines
from etalis.service.host import EngineSpec, HostedEngine, Service
from etalis.service.intake.batches import EventBatch, Taken
from etalis.service.intake.bodies import READERS, Body, BodyOptions, JsonRows, KnownEvents
from etalis.service.intake.parts import as_parts
from etalis.service.limits import ServiceLimits
from helpers.service import LINES, TERMS, URL, lines, served

PROGRAM = """
:- event(w(card: string, city: string, amount: float)).
:- event(n(x: int)).
fraud(Card, A, B) <- (w(Card, C, A) seq w(Card, D, B)) within 100 where C \\= D.
many(X) <- n(X) seq n(X).
other(X) <- free(X).
"""
ROWS: list[dict[str, Any]] = [
    {"event": "w", "card": "c1", "city": "bern", "amount": 5.5, "at": 1},
    {"event": "w", "card": "c2", "city": "rome", "amount": 7.0, "at": 2.5},
    {"event": "w", "card": "c1", "city": "rome", "amount": 9.0, "at": 3},
    {"event": "w", "card": "c2", "city": "oslo", "amount": 1.0, "at": 4},
]


def as_terms(rows: list[dict[str, Any]]) -> str:
    return "\n".join(
        f"event(w({row['card']}, {row['city']}, {row['amount']}), [{row['at']}, {row['at']}])." for row in rows
    )


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pa.Table.from_pylist([{**row, "at": float(row["at"])} for row in rows]), sink)
    return sink.getvalue()


def as_cloud_event(number: int, row: dict[str, Any]) -> dict[str, Any]:
    data = {name: value for name, value in row.items() if name not in ("event", "at")}
    moment = f"1970-01-01T00:00:{row['at']:04.1f}Z"
    return {"specversion": "1.0", "id": str(number), "source": "/x", "type": row["event"], "time": moment, "data": data}


def as_csv(rows: list[dict[str, Any]]) -> str:
    return "event,card,city,amount,at\n" + "".join(",".join(map(str, row.values())) + "\n" for row in rows)


BODIES: dict[str, Any] = {
    "application/x-ndjson": lines(ROWS),
    "text/csv": as_csv(ROWS),
    "text/plain": as_terms(ROWS),
    "application/json": json.dumps(ROWS),
    "application/vnd.apache.parquet": as_parquet(ROWS),
    "application/cloudevents-batch+json": json.dumps([as_cloud_event(i, row) for i, row in enumerate(ROWS)]),
}


def test_every_content_type_gives_the_same_matches() -> None:
    engine = etalis.compile(PROGRAM).engine()
    wanted = [match.to_dict() for match in engine.run(ROWS)]
    assert len(wanted) == 2

    async def run() -> None:
        async with served() as client:
            for number, (media, body) in enumerate(BODIES.items()):
                await client.post("/engines", json={"program": PROGRAM, "name": f"e{number}"})
                path = f"/engines/e{number}/events"
                answer = await client.post(path, content=body, headers={"Content-Type": media + "; charset=utf-8"})
                assert answer.status_code == 200, answer.text
                found = answer.json()
                assert (found["taken"], found["rejected"]) == (4, []), media
                assert [(match["by"], match["match"]) for match in found["matches"]] == list(
                    zip((2, 3), wanted, strict=True)
                ), media
            await client.post("/engines", json={"program": PROGRAM, "name": "single"})
            for number, row in enumerate(ROWS):
                body = json.dumps(as_cloud_event(number, row))
                headers = {"Content-Type": "application/cloudevents+json"}
                answer = await client.post("/engines/single/events", content=body, headers=headers)
                assert answer.json()["taken"] == 1
            kept = (await client.get("/engines/single/matches")).json()["matches"]
            assert [match["match"] for match in kept] == wanted

    asyncio.run(run())
    assert {*BODIES, "application/cloudevents+json", *QUADS} == {*READERS}


QUERY = (
    "PREFIX : <http://ex/> SELECT ?s ?y WHERE { { ?s :price ?x } SEQ { ?s :price ?y } FILTER(?y > ?x) ?s :sold :here }"
)
AT = "http://www.w3.org/ns/prov#generatedAtTime"
TRIG = f"""PREFIX : <http://ex/>
:g1 <{AT}> 1 . :g1 {{ :rose :price 2 }}
:g2 <{AT}> 3 . :g2 {{ :rose :price 5 . :lily :price 9 }}
:g3 <{AT}> 4 . :g3 {{ :lily :price 10 }}
"""
WHOLE = "http://www.w3.org/2001/XMLSchema#integer"
PRICES = ((1, 1, "rose", 2), (2, 3, "rose", 5), (2, 3, "lily", 9), (3, 4, "lily", 10))
NQUADS = "".join(
    f'<http://ex/g{graph}> <{AT}> "{at}"^^<{WHOLE}> .\n'
    f'<http://ex/{what}> <http://ex/price> "{price}"^^<{WHOLE}> <http://ex/g{graph}> .\n'
    for graph, at, what, price in PRICES
)
QUADS: dict[str, str] = {"application/trig": TRIG, "application/n-quads": NQUADS}


def test_quads_are_events_of_queries_with_background() -> None:
    spec = {
        "language": "ep-sparql",
        "program": QUERY,
        "background": "<http://ex/rose> <http://ex/sold> <http://ex/here> .",
    }

    async def run() -> None:
        async with served() as client:
            for number, (media, body) in enumerate(QUADS.items()):
                made = await client.post("/engines", json={**spec, "name": f"q{number}"})
                assert made.status_code == 201, made.text
                path, headers = f"/engines/q{number}/events", {"Content-Type": media}
                found = (await client.post(path, content=body, headers=headers)).json()
                assert (found["taken"], found["rejected"]) == (4, []), media
                assert [(match["by"], match["match"]["y"]) for match in found["matches"]] == [(1, 5)], media
            broken = await client.post("/engines/q0/events", content="<x", headers={"Content-Type": "application/trig"})
            assert (broken.status_code, broken.json()["problems"][0]["code"]) == (422, "E402")
            partly = await client.post(
                "/engines/q1/events", content="nonsense\n", headers={"Content-Type": "application/n-quads"}
            )
            assert (partly.status_code, len(partly.json()["rejected"])) == (200, 1)

    asyncio.run(run())


def test_options_say_how_columns_are_read() -> None:
    async def run() -> None:
        async with served() as client:
            await client.post("/engines", json={"program": PROGRAM, "name": "e"})
            path = "/engines/e/events?event=w&time=when&unit=ms"
            csv = "card,city,amount,when\nc1,bern,5,1000\nc1,rome,6,2500\n"
            answer = (await client.post(path, content=csv, headers={"Content-Type": "text/csv"})).json()
            assert (answer["taken"], answer["matches"][0]["match"]["end"]) == (2, 2.5)
            row = {"card": "c1", "city": "oslo", "amount": 1, "when": 3000}
            answer = (await client.post(path, content=lines([row]), headers=LINES)).json()
            assert (answer["taken"], answer["matches"][0]["match"]["end"]) == (1, 3)
            wrong = await client.post("/engines/e/events?unit=x", content="", headers=LINES)
            assert (wrong.status_code, wrong.json()["problems"][0]["code"]) == (422, "E407")

    asyncio.run(run())


def test_cloud_events_are_taken_once() -> None:
    async def run() -> None:
        async with served() as client:
            await client.post("/engines", json={"program": PROGRAM, "name": "e"})
            body = json.dumps([as_cloud_event(0, ROWS[0])] * 2)
            headers = {"Content-Type": "application/cloudevents-batch+json"}
            for taken, repeated in ((1, 1), (0, 2)):
                answer = (await client.post("/engines/e/events", content=body, headers=headers)).json()
                assert (answer["taken"], answer["repeated"]) == (taken, repeated)

    asyncio.run(run())


def test_terms_without_times_follow_each_other_over_bodies() -> None:
    async def run() -> None:
        async with served() as client:
            program = "c(X, Y) <- a(X) seq b(Y). lone(X) <- a(X) seq (not b(_) within 5)."
            await client.post("/engines", json={"program": program, "name": "e"})
            path = "/engines/e/events"
            for body, wanted in (
                ("event(a(1)).", []),
                ("event(b(2)).", ["c"]),
                ("event(a(3)). sleep(7). event(z).", ["lone"]),
                ("event(q", None),
            ):
                answer = (await client.post(path, content=body, headers=TERMS)).json()
                if wanted is None:
                    assert len(answer["rejected"]) == 1
                else:
                    assert [match["match"]["event"] for match in answer["matches"]] == wanted

    asyncio.run(run())


def test_what_is_no_body_of_events_is_refused() -> None:
    async def run() -> None:
        async with served(limits=ServiceLimits(line=200, depth=5)) as client:
            await client.post("/engines", json={"program": PROGRAM, "name": "e"})
            path = "/engines/e/events"
            for media, body, status in (
                ("application/json", "{", 400),
                ("application/json", "[1,", 400),
                ("application/json", "[" * 100_000, 400),
                ("application/vnd.apache.parquet", "x", 400),
                ("application/x-www-form-urlencoded", "a=b", 415),
                ("text/csv", "", 422),
                ("text/csv", "a,b\n1,2\n", 422),
            ):
                answer = await client.post(path, content=body, headers={"Content-Type": media})
                assert answer.status_code == status, (media, body[:9], answer.text)
                assert answer.headers["content-type"] == "application/problem+json"
                assert answer.json()["problems"][0]["code"].startswith("E")
            for body in (
                "x" * 300,
                '{"event": "free", "args": [[[[[[[]]]]]]], "at": 1}',
                "\ufffe",
                '{"a": 1e999}',
                "[]",
            ):
                answer = await client.post(path, content=body, headers=LINES)
                assert (answer.status_code, len(answer.json()["rejected"])) == (200, 1), body[:9]
            assert (await client.post(path, content="x")).status_code == 415

    asyncio.run(run())


def test_of_rows_that_are_not_taken_the_first_are_told() -> None:
    async def run() -> None:
        async with served() as client:
            await client.post("/engines", json={"program": PROGRAM, "name": "e"})
            body = "x\n" * 2_500 + '{"event": "n", "x": 1, "at": 1}\n'
            found = (await client.post("/engines/e/events", content=body, headers=LINES)).json()
            assert (found["taken"], len(found["rejected"]), found["more_rejected"]) == (1, 1_000, 1_500)
            assert found["rejected"][-1]["index"] == 999
            metrics = (await client.get("/metrics")).text
            assert 'etalis_engine_rejected_total{engine="e"} 2500' in metrics

    asyncio.run(run())


def test_bodies_that_would_take_long_to_refuse() -> None:
    async def run() -> None:
        async with served(limits=ServiceLimits(program=500)) as client:
            await client.post("/engines", json={"program": PROGRAM, "name": "e"})
            for media, body, status in (
                ("text/plain", "event(free([" + "1," * 300 + "1])).", 413),
                ("text/plain", "event(free(1)). " * 300, 200),
                ("text/plain", "% " + "x" * 600, 413),
                ("text/csv", ",".join(f"c{n}" for n in range(10_000)), 422),
                ("text/csv", "event,at," + ",".join(f"c{n}" for n in range(10_000)) + "\nfree,1\n" * 100, 200),
            ):
                answer = await client.post("/engines/e/events", content=body, headers={"Content-Type": media})
                assert answer.status_code == status, (media, body[:9], answer.text[:200])
                assert len(answer.content) < 40_000
            packed = {**LINES, "Content-Encoding": "gzip"}
            assert (await client.post("/engines/e/events", content=b"x", headers=packed)).status_code == 415

    asyncio.run(run())


SCALARS = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=4), st.none(),
    st.booleans(), st.just({"name": "f", "args": [1]}), st.lists(st.integers(), max_size=2),
)  # fmt: skip
RECORDS = st.one_of(
    st.fixed_dictionaries(
        {"event": st.sampled_from(["w", "n", "free", "zz"]), "at": st.one_of(st.integers(0, 9), SCALARS)},
        optional=dict.fromkeys(("card", "city", "amount", "x", "X", "a1", "time", "rule", "type"), SCALARS),
    ),
    st.fixed_dictionaries(
        {"event": st.just("w"), "card": st.text(max_size=2), "city": st.text(max_size=2),
         "amount": st.one_of(st.integers(-9, 9), st.floats(-9, 9)), "at": st.integers(0, 99)},
    ),
    st.lists(SCALARS, max_size=4).map(lambda rest: ["n", *rest]),
    SCALARS,
)  # fmt: skip
TEXTS = st.one_of(
    RECORDS.map(json.dumps),
    RECORDS.map(lambda record: json.dumps(record, separators=(",", ":"), ensure_ascii=False)),
    st.sampled_from(
        ['{"event": "n", "x": 1, "x": 2, "at": 1}', '{"event":"n","x":1e999,"at":1}', '{"event":"n","x":NaN,"at":1}',
         "", " ", "{", '{"event":"n","x":"\\ud800","at":1}', '{"event":"n","x":1,"at":"1970-01-01T00:00:05Z"}',
         '{"event":"n","x":"a\\":1","at":1}', '{"event":"n","x":-0,"at":-0.0}']
    ),
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(TEXTS, max_size=4))
@example(['{"event": "n", "x": 1, "at": "never"}'])
def test_the_quick_way_reads_what_the_reader_of_files_reads(texts: list[str]) -> None:
    """Both give the same events and refuse the same rows; engines see to types in the same way."""
    program = etalis.compile(PROGRAM)
    known = KnownEvents(program.compiled, BodyOptions(), by_clock=False)
    body = Body(b"", known, lambda: 0, False, ServiceLimits())
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    quick = list(JsonRows(body).read_texts(encoded))
    parts = JsonRows(body).read_lines(b"\n".join(encoded))
    together = [row for part in parts for row in (part if isinstance(part, list) else [part])]
    slow = list(read_json_lines(texts, "body", known.reading()))
    wanted = [outcome(program, row) for row in slow]
    assert [outcome(program, row) for row in quick] == wanted
    assert [outcome(program, row) for row in together] == wanted


def outcome(program: etalis.Program, row: Any) -> Any:
    """Return what an engine reads of a row, or that it takes none."""
    if isinstance(row, Bad):
        return "refused"
    if isinstance(row, Row):
        event = row.event
        return event.name, event.start_time, event.end_time, event.args, tuple(map(type, event.args))
    try:
        name, values, start, end, _ = program.engine().core.inputs.row(row)
    except etalis.EtalisError:
        return "refused"
    return name, start, end, values, tuple(map(type, values))


EVENTS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.integers(0, 2)), max_size=40)


@pytest.fixture(scope="module")
def rules() -> str:
    return """
        :- set_flag(event_consumption_policy, chronological).
        c(X, Y) <- (a(X) seq b(Y)) within 9.
        d(X, N) <- a(X) seq b(X) where N is X + 1.
        e(X) <- c(X, _) seq (not a(X) within 3).
    """


@settings(max_examples=25)
@given(steps=EVENTS, cuts=st.lists(st.integers(1, 12), min_size=1, max_size=5))
def test_the_service_gives_what_the_engine_gives(rules: str, steps: list[Any], cuts: list[int]) -> None:
    """However the rows are parted into batches, and whatever another engine is sent meanwhile."""
    moment, rows = 0, []
    for name, value, pause in steps:
        moment += pause
        rows.append((name, value, moment))
    engine = etalis.compile(rules).engine(on_dead_letter=lambda _: None)
    wanted = [match.to_dict() for match in engine.run(rows)]

    async def run() -> list[Any]:
        service = Service(public_url=URL)
        async with served(service):
            mine = await service.create(EngineSpec(program=rules))
            other = await service.create(EngineSpec(program=rules))
            tasks, start = [], 0
            for number in range(len(rows)):
                size = cuts[number % len(cuts)]
                tasks += [mine.take(rows[start : start + size]), other.take([("a", 1, number)])]
                start += size
            await asyncio.gather(*tasks)
            return [entry.event.to_dict() for entry in mine.matches.after(0)[0]]

    assert asyncio.run(run()) == wanted


def test_what_was_found_before_a_fault_is_delivered() -> None:
    """A fault of ours ends the batch; the match of the row before it has a number all the same."""

    class Broken:
        def __init__(self, real: HostedEngine) -> None:
            self.real = real
            self.followed: frozenset[Any] = frozenset()
            self.counts, self.letters = real.counts, real.letters
            self.advance_now, self.stamped, self.received = real.advance_now, real.stamped, real.received
            self.is_new, self.next_due, self.deliver = real.is_new, real.next_due, real.deliver

        def run_now(self, rows: Any) -> Any:
            yield from self.real.run_now(iter([next(rows)]))
            next(rows)
            raise ZeroDivisionError

    async def run() -> None:
        service = Service(public_url=URL)
        async with served(service):
            engine = await service.create(EngineSpec(program="c(X) <- a(X).", name="e"))
            answer: asyncio.Future[Taken] = asyncio.get_running_loop().create_future()
            rows = [("a", 1, 1), ("a", 2, 2), ("a", 3, 3)]
            batch = EventBatch(Broken(engine), as_parts(rows), answer, stamp=None, matches=True)
            service.worker.submit(engine.actor, batch)
            with pytest.raises(ZeroDivisionError):
                await answer
            assert [str(entry.event) for entry in engine.matches.after(0)[0]] == ["c(1) [1, 1]"]
            assert (await engine.take([("a", 4, 4)])).taken == 1

    asyncio.run(run())
