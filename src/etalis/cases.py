"""Case files: a program, events and the events they make, in a few lines; text -> `Case` (docs/testing.md).

Ground atoms of `events:` and `expect:` are read here, by a reader of their own, so that an expectation never passes
through the code it judges. A malformed case is refused with file and line, never left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from etalis.errors import InputError, Problem
from etalis.logic.term import Struct, Value, real
from etalis.temporal.event import Event, Kind
from etalis.temporal.interval import to_time
from etalis.temporal.policy import POLICIES


@dataclass(frozen=True, slots=True)
class Advance:
    """Nothing more will end at or before `to` (microseconds)."""

    to: int


@dataclass(frozen=True, slots=True)
class Insert:
    """A rule that joins the program at this place of the stream."""

    rule: str


@dataclass(frozen=True, slots=True)
class Delete:
    """A label, or a rule's text, that leaves the program at this place of the stream."""

    rule: str


@dataclass(frozen=True, slots=True)
class Change:
    """A fact that comes (True) or goes (False) from outside, at a time (microseconds)."""

    known: bool
    name: str
    args: tuple[Value, ...]
    at: int


Step: TypeAlias = Event | Advance | Insert | Delete | Change


@dataclass(frozen=True, slots=True)
class Case:
    """One case: settings, sections, and where it stands."""

    id: str
    place: str
    policies: tuple[str | None, ...]
    options: tuple[tuple[str, Value], ...]
    settings: dict[str, str]
    program: str
    files: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]
    expect: tuple[Event, ...] | None
    errors: tuple[str, ...]
    reported: tuple[str, ...]
    warnings: tuple[str, ...]
    output: str | None

    @property
    def is_ordered(self) -> bool:
        return self.settings.get("ordered") == "yes"

    @property
    def is_closed(self) -> bool:
        return self.settings.get("close") != "no"

    @property
    def is_plain(self) -> bool:
        """Tell whether the steps are nothing but events."""
        return all(isinstance(step, Event) for step in self.steps)

    def admits(self, treatment: str) -> bool:
        """Tell whether the case's `only:` and `except:` lines let a treatment run."""
        only, without = (_names(self.settings.get(key, "")) for key in ("only", "except"))
        return treatment not in without and (not only or treatment in only)


