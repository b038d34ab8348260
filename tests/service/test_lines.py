"""Sessions of lines in the process: terms and JSON, answers in order, matches behind what caused them."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest

from etalis.service.access import TokenFile
from etalis.service.host import EngineSpec
from etalis.service.limits import ServiceLimits
from helpers.service import StandingClock
from helpers.sessions import PROGRAM, Conversation, talking


def in_session(check, program: str = PROGRAM, **options) -> None:
    """Check a conversation with an engine."""

    async def run() -> None:
        async with talking(program, **options) as talk:
            await asyncio.wait_for(check(talk), 30)

    asyncio.run(run())


def test_case_23_matches_follow_the_answers_to_what_caused_them() -> None:
    async def check(talk: Conversation) -> None:
        program = "c(X) <- a(X) seq b(X)."
        await talk.service.create(EngineSpec(program=program, name="case", time="clock"))
        answers = await talk.say("use(case).\nsubscribe(c/1).\nevent(a(1)).\nevent(b(1)).\n", 5)
        assert answers[:4] == ["ok."] * 4
        assert answers[4] == "match(c(1), [1, 1.000001])."

    in_session(check, clock=StandingClock(1_000_000))


def test_each_request_of_terms_has_its_answer() -> None:
    async def check(talk: Conversation) -> None:
        assert await talk.say("ping.\n") == ["pong."]
        assert await talk.say("event(a(1), 1). event(a(2), [2, 3]).\n", 2) == ["ok.", "ok."]
        assert await talk.say("query(member(X, [1, 'b c', f(1.5)])).\n") == [
            "answer([['X'=1],['X'='b c'],['X'=f(1.5)]])."
        ]
        assert await talk.say("query(member(X, [1, 2]), 1).\n") == ["answer([['X'=1]], more)."]
        assert await talk.say("query(fail). query(true).\n", 2) == ["answer([]).", "answer([[]])."]
        assert await talk.say("d(X) <- c(X).\n") == ["ok."]
        assert await talk.say("subscribe([c/1, d/1]). event(b(1), 4).\n", 4) == [
            "ok.", "ok.", "match(c(1), [1, 4]).", "match(d(1), [1, 4]).",
        ]  # fmt: skip
        assert (await talk.say("why(c(1)).\n"))[0].startswith("answer('c(1) [1, 4]   by rule 1")
        assert "no event a(7) has come" in (await talk.say("why_not(c(7), [0, 9]).\n"))[0]
        assert await talk.say("partial.\n") == ["answer('rule 1: a(2); awaited: b(2)\\nrule 1: a(1); awaited: b(1)')."]
        assert await talk.say("unsubscribe(d/1). event(b(1), 5).\n", 3) == ["ok.", "ok.", "match(c(1), [1, 5])."]
        assert await talk.say("reset_db. event(b(2), 6). advance(20).\n", 3) == ["ok.", "ok.", "ok."]
        assert await talk.say("del_event_rule(2). unsubscribe(all). halt. ping.\n", 9) == ["ok.", "ok.", "ok."]
        assert talk.session.dialect.name == "terms"

    in_session(check)


def test_what_cannot_be_done_is_answered_and_the_session_goes_on() -> None:
    async def check(talk: Conversation) -> None:
        wrong = {
            "foo(1).": "E841", "even(a).": "E841", "query(foo(X)).": "E506", "event(a(1), noon).": "E843",
            "a(.": "E108", "query(X, many).": "E841", "subscribe(a).": "E306", "use(nobody).": "E820",
            "advance(noon).": "E404",
            "c(X, Y) <- a(X).": "E204", "del_event_rule(nobody).": "E230", "query(loop(.)).": "E", "X.": "E841",
            "event(a('open.": "E", "event(a(1), 5). % comment. ping.": "ok", "p(1) :- q.": "E841", "token(t).": "ok",
        }  # fmt: skip
        for request, code in wrong.items():
            (answer,) = await talk.say(f"{request}\n")
            assert answer.startswith("ok." if code == "ok" else f"error('{code}"), (request, answer)
        assert await talk.say("ping.\n") == ["pong."]

    in_session(check)


def test_an_event_that_is_late_or_wrong_refuses_itself_alone() -> None:
    async def check(talk: Conversation) -> None:
        answers = await talk.say("event(a(1), 5). event(a(2), 4). event(a(3), x). event(a(4), 6). event(a(5), 5).\n", 5)
        assert [answer[:12] for answer in answers] == ["ok.", "error('E843'", "error('E843'", "ok.", "error('E843'"]
        assert "it ends at 4, but time has reached 5" in answers[1]
        assert "expected a time, found x" in answers[2]

    in_session(check)


def test_events_without_a_time_follow_each_other() -> None:
    async def check(talk: Conversation) -> None:
        answers = await talk.say("subscribe(c/1). event(a(1), 5). event(b(1)). event(b(1)).\n", 6)
        assert answers == ["ok.", "ok.", "ok.", "ok.", "match(c(1), [5, 5.001]).", "match(c(1), [5, 5.002])."]

    in_session(check)


def test_requests_are_cut_at_full_stops_however_bytes_come() -> None:
    async def check(talk: Conversation) -> None:
        for byte in "event(a('é. \\'. '), 1.5). /* ping. */ query(X = 'a.b'). % ping.\n".encode():
            talk.write(bytes([byte]))
        assert await talk.read(2) == ["ok.", "answer([['X'='a.b']])."]
        talk.write("ping.")
        await talk.end()
        assert await talk.read(1) == ["pong."]

    in_session(check)


def test_json_lines() -> None:
    async def check(talk: Conversation) -> None:
        async def say(*records: object, lines: int = 1) -> list[object]:
            text = "".join(f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records)
            return [json.loads(line) for line in await talk.say(text, lines)]

        assert await say({"ping": True}) == [{"pong": True}]
        events = [{"event": "a", "at": 1, "args": [1]}, {"event": "b", "at": "1970-01-01T00:00:02Z", "args": [1]}]
        found = await say({"subscribe": "c/1"}, *events, lines=4)
        match = {"event": "c", "X": 1, "start": 1, "end": 2, "rule": "1"}
        assert found == [{"ok": True}] * 3 + [{"number": 1, "sign": 1, "match": match}]
        assert await say({"query": "member(X, [1, f(2)])", "limit": 1}) == [{"answer": [{"X": 1}], "more": True}]
        assert await say({"query": "X = f(2)"}) == [{"answer": [{"X": {"name": "f", "args": [2]}}], "more": False}]
        for wrong, code in (({"query": 3}, "E841"), ({}, "E841"), ("[1]", "E841"), ("{", "E402"),
                            ({"use": "x"}, "E820"), ({"event": 3}, "E843"), ({"ping": 1}, "E841"),
                            ({"ping": True, "halt": True}, "E841"),
                            ({"advance": "noon"}, "E303"), ({"event": "a"}, "E843"), ("{" * 2000, "E402"),
                            ({"subscribe": "a"}, "E306"), ({"subscribe": "a/1", "after": -1}, "E841")):  # fmt: skip
            (answer,) = await say(wrong)
            assert answer["error"]["code"] == code, (wrong, answer)
        assert await say({"unsubscribe": True}, {"reset_db": True}, {"halt": True}, lines=3) == [{"ok": True}] * 3
        assert await talk.end() == ""

    in_session(check)


def test_a_subscription_may_begin_in_the_past_and_tells_what_is_lost() -> None:
    async def check(talk: Conversation) -> None:
        events = "".join(f"event(a({i}), {i}). event(b({i}), {i}.5).\n" for i in range(6))
        await talk.say(events, 12)
        answers = await talk.say("subscribe(c/1, 0).\n", 4)
        assert answers == ["ok.", "gap(5).", "match(c(4), [4, 4.5]).", "match(c(5), [5, 5.5])."]
        assert await talk.say("subscribe(all, 5).\n", 2) == ["ok.", "match(c(5), [5, 5.5])."]

    in_session(check, limits=ServiceLimits(kept=2))


def test_matches_that_others_cause_come_by_themselves() -> None:
    async def check(talk: Conversation) -> None:
        other = Conversation(talk.service)
        await talk.say("subscribe(all).\n")
        assert await other.say("event(a(1), 1). event(b(1), 2).\n", 2) == ["ok.", "ok."]
        assert await talk.read(1) == ["match(c(1), [1, 2])."]
        assert await other.end() == ""
        await talk.service.delete("main")
        assert await talk.read(1) == ["end(main)."]
        assert (await talk.say("event(a(1), 1).\n"))[0].startswith("error('E840', 'main has ended")

    in_session(check)


def test_received_kinds_that_are_named_are_told() -> None:
    async def check(talk: Conversation) -> None:
        answers = await talk.say("subscribe(a/1). event(a(1), 1). event(b(1), 2).\n", 4)
        assert answers == ["ok.", "ok.", "ok.", "match(a(1), [1, 1])."]

    in_session(check)


def test_streams_are_counted_while_they_are_read() -> None:
    async def check(talk: Conversation) -> None:
        for _ in range(3):
            assert await talk.say("subscribe(all). subscribe(a/1). unsubscribe(all).\n", 3) == ["ok."] * 3
        assert talk.service.streams == 0
        await talk.say("subscribe(all).\n")
        other = Conversation(talk.service)
        assert (await other.say("subscribe(all).\n"))[0].startswith("error('E827'")
        await talk.end()
        assert await other.say("subscribe(all).\n") == ["ok."]
        await other.end()
        assert talk.service.streams == 0

    in_session(check, limits=ServiceLimits(streams=1))


def test_blank_lines_may_come_for_ever() -> None:
    async def check(talk: Conversation) -> None:
        for _ in range(20):
            talk.write(b"\n \r\n" * 100)
        assert await talk.say("ping.\n") == ["pong."]
        for _ in range(20):
            talk.write(b"\n \r\n" * 100)
        assert await talk.say("ping.\n") == ["pong."]

    in_session(check, limits=ServiceLimits(line=1_000))


def test_several_engines_are_told_apart_by_their_names() -> None:
    async def check(talk: Conversation) -> None:
        await talk.service.create(EngineSpec(program=PROGRAM, name="second"))
        (answer,) = await talk.say("event(a(1), 1).\n")
        assert answer == "error('E840', 'no engine is used; say use(name). first; there are: main, second')."
        assert await talk.say("use(second). event(a(1), 1).\n", 2) == ["ok.", "ok."]

    in_session(check)


@pytest.mark.parametrize(
    "first", ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST /engines HTTP/1.1\r\n", "  OPTIONS * HTTP/1.1\n"]
)
def test_a_first_line_of_http_ends_the_session_without_a_word(first: str) -> None:
    async def check(talk: Conversation) -> None:
        talk.write(f"{first}event(a(1), 1). halt.\n")
        await talk.task
        assert talk.carrier.written == b""
        assert talk.service.engine("main").counts.events == 0

    in_session(check)


def test_a_request_that_is_too_long_ends_the_session() -> None:
    async def check(talk: Conversation) -> None:
        for _ in range(11):
            talk.write("x" * 100)
        answers = await talk.read(9)
        assert [answer[:12] for answer in answers] == ["error('E842'"]

    in_session(check, limits=ServiceLimits(line=1_000))


def test_a_json_line_that_is_too_long_ends_the_session() -> None:
    async def check(talk: Conversation) -> None:
        talk.write('{"ping": true}\n{"query": "' + "x" * 1_000 + '"}\n{"ping": true}\n')
        answers = [json.loads(line) for line in await talk.read(9)]
        assert [answer.get("pong") or answer["error"]["code"] for answer in answers] == [True, "E842"]

    in_session(check, limits=ServiceLimits(line=1_000))


def test_where_there_are_tokens_one_comes_first(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("ann s3cr3t read,signal\nroot t0p admin\n")

    async def check(talk: Conversation) -> None:
        assert (await talk.say("event(a(1), 1).\n"))[0].startswith("error('E830', 'the session has no token yet")
        assert await talk.say("ping.\n") == ["pong."]
        assert (await talk.say("token(wrong).\n"))[0].startswith("error('E830', 'nobody has this token")
        await talk.service.create(EngineSpec(program=PROGRAM, name="open"))
        assert await talk.say("token('s3cr3t'). use(open). event(a(1), 1).\n", 3) == ["ok.", "ok.", "ok."]
        assert (await talk.say("reset_db.\n"))[0].startswith("error('E831'")
        assert await talk.say("token(t0p). reset_db.\n", 2) == ["ok.", "ok."]
        other = Conversation(talk.service)
        answers = await other.say("token(a). token(b). token(c). token(t0p).\n", 9)
        assert len(answers) == 3  # the third wrong one ends it
        assert other.task.done()

    in_session(check, tokens=TokenFile(tokens))


def test_goals_are_asked_of_ones_own_engines_alone(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("ann s3cr3t read,signal,write\n")

    async def check(talk: Conversation) -> None:
        await talk.service.create(EngineSpec(program="known(1).", name="other"))
        await talk.say("token('s3cr3t'). use(other).\n", 2)
        assert (await talk.say("query(assertz(known(2))).\n"))[0].startswith(
            "error('E831', 'the engine other is not of"
        )
        assert len(await talk.service.engine("other").query("known(X)")) == 1

    in_session(check, tokens=TokenFile(tokens))


def test_a_client_that_takes_no_matches_is_let_go() -> None:
    async def check(talk: Conversation) -> None:
        other = Conversation(talk.service)
        await talk.say("subscribe(all).\n")
        talk.carrier.open.clear()
        for i in range(30):
            await other.say(f"event(a({i}), {i}). event(b({i}), {i}.5).\n", 2)
        await asyncio.wait_for(talk.task, 10)
        assert talk.carrier.aborted
        assert await other.end() == ""

    in_session(check, limits=ServiceLimits(behind=10))


def test_who_reads_is_not_let_go_because_others_are_busy() -> None:
    async def check(talk: Conversation) -> None:
        others = [Conversation(talk.service) for _ in range(20)]
        for other in others:
            assert await other.say("subscribe(all).\n") == ["ok."]
        for i, other in enumerate(others):
            other.write("".join(f"event(v({i}, {j})).\n" for j in range(30)))
        for other in others:
            answers = await other.read(30 + 600)
            assert answers.count("ok.") == 30
            assert sum(answer.startswith("match(") for answer in answers) == 600
            assert not other.carrier.aborted
        assert talk.service.engine("main").matches.last == 600
        for other in others:
            other.carrier.incoming.put_nowait(b"")
            await other.task

    in_session(check, "hit(X, Y) <- v(X, Y).", time="clock", limits=ServiceLimits(behind=5))


def test_a_queue_that_is_full_slows_a_session_down_and_refuses_nothing() -> None:
    async def check(talk: Conversation) -> None:
        others = [Conversation(talk.service) for _ in range(5)]
        for i, other in enumerate(others):
            other.write("".join(f"event(a({i}), 1).\n" for _ in range(40)))
        assert [await other.read(40) for other in others] == [["ok."] * 40] * 5
        for other in others:
            await other.end()

    in_session(check, limits=ServiceLimits(queue_requests=2))


@pytest.mark.parametrize("seed", range(12))
def test_whatever_comes_is_answered_or_ends_the_session_cleanly(seed: int) -> None:
    draw = random.Random(seed)
    words = [
        "event", "(", ")", "a(1)", ".", ".\n", "\n", "'", '"', "{", "}", '"event"', ":", "[", "]", "query", "subscribe",
        "/", "1", "X", "<-", "seq", ",", "\\", "\x00", "\u2028", "use", "advance", "%", "/*", "*/", '{"ping": true}\n',
        "ping.\n", "0'", "true", "null", "-", "1e999", "é", "token", ":-", "why", "del_event_rule", "all",
        '"subscribe"', "event(a(",
    ]  # fmt: skip

    async def check(talk: Conversation) -> None:
        for _ in range(40):
            other = Conversation(talk.service)
            text = "".join(draw.choice(words) for _ in range(draw.randint(1, 40))).encode()
            if draw.random() < 0.3:
                text = bytes(draw.choice([b, draw.randrange(256)]) if draw.random() < 0.1 else b for b in text)
            cut = draw.randint(0, len(text))
            other.write(text[:cut] or b"\n")
            other.write(text[cut:] or b"\n")
            written = await other.end()
            assert other.task.exception() is None, text
            assert "E901" not in written, (text, written)
            for line in written.splitlines():
                assert json.loads(line) if line.startswith("{") else line.endswith("."), (text, line)

    in_session(check)
