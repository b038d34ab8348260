"""The worked examples of SNOOP-R against a live server: the same files as in process, by HTTP, in JSON and in XML.

One server has all examples of a way of time; each is moved to a time of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from etalis.service.evaluators.table import Provider
from etalis.service.expressions.opening import SnoopOptions
from etalis.service.expressions.snoop_service import SnoopSettings
from etalis.snoop import Contribution, ExpressionFailed, Result, write_json, write_xml
from etalis.snoop.markup import messages_json, messages_xml
from etalis.snoop.markup.xml_document import XmlDocument
from etalis.snoop.messages import EndMessage, FailureMessage, Message, ResultMessage, SignalMessage
from helpers.service import StandingClock, live
from helpers.snoop_examples import (
    PREFIXES,
    SHOP,
    GraphStep,
    LeafStep,
    PartStep,
    SnoopExample,
    Step,
    TypedStep,
    show_notice,
    show_occurrence,
    snoop_examples,
    with_prefixes,
)

EXAMPLES = list(snoop_examples())
GOOD = [example for example in EXAMPLES if example.error is None]
SECOND = 1_000_000
XML = {"content-type": "application/xml"}
NOBODY = "urn:example:nobody"


class LiveServer:
    """A server, the time that has passed on it, and how many signals it was sent."""

    def __init__(self, url: str, time: str) -> None:
        self.client = httpx.Client(base_url=url, trust_env=False)
        self.time = time
        self.shift = 0
        self.signals = 0
        self.client.put("/snoop/knowledge", content="newCD([]).", headers={"content-type": "text/plain"})

    def clear(self) -> None:
        """Leave nothing of an example that failed, and let time pass."""
        self.shift += 1_000_000 if self.time == "events" else 0
        for each in self.client.get("/snoop/expressions").json()["expressions"]:
            self.client.delete(each["evaluation"])


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, LiveServer]]:
    options = {
        time: SnoopOptions(settings=SnoopSettings(time=time), providers=(Provider(PREFIXES["push"], None),))
        for time in ("events", "clock")
    }
    with live(snoop=options["events"]) as events, live(snoop=options["clock"], clock=StandingClock(0)) as clock:
        found = {"events": LiveServer(events, "events"), "clock": LiveServer(clock, "clock")}
        yield found
        for server in found.values():
            server.client.close()


class LiveRun:
    """One example against a server."""

    def __init__(self, example: SnoopExample, server: LiveServer, *, xml: bool) -> None:
        server.clear()
        self.example = example
        self.server = server
        self.client = server.client
        self.xml = xml
        self.first = server.signals
        self.uris: dict[str, str] = {}
        self.gone: list[str] = []
        self.told: dict[str, list[str]] = {}
        self.events: list[str] = []
        for name in example.expressions:
            if name not in example.later:
                self.register(name)

    def document(self, name: str) -> tuple[str, dict[str, str]]:
        expression = self.example.read(name)
        text = write_xml(expression) if self.xml else write_json(expression)
        if PREFIXES["prolog"] not in self.example.provided:
            text = text.replace(PREFIXES["prolog"], NOBODY)
        return text, XML if self.xml else {"content-type": "application/json"}

    def register(self, name: str) -> None:
        text, headers = self.document(name)
        answer = self.client.post("/snoop/expressions", content=text, headers=headers)
        assert answer.status_code == 201, answer.text
        read = messages_xml.read_message(answer.content)[0] if self.xml else None
        self.uris[name] = answer.headers["location"]
        assert self.uris[name] == (answer.json()["evaluation"] if read is None else read.evaluation)

    def send(self, message: Message) -> dict[str, object]:
        if self.xml:
            answer = self.client.post("/snoop/signals", content=messages_xml.write_message(message), headers=XML)
        else:
            answer = self.client.post("/snoop/signals", json=messages_json.to_plain_message(message))
        assert answer.status_code == 200, answer.text
        if not self.xml:
            return answer.json()
        told = XmlDocument(answer.content).root
        discarded = [{"index": int(each.get("index")), "reason": each.text} for each in told]
        return {**{name: int(count) for name, count in told.attrib.items()}, "discarded": discarded}

    def at(self, step: TypedStep | LeafStep) -> str | None:
        return None if step.at is None else str(step.at + self.server.shift)

    def take(self, step: Step) -> None:
        match step:
            case TypedStep(operator=operator, parameters=parameters):
                answer = self.send(SignalMessage(operator, SHOP, parameters, at=self.at(step)))
                self.server.signals += 1
                assert answer["late"] == step.late
                assert step.matched in (None, answer["matched"]), step
            case LeafStep(name=name, path=path, tuples=tuples):
                signal = SignalMessage(evaluation=f"{self.uris[name]}/leaves/{path}", tuples=tuples, at=self.at(step))
                answer = self.send(signal)
                self.server.signals += 1
                reasons = [each["reason"] for each in answer["discarded"]]
                assert reasons == ([] if step.discarded is None else [step.discarded])
            case PartStep(verb="register", name=name):
                self.register(name)
            case PartStep(verb="unregister", name=name):
                self.collect(name)
                assert self.client.delete(self.uris[name]).status_code == 204
                assert self.client.delete(self.uris[name]).status_code == 404
            case PartStep(verb=verb, name=name, path=path):
                leaf = f"{self.uris[name]}/leaves/{path}"
                self.send(EndMessage(leaf) if verb == "end" else FailureMessage("E897", "provider", leaf))
            case GraphStep(kind=kind, labels=labels):
                nodes = self.client.get("/snoop/graph").json()["nodes"]
                chosen = [node for node in nodes if (node["kind"] == "composite") == (kind == "nodes")]
                several = ((node["label"], len(node["definitions"])) for node in chosen)
                assert tuple(sorted(f"{label}/{n}" if n > 1 else label for label, n in several)) == labels

    def collect(self, name: str) -> None:
        """Read what an expression has told, by polling."""
        form = {"accept": "application/xml" if self.xml else "application/json"}
        answer = self.client.get(f"{self.uris[name]}/results", headers=form)
        assert answer.status_code == 200
        self.gone.append(name)
        for number, message in enumerate(self.messages(answer), 1):
            notice = self.notice(message, number)
            self.told.setdefault(name, []).append(show_notice(name, notice))
            if isinstance(notice, Result) and notice.events is not None:
                self.events.append(show_occurrence(notice.events))

    def messages(self, answer: httpx.Response) -> list[Message]:
        if self.xml:
            document = XmlDocument(answer.content)
            return [messages_xml._message(document, element) for element in document.root]
        rows = answer.json()["results"]
        found = []
        for row in rows:
            kind = row.pop("kind")
            if kind == "failure":
                del row["number"]
            found += messages_json.read_message(json.dumps({kind: row}))
        return found

    def notice(self, message: Message, number: int) -> Result | ExpressionFailed:
        if isinstance(message, FailureMessage):
            return ExpressionFailed(message.code, message.text)
        assert isinstance(message, ResultMessage)
        assert message.number == number
        back = self.server.shift * SECOND
        start, end = (None if t is None else t - back for t in (message.start, message.end))
        events = None if message.events is None else self.renumbered(message.events)
        return Result(message.number, message.bindings or {}, start, end, events, message.next is None)

    def renumbered(self, occurrence: Contribution) -> Contribution:
        number, dot, rest = (occurrence.number or "").partition(".")
        own = f"{int(number) - self.first}{dot}{rest}" if number else None
        return replace(
            occurrence, number=own, arguments=tuple((n, self.renumbered(o)) for n, o in occurrence.arguments)
        )

    def finish(self) -> None:
        for step in self.example.steps:
            self.take(step)
        for name, uri in self.uris.items():
            if name not in self.gone:
                self.collect(name)
                assert self.client.delete(uri).status_code == 204
        expected: dict[str, list[str]] = {}
        for line in self.example.expect:
            expected.setdefault(line.partition(" ")[0], []).append(line)
        assert self.told == expected
        if self.example.events:
            assert sorted(self.events) == sorted(self.example.events)
        graph = self.client.get("/snoop/graph").json()
        assert graph["nodes"] == []


@pytest.mark.parametrize("xml", [False, True], ids=["json", "xml"])
@pytest.mark.parametrize("example", GOOD, ids=lambda e: e.number)
def test_an_example_against_a_server(example: SnoopExample, xml: bool, servers: dict[str, LiveServer]) -> None:
    LiveRun(example, servers[example.time], xml=xml).finish()


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.error is not None], ids=lambda e: e.number)
def test_a_broken_example_is_refused_whole(example: SnoopExample, servers: dict[str, LiveServer]) -> None:
    servers["events"].clear()
    client = servers["events"].client
    for text in example.expressions.values():
        media = "application/xml" if text.lstrip().startswith("<") else "text/plain"
        content = text if media == "application/xml" else with_prefixes(text)
        answer = client.post("/snoop/expressions", content=content, headers={"content-type": media})
        assert answer.status_code in (400, 422)
        assert all(code in answer.text for code in example.error.split())
        assert client.get("/snoop/expressions").json()["expressions"] == []