_TOKEN = re.compile(
    r"""\s*(?:(?P<number>-?\d+(?:\.\d+(?:[eE][+-]?\d+)?)?)
        |(?P<quoted>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
        |(?P<name>[^\W\dA-Z_]\w*|\[\]|[-+*/<>=:]+)
        |(?P<sign>[(),\[\]]))""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "t": "\t"}


def read_value(text: str) -> Value:
    """Read a ground term as the value it stands for.

    >>> read_value("f('A b', [1, 2.0])")
    f('A b',[1,2.0])
    """
    tokens = _tokens(text)
    value, rest = _value(next(tokens), tokens)
    if rest is not None:
        raise ValueError(f"{rest[1]!r} after the end of a term in {text!r}")
    return value


_Lexeme: TypeAlias = tuple[str, str]


def _tokens(text: str) -> Iterator[_Lexeme]:
    place, text = 0, text.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise ValueError(f"no ground term: {text!r} at {text[place:]!r}")
        place = found.end()
        kind = found.lastgroup
        assert kind is not None
        yield kind, found[kind]


class _Named(Struct):
    """A term that is written `name: value`."""

    __slots__ = ()


def _value(token: _Lexeme, tokens: Iterator[_Lexeme]) -> tuple[Value, _Lexeme | None]:
    """Read one term that begins with `token`; return it and the token after it."""
    kind, text = token
    after = next(tokens, None)
    if kind == "number":
        return (real(float(text)) if "." in text else int(text)), after
    if token == ("sign", "["):
        items, after = _values(after, tokens, "]")
        return tuple(items), after
    if kind == "sign":
        raise ValueError(f"a term cannot begin with {text!r}")
    name = _unquote(text) if kind == "quoted" else text
    if after == ("sign", "("):
        args, after = _values(next(tokens, None), tokens, ")")
        return Struct(name, args), after
    if after == ("name", ":"):
        value, after = _value(_next(tokens), tokens)
        return _Named(":", [name, value]), after
    return (() if text == "[]" else name), after


def _next(tokens: Iterator[_Lexeme]) -> _Lexeme:
    token = next(tokens, None)
    if token is None:
        raise ValueError("a value is missing behind ':'")
    return token


def _values(token: _Lexeme | None, tokens: Iterator[_Lexeme], close: str) -> tuple[list[Value], _Lexeme | None]:
    values: list[Value] = []
    while token is not None and token != ("sign", close):
        value, token = _value(token, tokens)
        values.append(value)
        if token == ("sign", ","):
            token = next(tokens, None)
    if token is None:
        raise ValueError(f"{close!r} is missing")
    return values, next(tokens, None)


def _unquote(text: str) -> str:
    quote, inner = text[0], text[1:-1]
    inner = inner.replace(quote * 2, quote)
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), inner)


def read_event(line: str) -> Event:
    """Read `1 a(x)`, `1..3 a(x)` or, attributes by name, `1 a(card: x)` as an event.

    >>> read_event("1..2.5 a(1)"), read_event("1 a(card: x, amount: 5)")["amount"]
    (a(1) [1, 2.5], 5)
    """
    stamp, _, text = line.partition(" ")
    start, _, end = stamp.partition("..")
    value = read_value(text)
    name, args = (value.name, value.args) if isinstance(value, Struct) else (value, ())
    names = tuple(arg.args[0] for arg in args if isinstance(arg, _Named))
    if not names or len(names) < len(args):
        return Event.make(name, args, _time(start), _time(end or start))
    kind = Kind(name, len(args), None, names)
    return Event((_time(end or start), _time(start), kind, *(arg.args[1] for arg in args)))


def _time(text: str) -> int:
    return to_time(Fraction(text))


def _step(line: str) -> Step:
    word, _, rest = line.partition(" ")
    match word:
        case "advance":
            return Advance(_time(rest))
        case "insert":
            return Insert(rest)
        case "delete":
            return Delete(rest)
        case "assert" | "retract":
            fact, _, at = rest.rpartition(" at ")
            event = read_event(f"{at} {fact}")
            return Change(word == "assert", event.name, event.args, event.end_time)
        case _:
            return read_event(line)


_SECTION = re.compile(r"(program|events|expect|error|warning|output|file ([^:]+)):\s*$")
_SETTING = re.compile(r"(policy|flag|option|ordered|close|only|except):\s*(.*?)\s*$")


def read_cases(path: str | Path, root: str | Path | None = None) -> list[Case]:
    """Read all cases of a file; their names begin with its path below `root`, or with its name."""
    where = Path(path)
    prefix = (where.relative_to(root) if root is not None else Path(where.name)).with_suffix("").as_posix()
    try:
        lines = where.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise _refuse(f"{where}: {error}", "check its name") from None
    return _read_lines(lines, where, prefix)


def _read_lines(lines: list[str], path: Path, prefix: str) -> list[Case]:
    cases: list[Case] = []
    first = 0
    for number in [*(i for i, line in enumerate(lines) if line.rstrip() == "---"), len(lines)]:
        if any(line.strip() for line in lines[first:number]):
            case = _read_case(lines[first:number], f"{path.name}:{first + 1}", prefix)
            if any(case.id == other.id for other in cases):
                raise _refuse(f"{case.place}: a second case named {case.id}", "give it another name")
            cases.append(case)
        first = number + 1
    return cases


def _read_case(lines: list[str], place: str, prefix: str) -> Case:
    lines = [line.rstrip() for line in lines if line.strip()]
    if not lines[0].startswith("% "):
        raise _refuse(f"{place}: {lines[0]!r}", "the first line of a case is `% name: reason`")
    settings, sections = _divide(lines[1:], place)
    name = re.sub(r"\W+", "-", lines[0][2:].partition(":")[0].strip()).strip("-")
    errors = sections.get("error", [])
    try:
        steps = tuple(map(_step, _content(sections.get("events", []))))
        expect = tuple(map(read_event, _content(sections["expect"]))) if "expect" in sections else None
    except (ValueError, StopIteration) as error:
        raise _refuse(f"{place}: {error or 'a term is missing'}", "an event is `1 a(x)` or `1..3 a(x)`") from None
    if expect is None and not errors:
        raise _refuse(f"{place}: neither `expect:` nor `error:`", "say what is expected, perhaps nothing")
    flags = "".join(f":- set_flag({n}, {v}).\n" for n, v in _pairs(settings.get("flag", "")))
    return Case(
        id=f"{prefix}/{name}",
        place=place,
        policies=_policies(settings.get("policy"), place),
        options=tuple((n, _option(v)) for n, v in _pairs(settings.get("option", ""))),
        settings=settings,
        program=flags + "\n".join(sections.get("program", [])) + "\n",
        files=tuple((key[5:], "\n".join(text) + "\n") for key, text in sections.items() if key.startswith("file ")),
        steps=steps,
        expect=expect,
        errors=tuple(e for e in errors if not e.startswith("reported:")),
        reported=tuple(e.removeprefix("reported:").strip() for e in errors if e.startswith("reported:")),
        warnings=tuple(sections.get("warning", [])),
        output="".join(f"{line}\n" for line in sections["output"]) if "output" in sections else None,
    )


def _divide(lines: list[str], place: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Part a case into settings (of a repeated one, the lines joined by commas) and sections."""
    settings: dict[str, str] = {}
    sections: dict[str, list[str]] = {}
    section: list[str] | None = None
    for line in lines:
        if opened := _SECTION.match(line):
            section = sections.setdefault(opened[1], [])
        elif section is not None:
            section.append(line)
        elif setting := _SETTING.match(line):
            key, value = setting.groups()
            settings[key] = f"{settings[key]}, {value}" if key in settings else value
        else:
            raise _refuse(f"{place}: neither a setting nor a section: {line!r}", _KNOWN)
    return settings, sections


_NEXT = re.compile(r";\s+(?=[-\d]|advance|insert|delete|assert|retract)")


def _content(lines: Iterable[str]) -> list[str]:
    """Return what stands in the lines of a section, comments aside; `; ` parts several of it in one line."""
    return [part.strip() for line in lines if not line.startswith("%") for part in _NEXT.split(line)]


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(name.strip(), value.strip()) for name, _, value in (part.partition("=") for part in _names(text))]


def _option(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def _policies(text: str | None, place: str) -> tuple[str | None, ...]:
    if text is None:
        return (None,)
    names = tuple(POLICIES) if text == "all" else _names(text)
    if not set(names) <= set(POLICIES):
        raise _refuse(f"{place}: unknown policy in {text!r}", f"policies: {', '.join(POLICIES)}")
    return names


_KNOWN = "settings are policy, flag, option, ordered, close, only, except; sections program, events, expect, error"


def _refuse(message: str, hint: str) -> InputError:
    return InputError(Problem("E413", message, hint=hint))
