"""Everything about a pipeline that can be known before Spark starts: formats and their keys, files, program, columns.

Law: all problems at once, each with its place in the pipeline file or in the program; no Java is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etalis.errors import EtalisError, InputError, Problem
from etalis.formats.roles import events_received
from etalis.pipeline.arrangement import AT, END, EVENT, ORDER, START, Arranger
from etalis.pipeline.assemble import assemble
from etalis.pipeline.connectors import CONNECTORS
from etalis.pipeline.connectors.connector import UNKNOWN
from etalis.pipeline.ddl import SchemaError
from etalis.pipeline.parts import Pipeline, RunPart, SinkPart, SourcePart
from etalis.pipeline.places import Path as Key
from etalis.pipeline.spec import read_draft
from etalis.pipeline.values import AVAILABLE_NOW
from etalis.runtime.compiled import CompiledProgram
from etalis.spark.effect_rows import has_effects
from etalis.spark.plan.detection import plan_detection
from etalis.tables.plan import ResultForm
from etalis.tables.schema import Options, TableSchema

_ENDLESS = ("lateness", "reporting", "idle", "clock", "checkpoint", "allow_dropped")


@dataclass(frozen=True, slots=True)
class Checked:
    """A pipeline with its program, what to be warned of, and what can only be known when it runs."""

    pipeline: Pipeline
    program: CompiledProgram
    warnings: tuple[Problem, ...]
    open_questions: tuple[str, ...]

    @property
    def options(self) -> Options:
        """How the columns of all sources are read, once they are arranged."""
        ordered = any(source.order for source in self.pipeline.sources)
        time = (START, END) if self.pipeline.has_intervals else AT
        return Options(time, EVENT, ORDER if ordered else None, self.pipeline.run.unit)


def check_pipeline(path: str | Path) -> Checked:
    """Check a pipeline file; an InputError holds all that is wrong."""
    pipeline, problems = read_draft(path)
    if pipeline is None:
        raise InputError(*problems)
    is_whole = not problems
    if is_whole:
        problems += [*_format_problems(pipeline), *_run_problems(pipeline), *_place_problems(pipeline)]
    program, findings = assemble(pipeline)
    problems += [problem for problem in findings if problem.is_error]
    open_questions: list[str] = []
    if program is not None and is_whole:
        problems += _column_problems(Checked(pipeline, program, (), ()), open_questions)
        problems += _effect_problems(pipeline, program)
    if problems:
        raise InputError(*sorted(problems, key=lambda problem: _place(pipeline, problem)))
    assert program is not None
    return Checked(pipeline, program, tuple(findings), tuple(open_questions))


def _place(pipeline: Pipeline, problem: Problem) -> tuple[bool, str, int]:
    """Return the key of the order in which problems are told: the pipeline's own first, each file from the top."""
    if problem.span is None:
        return False, "", -1
    name = problem.span.source.name
    return name != str(pipeline.path), name, problem.span.start


def _format_problems(pipeline: Pipeline) -> Iterator[Problem]:
    """Yield what does not go with the format of a source or sink."""
    for i, source in enumerate(pipeline.sources):
        yield from _key_problems(pipeline, source, ("source", i))
        if source.event and source.event_column:
            message = "event says that all rows are one event, event_column that each names its own"
            yield pipeline.problem("E705", message, ("source", i, "event_column"), "give one of them")
    for i, sink in enumerate(pipeline.sinks):
        yield from _key_problems(pipeline, sink, ("sink", i))
    if len({sink.envelope for sink in pipeline.sinks if not CONNECTORS[sink.format].takes_effects}) > 1:
        hint = "say it in all of them, or in none"
        yield pipeline.problem("E705", "some sinks have envelope = true, others not", ("sink", 0), hint)
    if len({source.order is None for source in pipeline.sources}) > 1:
        hint = "say it in all of them, or in none"
        yield pipeline.problem("E705", "some sources have an order, others not", ("source", 0), hint)
    yield from _missing_packages(pipeline)


