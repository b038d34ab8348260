"""Case files: a program, events and the events they derive, in a few lines; text -> `Case` (docs/testing.md).

A malformed case is refused with its line, never left out. What stands in `events:` and `expect:` is read by `atoms`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

from etalis.cases.atoms import read_event, read_time, read_value
from etalis.data.values import Value
from etalis.errors import InputError, Problem, Source, Span
from etalis.language.check.spelling import nearest, suggest
from etalis.language.read.imports import Reader, read_below, read_file
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES

__all__ = [
    "Advance",
    "Case",
    "Change",
    "Delete",
    "Files",
    "Insert",
    "Step",
    "find_case_files",
    "find_cases",
    "read_cases",
    "read_event",
    "read_events",
    "read_steps",
    "read_value",
    "reader_of",
]


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


Files: TypeAlias = tuple[tuple[str, str], ...]  # names and texts
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
    files: Files
    steps: tuple[Step, ...]
    expect: tuple[Event, ...] | None
    errors: tuple[str, ...]
    reported: tuple[str, ...]
    warnings: tuple[str, ...]
    output: str | None
    state: tuple[Value, ...] | None = None  # the facts of state predicates at the end, in order
    effects: tuple[str, ...] | None = None
    failures: tuple[str, ...] = ()
    source: str | None = None  # the file that the program begins with

    @property
    def origin(self) -> str | Path:
        """The program's text, or where `read` finds it."""
        return self.program if self.source is None else Path(self.source)

    @property
    def read(self) -> Reader:
        """What reads the files that the program is and imports: those of the case, and those below its own folder."""
        return reader_of(self.program, self.source, self.files)

    @property
    def refused(self) -> frozenset[str]:
        """The names of the effects that are refused."""
        return frozenset(_names(self.settings.get("refused", "")))

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


def reader_of(program: str, source: str | None, files: Files) -> Reader:
    """Return what reads files for a program that is text, or begins with the file `source`."""
    held = dict(files)
    if source is None:
        return held.get
    held[source], below = program, read_below(Path(source).parent)
    return lambda path: held[path] if path in held else below(path)


def read_step(line: str) -> Step:
    """Read a line of `events:`: an event, or `advance`, `insert`, `delete`, `assert`, `retract`."""
    word, _, rest = line.partition(" ")
    match word:
        case "advance":
            return Advance(read_time(rest))
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


_NEXT = re.compile(r";\s+(?=[-\d]|advance|insert|delete|assert|retract)")
_PART = re.compile(r";\s+")
_SECTIONS = ("program", "events", "expect", "state", "effects", "failures", "error", "warning", "output")
_EXPECTING = frozenset(("expect", "state", "effects", "failures"))
_SECTION = re.compile(rf"({'|'.join(_SECTIONS)}|file ([^:]+)):\s*$")
_HEADING = re.compile(r"([a-z]{4,}):\s*$")
_SETTING = re.compile(r"(\w+):\s*(.*?)\s*$")
_SETTINGS = ("program", "policy", "flag", "option", "ordered", "close", "only", "except", "cites", "refused")
_KNOWN = f"settings are {', '.join(_SETTINGS)}; sections {', '.join(_SECTIONS)}, file NAME"
_EVENT = "an event is `1 a(x)` or `1..3 a(x)`: its time, and a name with values"
_FACT = "a fact is `p(a, 1)`: a name with values"
_Line: TypeAlias = tuple[int, str]  # its number, from 1
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Sheet:
    """The lines of a text of cases, to be read and refused by number."""

    source: Source

    def lines(self) -> list[_Line]:
        return [(number, line.rstrip()) for number, line in enumerate(self.source.text.split("\n"), 1)]

    def refuse(self, number: int, message: str, hint: str) -> InputError:
        """Return the error that shows a line."""
        starts = [0, *(found.end() for found in re.finditer("\n", self.source.text))]
        start = starts[number - 1]
        span = Span(self.source, start, start + max(1, len(self.source.line_at(start).rstrip())))
        return InputError(Problem("E413", message, span, hint))

    def read(
        self, lines: Iterable[_Line], reader: Callable[[str], _Item], between: re.Pattern[str] = _NEXT,
        form: str = _EVENT,
    ) -> tuple[_Item, ...]:  # fmt: skip
        """Read what stands in lines, comments aside; `; ` parts several of it in one line."""
        found: list[_Item] = []
        for number, line in lines:
            for part in between.split(line) if line.strip() and not line.startswith("%") else ():
                try:
                    found.append(reader(part.strip()))
                except ValueError as error:
                    raise self.refuse(number, str(error), form) from None
        return tuple(found)


