"""What can be asked of a service and of its engines, once for both clients: generators of requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlsplit

from etalis.client.exchange import OutgoingRequest, Steps, attempt, get, post, service_call
from etalis.client.rows import bodies, events_of, plain_moment
from etalis.errors import OptionError, Problem, Source
from etalis.temporal.event import Event
from etalis.temporal.json_values import from_plain

E = TypeVar("E")
Xml = str | bytes


class EngineCalls:
    """What can be asked of an engine."""

    name: str

    @property
    def path(self) -> str:
        """Where the engine stands."""
        return f"/engines/{quote(self.name, safe='')}"

    @service_call
    def push(self, event: str | Event, /, *args: Any, at: Any = None, **named: Any) -> Steps[tuple[Event, ...]]:
        """Send one event, and return the complex events that it caused."""
        row = event if isinstance(event, Event) else _row(event, args, at, named)
        return events_of((yield from self._send(*next(bodies([row], 1, {})), {})), 0, None)

    @service_call
    def send(self, media: str, body: bytes, /, **how: str) -> Steps[Mapping[str, Any]]:
        """Send a body of events of some content type; return what became of it, as the service says it."""
        return (yield from self._send(media, body, how))

    def _send(self, media: str, body: bytes, how: Mapping[str, str]) -> Steps[Mapping[str, Any]]:
        request = OutgoingRequest("POST", f"{self.path}/events", how, body, {"Content-Type": media})
        found: Mapping[str, Any] = (yield from attempt(request)).plain()
        return found

    @service_call
    def query(self, goal: str, limit: int = 1_000) -> Steps[list[dict[str, Any]]]:
        """Return the first solutions of a goal: the values of its variables."""
        found = yield from post(f"{self.path}/query", {"goal": goal, "limit": limit})
        return [{name: from_plain(value) for name, value in row.items()} for row in found["answers"]]

    @service_call
    def why(self, match: Event | int) -> Steps[str]:
        """Return why a match occurred, in words; a match is told by its number, too."""
        asked = {"number": match} if isinstance(match, int) else {"match": match.to_dict()}
        found: str = (yield from post(f"{self.path}/why", asked))["text"]
        return found

    @service_call
    def why_not(self, kind: str, between: tuple[Any, Any] | None = None, *, repair: bool = False) -> Steps[str]:
        """Return why an event did not occur, in words: of a kind, `fraud/2`, or a pattern, `fraud(c1, _)`."""
        when = {} if between is None else {"from": plain_moment(between[0]), "to": plain_moment(between[1])}
        found: str = (yield from post(f"{self.path}/why-not", {"kind": kind, "repair": repair, **when}))["text"]
        return found

    @service_call
    def partial(self, rule: str | None = None, limit: int = 100) -> Steps[list[dict[str, Any]]]:
        """Return the patterns that have begun, the fullest first."""
        asked = {"limit": str(limit)} | ({} if rule is None else {"rule": rule})
        found: list[dict[str, Any]] = (yield from get(f"{self.path}/partial", **asked))["partial"]
        return found

    @service_call
    def state(self) -> Steps[list[dict[str, Any]]]:
        """Return what the engine holds on to, by rule and operator."""
        found: list[dict[str, Any]] = (yield from get(f"{self.path}/state"))["waiting"]
        return found

    @service_call
    def info(self) -> Steps[dict[str, Any]]:
        """Return what the service tells of the engine: its policy, its time, the kinds of its events."""
        found: dict[str, Any] = yield from get(self.path)
        return found

    @service_call
    def explain(self, form: str = "text") -> Steps[str]:
        """Return the plan of the rules: text, svg, or json."""
        answer = yield from attempt(OutgoingRequest("GET", f"{self.path}/explain", {"form": form}))
        return answer.body.decode()

    @service_call
    def advance(self, *, to: Any) -> Steps[tuple[Event, ...]]:
        """Say that nothing more will end at or before `to`; return what that settles."""
        found = yield from post(f"{self.path}/advance", {"to": plain_moment(to)})
        return events_of(found, 0, None)

    @service_call
    def close(self) -> Steps[tuple[Event, ...]]:
        """End the stream: all deadlines pass, and nothing more is taken."""
        return events_of((yield from post(f"{self.path}/close")), 0, None)

    @service_call
    def reset(self) -> Steps[None]:
        """Drop all that waits; rules, knowledge and time stay."""
        yield from post(f"{self.path}/reset")

    @service_call
    def insert_rule(self, rule: str) -> Steps[str]:
        """Add a rule, effective for later events; return its label."""
        found = yield from post(f"{self.path}/rules", {"rules": rule}, Source("<rule>", rule))
        label: str = found["labels"][0]
        return label

    @service_call
    def delete_rule(self, label: str) -> Steps[int]:
        """Delete the rules of a label; return how many there were."""
        request = OutgoingRequest("DELETE", f"{self.path}/rules/{quote(str(label), safe='')}")
        found: int = (yield from attempt(request)).plain()["deleted"]
        return found

    @service_call
    def snapshot(self) -> Steps[bytes]:
        """Return all that the engine knows: `etalis.Program.restore` goes on from it."""
        return (yield from attempt(OutgoingRequest("GET", f"{self.path}/snapshot"))).body

    @service_call
    def delete(self) -> Steps[None]:
        """Delete the engine."""
        yield from attempt(OutgoingRequest("DELETE", self.path))


def _row(name: str, args: tuple[Any, ...], at: Any, named: Mapping[str, Any]) -> Any:
    """Return an event as a row; without a time it happens when it arrives, where the engine has that time."""
    if args and named:
        hint = "give all attributes by position, or all by name"
        raise OptionError(Problem("E302", f"{name}: some attributes have names and some have none", hint=hint))
    times = {} if at is None else {"start": at[0], "end": at[1]} if isinstance(at, tuple) else {"at": at}
    if named:
        return {"event": name, **named, **times}
    return {"event": name, "args": list(args), **times}


class ServiceCalls(Generic[E]):
    """What can be asked of a service; `E` is an engine of it."""

    def engine(self, name: str) -> E:
        """Return an engine by its name, which nobody is asked for yet."""
        raise NotImplementedError

    @service_call
    def create(
        self, program: str, /, *, name: str | None = None, policy: str | None = None, language: str = "rules",
        time: str | None = None, scratch: bool = False, background: str | None = None, **flags: Any,
    ) -> Steps[E]:  # fmt: skip
        """Make an engine of a program's text, and return it."""
        asked = {"program": program, "name": name, "policy": policy, "language": language, "time": time,
                 "scratch": scratch, "background": background, "flags": flags}  # fmt: skip
        given = {key: value for key, value in asked.items() if value is not None}
        made = yield from post("/engines", given, Source(name or "<program>", program))
        return self.engine(made["name"])

    @service_call
    def engines(self) -> Steps[list[E]]:
        """Return the engines of the service."""
        found = yield from get("/engines")
        return [self.engine(each["name"]) for each in found["engines"]]

    @service_call
    def check(self, program: str, language: str = "rules") -> Steps[dict[str, Any]]:
        """Return the problems, kinds of events and rules of a program's text."""
        found: dict[str, Any] = yield from post("/check", {"program": program, "language": language})
        return found

    @service_call
    def health(self) -> Steps[dict[str, Any]]:
        """Return what the service says of itself."""
        found: dict[str, Any] = yield from get("/health")
        return found

    # expressions of SNOOP-R

    @service_call
    def register(self, expression: Mapping[str, Any] | Xml, callback: str | None = None) -> Steps[dict[str, Any]]:
        """Register an expression, in JSON or XML; return its evaluation, and those of its leaves."""
        if isinstance(expression, Mapping):
            asked = dict(expression) if callback is None else {"expression": dict(expression), "callback": callback}
            found: dict[str, Any] = yield from post("/snoop/expressions", asked)
            return found
        if callback is not None:
            hint = '<register callback="...">expression</register>'
            raise OptionError(Problem("E338", "register has no option callback for XML", hint=hint))
        data = expression.encode() if isinstance(expression, str) else expression
        headers = {"Content-Type": "application/xml", "Accept": "application/json"}
        request = OutgoingRequest("POST", "/snoop/expressions", {}, data, headers)
        made: dict[str, Any] = (yield from attempt(request)).plain()
        return made

    @service_call
    def signal(self, signals: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Steps[dict[str, Any]]:
        """Signal instances, one or several in order; return how many were taken, matched, discarded."""
        found: dict[str, Any] = yield from post("/snoop/signals", signals)
        return found

    @service_call
    def results(self, evaluation: str, after: int = 0, wait: float = 0) -> Steps[dict[str, Any]]:
        """Return the results of an expression after a number, or wait some seconds for one."""
        path = f"{_path_of(evaluation)}/results"
        found: dict[str, Any] = yield from get(path, after=str(after), wait=f"{wait:g}")
        return found

    @service_call
    def expressions(self) -> Steps[list[dict[str, Any]]]:
        """Return the own expressions."""
        found: list[dict[str, Any]] = (yield from get("/snoop/expressions"))["expressions"]
        return found

    @service_call
    def expression(self, evaluation: str) -> Steps[dict[str, Any]]:
        """Return the tree and the state of an expression."""
        found: dict[str, Any] = yield from get(_path_of(evaluation))
        return found

    @service_call
    def unregister(self, evaluation: str) -> Steps[None]:
        """Remove an expression."""
        yield from attempt(OutgoingRequest("DELETE", _path_of(evaluation)))


def _path_of(evaluation: str) -> str:
    """Return the path of an evaluation, which is a URI.

    >>> _path_of("https://engine.example/snoop/expressions/7"), _path_of("7")
    ('/snoop/expressions/7', '/snoop/expressions/7')
    """
    path = urlsplit(str(evaluation)).path
    return path if "/" in path else f"/snoop/expressions/{quote(path, safe='')}"
