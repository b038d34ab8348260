"""What can be asked for in a session, as a table: names, scopes, arguments as terms and in JSON, and what does it.

Both dialects have the same verbs. A rule that is sent as it is, `c(X) <- a(X) seq b(X).`, is a verb too.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from etalis.data.values import format_value, to_value
from etalis.formats.full_stops import read_typed
from etalis.formats.roles import Signature, signatures_of
from etalis.formats.terms import to_ground, to_moment, to_moments
from etalis.language import syntax as s
from etalis.language.check.spelling import suggest
from etalis.language.printer import print_item, print_term
from etalis.service.hosted_engine import HostedEngine
from etalis.service.kept import Kind
from etalis.service.lines import snoop_verbs
from etalis.service.matches import read_kinds
from etalis.service.problems import MalformedError

NAME = "<line>"
MOST_ANSWERS = 1_000
Said: TypeAlias = "str | tuple[Sequence[Mapping[str, Any]], bool] | type[Pong] | None"
Arguments: TypeAlias = dict[str, Any]


class Pong:
    """The answer to a ping."""


class LineHost(Protocol):
    """The session, as verbs see it."""

    @property
    def engine(self) -> HostedEngine:
        """The engine that is used."""

    @property
    def own(self) -> HostedEngine:
        """The same, where the client may change it."""

    def use(self, name: str) -> None:
        """Use another engine."""

    def authenticate(self, token: str) -> None:
        """Be the client of a token."""

    async def subscribe(self, kinds: frozenset[Kind] | None, after: int | None) -> None:
        """Send matches from now on."""

    def unsubscribe(self, kinds: frozenset[Kind] | None) -> None:
        """Send some matches no more."""

    def leave(self) -> None:
        """End the session."""


@dataclass(frozen=True, slots=True)
class LineVerb:
    """A row of the table: how its arguments are read from terms (by arity) and from JSON, and what it does."""

    name: str
    scope: str | None
    usage: str
    terms: Mapping[int, Callable[..., Arguments]]
    plain: Callable[[Any, Mapping[str, Any]], Arguments]
    does: Callable[..., Awaitable[Said]]


# what verbs do


async def _ask(on: LineHost, goal: str, limit: int = MOST_ANSWERS) -> Said:
    found = await on.own.query(goal, limit + 1)
    return found[:limit], len(found) > limit


async def _subscribe(on: LineHost, kinds: frozenset[Kind] | None, after: int | None = None) -> Said:
    await on.subscribe(kinds, after)
    return None


async def _unsubscribe(on: LineHost, kinds: frozenset[Kind] | None) -> Said:
    on.unsubscribe(kinds)
    return None


async def _advance(on: LineHost, to: Any) -> Said:
    await on.engine.advance(to)
    return None


async def _use(on: LineHost, name: str) -> Said:
    on.use(name)
    return None


async def _reset(on: LineHost) -> Said:
    await on.own.reset()
    return None


async def _ping(_: LineHost) -> Said:
    return Pong


async def _leave(on: LineHost) -> Said:
    on.leave()
    return None


async def _authenticate(on: LineHost, token: str) -> Said:
    on.authenticate(token)
    return None


async def _insert(on: LineHost, rule: str) -> Said:
    await on.own.insert_rules(rule)
    return None


async def _delete(on: LineHost, label: str) -> Said:
    await on.own.delete_rule(label)
    return None


async def _why(on: LineHost, question: str) -> Said:
    return str(await on.engine.why(question))


async def _why_not(on: LineHost, question: str, between: tuple[Any, Any] | None = None) -> Said:
    return str(await on.engine.why_not(question, between))


async def _partial(on: LineHost, rule: str | None = None) -> Said:
    found = await on.engine.partial(rule)
    rows = (f"rule {row.rule}: {', '.join(row.present)}; awaited: {', '.join(row.awaited)}" for row in found)
    return "\n".join(rows) or "no pattern has begun"


async def _kinds(on: LineHost) -> Said:
    found = signatures_of(on.engine.program.compiled)
    return [{name: to_value(value) for name, value in describe_kind(each).items()} for each in found], False


def describe_kind(kind: Signature) -> dict[str, Any]:
    """Return a kind of events that rules read, as plain data: what readers of files must know to read one.

    >>> describe_kind(Signature(("a", 1), None, variables=(frozenset({"X"}),)))["variables"]
    [['X']]
    """
    declared = None if kind.attributes is None else [list(each) for each in kind.attributes]
    variables = [sorted(names) for names in kind.variables]
    name, arity = kind.kind
    return {"name": name, "arity": arity, "attributes": declared, "variables": variables, "by_name": kind.by_name}


async def _explain(on: LineHost) -> Said:
    return str(await on.engine.explain("text"))


# how their arguments are read


def _nothing() -> Arguments:
    return {}


def _no_more(given: Any, _: Mapping[str, Any]) -> Arguments:
    if given is not True:
        raise _unfit(given, "true")
    return {}


def _goal_of(given: Any, record: Mapping[str, Any]) -> Arguments:
    limit = record.get("limit", MOST_ANSWERS)
    if not isinstance(given, str):
        raise _unfit(given, "the text of a goal")
    return {"goal": given, "limit": _count(limit)}


def _count(limit: Any) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_ANSWERS:
        raise _unfit(limit, f"a number from 1 to {MOST_ANSWERS}")
    return limit


def _kinds_of_term(term: s.Term) -> frozenset[Kind] | None:
    """Read `a/1`, `[a/1, b/2]` or `all`."""
    match term:
        case s.Const(value="all"):
            return None
        case s.ListTerm(items=items, tail=None):
            several = [_kinds_of_term(item) for item in items]
            return None if None in several else frozenset(kind for kinds in several if kinds for kind in kinds)
        case s.Compound(name="/", args=(s.Const(value=str() as name), s.Const(value=int() as arity))) if arity >= 0:
            return frozenset({(name, arity)})
        case _:
            raise MalformedError("E306", f"{print_term(term)} names no kind of event", "write name/arity, as in a/2")


def _kinds_of(given: Any) -> frozenset[Kind] | None:
    if given is True or given == "all":
        return None
    if isinstance(given, list) and all(isinstance(each, str) for each in given):
        given = ",".join(given)
    if not isinstance(given, str):
        raise _unfit(given, 'kinds of events: "a/1,b/2", or true for all that is detected')
    return read_kinds(given)


def _after(given: Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise _unfit(given, "the number of a match")
    return given


def _text_as(name: str) -> Callable[[Any, Mapping[str, Any]], Arguments]:
    def read(given: Any, _: Mapping[str, Any]) -> Arguments:
        if not isinstance(given, str):
            raise _unfit(given, "a text")
        return {name: given}

    return read


def _name_as(name: str) -> Callable[[s.Term], Arguments]:
    def read(term: s.Term) -> Arguments:
        value = to_ground(term)
        return {name: value if isinstance(value, str) else format_value(value)}

    return read


def _between_of(given: Any, record: Mapping[str, Any]) -> Arguments:
    between = record.get("between")
    if between is not None and not (isinstance(between, list) and len(between) == 2):
        raise _unfit(between, "a list of two times")
    return {**_text_as("question")(given, record), "between": None if between is None else tuple(between)}


def _when(question: s.Term, time: s.Term) -> Arguments:
    found = to_moments(time)
    return {"question": print_term(question), "between": found if isinstance(found, tuple) else (found, found)}


def _unfit(given: Any, expected: str) -> MalformedError:
    message = f"expected {expected}, found {json.dumps(given)[:80]}"
    return MalformedError("E841", message, "docs/service.md has the forms")


VERBS = (
    LineVerb("query", "write", "query(Goal).",
             {1: lambda goal: {"goal": print_term(goal)},
              2: lambda goal, limit: {"goal": print_term(goal), "limit": _count(to_ground(limit))}}, _goal_of, _ask),
    LineVerb("subscribe", "read", "subscribe(Name/Arity).",
             {1: lambda kinds: {"kinds": _kinds_of_term(kinds)},
              2: lambda kinds, after: {"kinds": _kinds_of_term(kinds), "after": _after(to_ground(after))}},
             lambda given, record: {"kinds": _kinds_of(given),
                                    "after": _after(record["after"]) if "after" in record else None}, _subscribe),
    LineVerb("unsubscribe", None, "unsubscribe(Name/Arity).", {1: lambda kinds: {"kinds": _kinds_of_term(kinds)}},
             lambda given, _: {"kinds": _kinds_of(given)}, _unsubscribe),
    LineVerb("advance", "signal", "advance(Time).", {1: lambda time: {"to": to_moment(time)}},
             lambda given, _: {"to": given}, _advance),
    LineVerb("use", "read", "use(Engine).", {1: _name_as("name")}, _text_as("name"), _use),
    LineVerb("reset_db", "write", "reset_db.", {0: _nothing}, _no_more, _reset),
    LineVerb("ping", None, "ping.", {0: _nothing}, _no_more, _ping),
    LineVerb("halt", None, "halt.", {0: _nothing}, _no_more, _leave),
    LineVerb("token", None, "token('...').", {1: _name_as("token")}, _text_as("token"), _authenticate),
    LineVerb("rule", "write", "Head <- Pattern.", {}, _text_as("rule"), _insert),
    LineVerb("del_event_rule", "write", "del_event_rule(Label).", {1: _name_as("label")}, _text_as("label"), _delete),
    LineVerb("why", "read", "why(Pattern).", {1: lambda question: {"question": print_term(question)}},
             _text_as("question"), _why),
    LineVerb("why_not", "read", "why_not(Pattern, [From, To]).",
             {1: lambda question: {"question": print_term(question)}, 2: _when}, _between_of, _why_not),
    LineVerb("partial", "read", "partial(Label).", {0: _nothing, 1: _name_as("rule")},
             lambda given, _: {"rule": None if given is True else _text_as("rule")(given, {})["rule"]}, _partial),
    LineVerb("kinds", "read", "kinds.", {0: _nothing}, _no_more, _kinds),
    LineVerb("explain", "read", "explain.", {0: _nothing}, _no_more, _explain),
    LineVerb("register", "write", "register('Expression').", {1: snoop_verbs.text_to_register},
             snoop_verbs.plain_to_register, snoop_verbs.register),
    LineVerb("signal", "signal", "signal(Operator, Language, [name = Value]).", {3: snoop_verbs.terms_to_signal},
             snoop_verbs.plain_to_signal, snoop_verbs.signal),
    LineVerb("signals", "signal", "signal(Operator, Language, [name = Value]).", {}, snoop_verbs.plain_to_signal,
             snoop_verbs.signal),
    LineVerb("results", "read", "results(Number, After).",
             {1: lambda number: {"number": snoop_verbs.number_of(number)},
              2: lambda number, after: {"number": snoop_verbs.number_of(number),
                                        "after": snoop_verbs.number_of(after)}},
             snoop_verbs.plain_results, snoop_verbs.results),
    LineVerb("unregister", "write", "unregister(Number).",
             {1: lambda number: {"number": snoop_verbs.number_of(number)}}, snoop_verbs.plain_number,
             snoop_verbs.unregister),
)  # fmt: skip
BY_NAME: Mapping[str, LineVerb] = MappingProxyType({verb.name: verb for verb in VERBS})
HELP = "docs/service.md lists what there is: event(a(1), Time). query(Goal). subscribe(Name/Arity). use(Engine). ..."


def read_term_verb(text: str) -> tuple[LineVerb | None, Arguments]:
    """Return what a clause asks for with its arguments; no verb for an event."""
    found = [*read_typed(text, NAME)]
    if len(found) != 1:
        raise MalformedError("E841", "nothing is asked for" if not found else "several clauses at once", HELP)
    match found[0]:
        case s.Rule() as rule:
            return BY_NAME["rule"], {"rule": print_item(rule)}
        case s.Compound(name="event", args=(_,) | (_, _)):
            return None, {}
        case s.Compound(name=name, args=args):
            pass
        case s.Const(value=str() as name):
            args = ()
        case other:
            raise MalformedError("E841", f"{_shown(other)} asks for nothing", HELP)
    verb = BY_NAME.get(name)
    if verb is None or len(args) not in verb.terms:
        known = suggest(name, [*BY_NAME, "event"])
        raise MalformedError("E841", f"{name}/{len(args)} is nothing that can be asked for", known or HELP)
    return verb, verb.terms[len(args)](*args)


def _shown(item: s.Item | s.Term) -> str:
    text = print_term(item) if isinstance(item, s.Var | s.Const | s.Compound | s.ListTerm) else print_item(item)
    return text if len(text) < 80 else f"{text[:80]}..."


def read_json_verb(text: str) -> tuple[LineVerb | None, Arguments]:
    """Return what a JSON text asks for with its arguments; no verb for an event."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedError("E402", f"not JSON: {error}", 'a line looks like {"query": "near(X, Y)"}') from None
    if not isinstance(record, dict):
        raise MalformedError("E841", "expected an object", 'a line looks like {"query": "near(X, Y)"}')
    if "event" in record:
        return None, {}
    named = [name for name in record if name in BY_NAME]
    if len(named) != 1:
        message = "nothing is asked for" if not named else f"several things are asked for: {', '.join(named)}"
        hint = f'a line has "event", or one of {", ".join(BY_NAME)}'
        raise MalformedError("E841", message, hint)
    verb = BY_NAME[named[0]]
    return verb, verb.plain(record[verb.name], record)