def _missing_packages(pipeline: Pipeline) -> Iterator[Problem]:
    """Yield what connectors need and is not installed, each once."""
    parts = {("source", i, "format"): source.format for i, source in enumerate(pipeline.sources)}
    places: Mapping[str, Key] = {sink.format: ("sink",) for sink in pipeline.sinks}
    places |= {name: key for key, name in reversed(parts.items())}  # type: ignore[operator]
    for name, key in places.items():
        found = CONNECTORS[name].needs(pipeline)
        if found is not None:
            yield pipeline.problem("E707", found[0], key, found[1])


def _key_problems(pipeline: Pipeline, part: SourcePart | SinkPart, key: Key) -> Iterator[Problem]:
    needs = CONNECTORS[part.format].keys
    for name in needs:
        if name not in part.keys:
            yield pipeline.problem("E703", f"format {part.format} needs {name}", (*key, "format"))
    for name in part.keys:
        if name not in needs:
            hint = f"it takes {', '.join(needs) or 'none of these'}"
            yield pipeline.problem("E705", f"format {part.format} has no {name}", (*key, name), hint)


def _run_problems(pipeline: Pipeline) -> Iterator[Problem]:
    """Yield what does not go with a run over history, or with a stream."""
    run = pipeline.run
    if not run.is_stream:
        hint = 'leave it out, or say trigger = "available_now" or trigger = "10 seconds" in [run]'
        usual = RunPart()
        for name in _ENDLESS:
            if getattr(run, name) != getattr(usual, name):
                yield pipeline.problem("E705", f"{name} is for streams, and this runs once", ("run", name), hint)
        yield from _bound_problems(pipeline)
        for i, table in enumerate(pipeline.knowledge):
            if not table.is_fixed:
                message = "knowledge is refreshed in streams, and this runs once"
                yield pipeline.problem("E705", message, ("knowledge", i, "refreshed"), hint)
        for i, source in enumerate(pipeline.sources):
            if CONNECTORS[source.format].is_endless:
                message = f"format {source.format} has no end, and this runs once"
                yield pipeline.problem("E705", message, ("source", i, "format"), hint)
    else:
        yield from _stream_problems(pipeline)
    if pipeline.spark.master is not None and pipeline.spark.cores is not None:
        hint = 'give one of them: master = "local[4]" has 4 cores'
        yield pipeline.problem("E705", "master says how many cores there are", ("spark", "cores"), hint)


def _bound_problems(pipeline: Pipeline) -> Iterator[Problem]:
    """Yield what does not go with a bound on the rows that a run over history may reject."""
    most = pipeline.run.max_rejected
    if most is not None and pipeline.dead_letters is None:
        hint = 'say where rejected rows go: path = "folder" in [dead_letters]'
        yield pipeline.problem("E705", "max_rejected needs [dead_letters] in a run once", ("run", "max_rejected"), hint)
    elif isinstance(most, float):
        hint = "give a number of rows"
        yield pipeline.problem("E705", "a share of all rows is known of streams only", ("run", "max_rejected"), hint)


def _stream_problems(pipeline: Pipeline) -> Iterator[Problem]:
    if pipeline.run.clock and pipeline.run.trigger == AVAILABLE_NOW:
        hint = 'leave it out, or say trigger = "10 seconds"'
        yield pipeline.problem("E705", "a clock has no end, and available_now has one", ("run", "clock"), hint)
    for i, table in enumerate(pipeline.knowledge):
        if not table.is_fixed and pipeline.run.reporting == "on_arrival":
            message = "matches reported on arrival cannot be revised when facts change"
            yield pipeline.problem("E705", message, ("knowledge", i, "refreshed"), 'say refreshed = "start"')
    if pipeline.run.checkpoint is None:
        hint = 'say where state is kept through restarts: checkpoint = "folder"'
        yield pipeline.problem("E703", "a stream needs a checkpoint", ("run",), hint)
    for i, sink in enumerate(pipeline.sinks):
        if CONNECTORS[sink.format].open_stream is None:
            yield pipeline.problem("E705", f"format {sink.format} takes no streams", ("sink", i, "format"))
        if sink.mode == "overwrite":
            message = "a stream appends, it overwrites nothing"
            yield pipeline.problem("E705", message, ("sink", i, "mode"), "leave it out")