def read_steps(text: str, name: str = "<events>") -> tuple[Step, ...]:
    """Read what stands below `events:`.

    >>> read_steps("0 a(1); 5..6 b(1)")
    (a(1) [0, 0], b(1) [5, 6])
    """
    sheet = Sheet(Source(name, text))
    return sheet.read(sheet.lines(), read_step)


def read_events(text: str, name: str = "<expected>") -> tuple[Event, ...]:
    """Read what stands below `expect:`."""
    sheet = Sheet(Source(name, text))
    return sheet.read(sheet.lines(), read_event)


def read_cases(path: str | Path, root: str | Path | None = None) -> list[Case]:
    """Read all cases of a file; their names begin with its path below `root`, or with its name."""
    where = Path(path)
    prefix = (where.relative_to(root) if root is not None else Path(where.name)).with_suffix("").as_posix()
    try:
        text = where.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "convert the file to UTF-8"
        raise InputError(Problem("E413", f"{where}: not UTF-8 text: {error.reason}", hint=hint)) from None
    except OSError as error:
        raise InputError(Problem("E413", f"{where}: {error.strerror}", hint="check its name")) from None
    sheet = Sheet(Source(str(where), text))
    cases: dict[str, Case] = {}
    for lines in _parts(sheet.lines()):
        case = _read_case(sheet, lines, prefix)
        if case.id in cases:
            raise sheet.refuse(lines[0][0], f"a second case named {case.id}", "give it another name")
        cases[case.id] = case
    return list(cases.values())


def find_cases(*paths: str | Path) -> list[Case]:
    """Read the cases of files, and of all `.case` files below folders, in order of path."""
    return [case for file, root in find_case_files(*paths) for case in read_cases(file, root)]


def find_case_files(*paths: str | Path) -> list[tuple[Path, Path | None]]:
    """Return case files, each with the folder that it was found in, None if it was named itself."""
    found: list[tuple[Path, Path | None]] = []
    for path in map(Path, paths):
        if not path.exists():
            raise InputError(Problem("E401", f"no such file or folder: {path}", hint="check its name"))
        below = sorted(path.rglob("*.case")) if path.is_dir() else None
        if below == []:
            raise InputError(Problem("E413", f"{path}: no case files in it", hint="their names end in .case"))
        found += [(path, None)] if below is None else [(file, path) for file in below]
    return found


def _parts(lines: Iterable[_Line]) -> Iterator[list[_Line]]:
    """Yield the lines of each case that are not empty."""
    part: list[_Line] = []
    for line in (*lines, (0, "---")):
        if line[1] != "---":
            part.extend([line] if line[1].strip() else [])
        elif part:
            yield part
            part = []


