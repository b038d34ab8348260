"""What is decided about tables before rows are read: the part of every column, and the columns of the results.

Nothing here knows where tables live: `detect` plans over files and frames in memory, Spark over its DataFrames.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from etalis.formats.roles import signatures_read
from etalis.formats.row import UNITS
from etalis.language.check.effects import find_unplanned
from etalis.language.check.spelling import suggest
from etalis.language.flags import Settings
from etalis.language.rules import declarations
from etalis.language.syntax import Const
from etalis.plan import algebra as p
from etalis.plan.answers import Answers
from etalis.plan.keys import Kind, show
from etalis.plan.lattice import TERM
from etalis.plan.retention import window_of
from etalis.plan.types import Types, infer_types
from etalis.tables.column_types import shown_time
from etalis.tables.knowledge import program_answers
from etalis.tables.results.output import Output, make_envelope, make_selected, make_wide, with_contributors
from etalis.tables.schema import Frame, Layout, Options, TableSchema, read_frames, refuse
from etalis.temporal.interval import to_microseconds

if TYPE_CHECKING:
    from etalis.runtime.compiled import CompiledProgram


@dataclass(frozen=True, slots=True)
class ResultForm:
    """Which form the results have: one kind, an envelope, or all kinds; with their ids, and what they are made of."""

    select: str | None = None
    envelope: bool = False
    contributors: bool = False
    match_id: bool = True


@dataclass(frozen=True, slots=True)
class InputPlan:
    """What comes in: the planned rules, the columns of each frame, and the names of events that rules make."""

    settings: Settings
    heads: tuple[p.Head, ...]
    frames: tuple[Frame, ...]
    made: tuple[str, ...]

    @property
    def layouts(self) -> list[Layout]:
        return [layout for frame in self.frames for layout in frame.layouts]

    @property
    def received(self) -> Types:
        """The types of what comes in."""
        return _united((x.kind, x.attribute_types) for x in self.layouts)

    @property
    def results(self) -> Types:
        """The types in which what comes in goes out as it is."""
        return _united((x.kind, x.result_types) for x in self.layouts)


def _united(kinds: Iterable[tuple[Kind, tuple[str, ...]]]) -> Types:
    """Return the types of kinds that may come from several frames."""
    found: dict[Kind, tuple[str, ...]] = {}
    for kind, types in kinds:
        known = found.get(kind, types)
        found[kind] = tuple(a if a == b else TERM for a, b in zip(known, types, strict=True))
    return found


def plan_input(
    program: CompiledProgram, given: Sequence[TableSchema | Frame], options: Options, policy: str | None
) -> InputPlan:
    """Decide which columns become which events, or refuse what does not fit; of a frame that is decided."""
    settings = program.settings_under(policy)
    if not all(isinstance(each, TableSchema) for each in given):
        return _planned(program, given, options, settings, policy)
    asked = tuple((tuple(each.columns.items()), each.event) for each in given if isinstance(each, TableSchema))
    key = "input", settings, asked, options, program.background
    return program.recalled(key, lambda: _planned(program, given, options, settings, policy))


def _planned(
    program: CompiledProgram, given: Sequence[TableSchema | Frame], options: Options, settings: Settings,
    policy: str | None,
) -> InputPlan:  # fmt: skip
    unplanned = program.once("unplanned", lambda program: find_unplanned(program.tree))
    if unplanned is not None:
        hint = "write the rules into the program's text, and report derived events"
        raise refuse("E610", f"the columns of the results cannot be determined: {unplanned}", hint)
    heads = program.plans(policy)
    known = signatures_read(program)
    made = tuple(s.kind[0] for s in known if s.made)
    frames = read_frames(given, known, options)
    if program.background:
        frames = tuple(replace(frame, layouts=_over_background(frame.layouts, program)) for frame in frames)
    return InputPlan(settings, heads, frames, made)


def _over_background(layouts: Iterable[Layout], program: CompiledProgram) -> tuple[Layout, ...]:
    """Return layouts of which those of triples have no predicate of the background."""
    triples = (("rdf", 3), ("rdf", 5))
    return tuple(replace(x, background=program.background) if x.kind in triples else x for x in layouts)


def plan_output(
    program: CompiledProgram, intake: InputPlan, form: ResultForm, unit: str, *, atom: bool = False,
    answers: Answers | None = None,
) -> Output:  # fmt: skip
    """Choose the columns of the results; with the `atom` if equal results are to be made one.

    `answers` tell the types of what facts bind; without them they are those that the program has now.
    """
    times = tuple(frame.time_types for frame in intake.frames)
    key = ("results", intake.settings, tuple(intake.results.items()), form, times, unit, atom)
    return program.decided(key, intake.heads, lambda: _plan_output(program, intake, form, unit, atom, answers))


def _plan_output(
    program: CompiledProgram, intake: InputPlan, form: ResultForm, unit: str, atom: bool, answers: Answers | None
) -> Output:
    known = program_answers(program) if answers is None else answers
    types = infer_types(intake.heads, intake.results, declared_types(program), known)
    time = _time_type(intake.frames, intake.heads, unit)
    output = _output(program, intake.heads, types, form, time, unit, atom)
    return with_contributors(output) if form.contributors else output


def declared_types(program: CompiledProgram) -> dict[Kind, tuple[str, ...]]:
    """Return the types of attributes that are declared."""
    return {kind: tuple(t for _, t in d.attributes) for kind, d in declarations(program.tree).items()}


def _time_type(frames: Sequence[Frame], heads: Sequence[p.Head], unit: str) -> str:
    """Return the type of `start` and `end`: that of the time that came in, if it holds every moment of the program."""
    found = shown_time([t for frame in frames for t in frame.time_types])
    if found == "bigint" and not all(_keeps_unit(head, UNITS[unit]) for head in heads):
        return "double"
    return found


def _keeps_unit(head: p.Head, unit: Fraction) -> bool:
    """Tell whether a rule makes no moment that lies between two units of time."""
    moments = [
        node.duration if isinstance(node, p.Deadline) else node.time
        for node in p.walk(head.body)
        if isinstance(node, p.Deadline | p.Tick)
    ]
    moments += [window_of(p.tests(node)) or 0 for node in p.walk(head.body) if p.falls_due(node)]
    if head.alarm is not None:
        match head.alarm.when:
            case Const(value=int() | float() as when):
                moments.append(to_microseconds(when))
            case _:
                return unit <= 1
    return all(moment % unit == 0 for moment in moments)


def _output(
    program: CompiledProgram, heads: Sequence[p.Head], types: Types, form: ResultForm, time: str, unit: str, atom: bool
) -> Output:
    """Choose the columns of the results."""
    scale = UNITS[unit]
    made = dict.fromkeys(head.kind for head in heads if not head.hidden)
    kinds = [kind for kind in made if program.is_reported(*kind) is not False]
    if form.select is not None:
        kind = _selected(form.select, kinds)
        return make_selected(kind, program.attributes[kind], types[kind], time, scale, atom)
    if form.envelope:
        return make_envelope(kinds, time, scale, atom)
    return make_wide({kind: (program.attributes[kind], types[kind]) for kind in kinds}, time, scale, atom)


def _selected(name: str, kinds: Collection[Kind]) -> Kind:
    found = [kind for kind in kinds if name in (kind[0], show(kind))]
    if not found:
        hint = suggest(name, {kind[0] for kind in kinds}, f"it reports {', '.join(map(show, kinds)) or 'nothing'}")
        raise refuse("E605", f"the program reports no event {name}", hint)
    if len(found) > 1:
        raise refuse("E605", f"{name} can be {' or '.join(map(show, found))}", f"say select={show(found[0])!r}")
    return found[0]