def _place_problems(pipeline: Pipeline) -> Iterator[Problem]:
    """Yield what connectors find wrong where rows are, files that are missing, and sinks in the way of each other."""
    for i, source in enumerate(pipeline.sources):
        yield from CONNECTORS[source.format].check_source(pipeline, source, ("source", i))
    for jar in pipeline.spark.jars:
        if "://" not in jar and not Path(jar).is_file():
            yield pipeline.problem("E706", f"there is no file {jar}", ("spark", "jars"))
    seen: set[str] = set()
    for i, sink in enumerate(pipeline.sinks):
        connector = CONNECTORS[sink.format]
        target = sink.keys.get(connector.target or "")
        if target in seen:
            yield pipeline.problem("E705", f"two sinks write to {target}", ("sink", i), "give each its own")
        seen |= set() if target is None else {target}
        yield from connector.check_sink(pipeline, sink, ("sink", i))


def _effect_problems(pipeline: Pipeline, program: CompiledProgram) -> Iterator[Problem]:
    """Yield what does not fit between the effects of a program and the sinks; a stream keeps them beside its state."""
    made = has_effects(program.tree)
    takers = [i for i, sink in enumerate(pipeline.sinks) if CONNECTORS[sink.format].takes_effects]
    if takers and not made:
        hint = "an action makes one: effect(name(...))"
        yield pipeline.problem("E705", "no reaction of the program has an effect", ("sink", takers[0], "format"), hint)
    if made and not takers and not pipeline.run.is_stream:
        hint = 'say where they go: a [[sink]] with format = "effects"'
        yield pipeline.problem("E703", "reactions of the program have effects", ("sink",), hint)


def _column_problems(checked: Checked, open_questions: list[str]) -> list[Problem]:
    """Return what does not fit between columns, program and sinks; plan as far as all columns are known."""
    pipeline, problems = checked.pipeline, list[Problem]()
    arranger = Arranger(pipeline, events_received(checked.program))
    givens: list[TableSchema] = []
    for i in range(len(pipeline.sources)):
        columns = _columns(pipeline, i, problems)
        if columns is None:
            open_questions.append(f"the columns of source {i + 1} are known when it runs")
            continue
        arrangement = arranger.arrange(i, columns, problems)
        if arrangement is not None:
            given = TableSchema(
                {new: _known_type(columns[old], new) for old, new in arrangement.names}, arrangement.event
            )
            _try(checked, [given], ResultForm(), ("source", i), problems)
            givens.append(given)
    if not problems and len(givens) == len(pipeline.sources):
        together = list({given.event: given for given in givens}.values())
        for i, sink in enumerate(pipeline.sinks):
            _try(
                checked,
                together,
                ResultForm(sink.event if not sink.envelope else None, sink.envelope),
                ("sink", i),
                problems,
            )
    return problems


def _known_type(column_type: str, part: str) -> str:
    """Return the type of a column; where only Spark will tell, one that fits its part."""
    if column_type != UNKNOWN:
        return column_type
    return {AT: "timestamp", START: "timestamp", END: "timestamp", ORDER: "bigint", EVENT: "string"}.get(part, "void")


def _columns(pipeline: Pipeline, number: int, problems: list[Problem]) -> Mapping[str, str] | None:
    source = pipeline.sources[number]
    try:
        return None if source.select else CONNECTORS[source.format].columns(source)
    except SchemaError as error:
        problems.append(pipeline.problem("E704", f"schema: {error}", ("source", number, "schema")))
        return None


def _try(checked: Checked, given: Sequence[TableSchema], form: ResultForm, key: Key, problems: list[Problem]) -> Any:
    """Plan, and note what the plan refuses at the place of a section."""
    shards = checked.pipeline.run.shards
    try:
        return plan_detection(checked.program, given, checked.options, form, policy=None, shards=shards, usual=1)
    except EtalisError as error:
        for found in error.problems:
            place = found.span or checked.pipeline.places.find(key)
            problem = Problem(found.code, found.message, place, found.hint)
            if problem not in problems:
                problems.append(problem)
        return None