def _read_case(sheet: Sheet, lines: list[_Line], prefix: str) -> Case:
    first, title = lines[0]
    if not title.startswith("% "):
        raise sheet.refuse(first, "a case without a name", "the first line of a case is `% name: reason`")
    settings, sections = _divide(sheet, lines[1:])
    name = re.sub(r"\W+", "-", title[2:].partition(":")[0].strip()).strip("-")
    text = {key: [line for _, line in several] for key, several in sections.items()}
    errors = text.get("error", [])
    if _EXPECTING.isdisjoint(sections) and not errors:
        raise sheet.refuse(first, "neither `expect:` nor `error:`", "say what is expected, perhaps nothing")
    source = settings.get("program")
    where = None if source is None else Path(sheet.source.name).parent / source
    return Case(
        id=f"{prefix}/{name}",
        place=f"{sheet.source.name}:{first}",
        policies=_policies(settings.get("policy")),
        options=tuple((n, _option(v)) for n, v in _pairs(settings.get("option", ""))),
        settings=settings,
        program=_program(settings, text.get("program", []), where),
        files=tuple((key[5:], "\n".join(lines) + "\n") for key, lines in text.items() if key.startswith("file ")),
        steps=sheet.read(sections.get("events", []), read_step),
        expect=sheet.read(sections["expect"], read_event) if "expect" in sections else None,
        errors=tuple(e for e in errors if not e.startswith("reported:")),
        reported=tuple(e.removeprefix("reported:").strip() for e in errors if e.startswith("reported:")),
        warnings=tuple(text.get("warning", [])),
        output="".join(f"{line}\n" for line in text["output"]) if "output" in text else None,
        state=sheet.read(sections["state"], read_value, _PART, _FACT) if "state" in sections else None,
        effects=sheet.read(sections["effects"], str, _PART) if "effects" in sections else None,
        failures=sheet.read(sections.get("failures", []), str),
        source=None if where is None else str(where),
    )


def _program(settings: dict[str, str], lines: Iterable[str], source: Path | None) -> str:
    """Return the text of a program: that of a file first, so that its places are those of the file."""
    flags = "".join(f":- set_flag({n}, {v}).\n" for n, v in _pairs(settings.get("flag", "")))
    added = flags + "\n".join(lines) + "\n"
    return added if source is None else f"{read_file(str(source))}\n{added}"


def _divide(sheet: Sheet, lines: Iterable[_Line]) -> tuple[dict[str, str], dict[str, list[_Line]]]:
    """Part a case into settings (of a repeated one, the lines joined by commas) and sections."""
    settings: dict[str, str] = {}
    sections: dict[str, list[_Line]] = {}
    section: list[_Line] | None = None
    for number, line in lines:
        if opened := _SECTION.match(line):
            section = sections.setdefault(opened[1], [])
        elif (heading := _HEADING.match(line)) and (near := nearest(heading[1], _SECTIONS)):
            raise sheet.refuse(number, f"no section {heading[1]}", f"did you mean {near}?")
        elif section is not None:
            section.append((number, line))
        elif setting := _SETTING.match(line):
            key, value = setting.groups()
            _check_setting(sheet, number, key, value)
            settings[key] = f"{settings[key]}, {value}" if key in settings else value
        else:
            raise sheet.refuse(number, "neither a setting nor a section", _KNOWN)
    return settings, sections


def _check_setting(sheet: Sheet, number: int, key: str, value: str) -> None:
    if key not in _SETTINGS:
        raise sheet.refuse(number, f"no setting {key}", suggest(key, (*_SETTINGS, *_SECTIONS)) or _KNOWN)
    if key in ("ordered", "close") and value not in ("yes", "no"):
        raise sheet.refuse(number, f"{key} is {value!r}", "it is yes or no")
    if key in ("flag", "option") and not all(name and given for name, given in _pairs(value)):
        raise sheet.refuse(number, f"{key} is {value!r}", f"write {key}: name=value")
    if key == "program" and read_file(str(Path(sheet.source.name).parent / value)) is None:
        raise sheet.refuse(number, f"no file {value}", "name a file from the folder of the case file")
    if key == "policy":
        for name in {*_policies(value)} - {*POLICIES}:
            listed = f"policies: {', '.join(POLICIES)}, all"
            raise sheet.refuse(number, f"unknown policy {name!r}", suggest(str(name), POLICIES) or listed)


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(name.strip(), value.strip()) for name, _, value in (part.partition("=") for part in _names(text))]


def _option(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def _policies(text: str | None) -> tuple[str | None, ...]:
    if text is None:
        return (None,)
    return tuple(POLICIES) if text == "all" else _names(text)
