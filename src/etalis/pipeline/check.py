"""Everything about a pipeline that can be known before Spark starts: formats and their keys, files, program, columns.

Law: all problems at once, each with its place in the pipeline file or in the program; no Java is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from etalis.errors import EtalisError, InputError, Problem
from etalis.formats.roles import events_received
from etalis.pipeline.assemble import assemble
from etalis.pipeline.places import Path as Key
from etalis.pipeline.source_columns import (
    AT,
    END,
    EVENT,
    ORDER,
    START,
    Arranger,
    SchemaError,
    data_files,
    known_columns,
)
from etalis.pipeline.spec import AVAILABLE_NOW, FILES, MODES, Pipeline, RunPart, SinkPart, SourcePart, read_draft
from etalis.runtime.compiled import CompiledProgram
from etalis.spark.plan.detection import plan_detection
from etalis.tables.plan import Form
from etalis.tables.schema import Given, Options

_NEEDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(FILES, ("path",)), "rate": (), "console": (), "socket": ("host", "port"), "table": ("table",),
    "kafka": ("servers", "topic"),
}  # fmt: skip
_STREAM_ONLY = ("rate", "socket")
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
        time = (START, END) if has_intervals(self.pipeline) else AT
        return Options(time, EVENT, ORDER if ordered else None, self.pipeline.run.unit)


def has_intervals(pipeline: Pipeline) -> bool:
    """Tell whether any source tells start and end."""
    return any(len(source.time) == 2 for source in pipeline.sources)


def check_pipeline(path: str | Path) -> Checked:
    """Check a pipeline file; an InputError holds all that is wrong."""
    pipeline, problems = read_draft(path)
    if pipeline is None:
        raise InputError(*problems)
    is_whole = not problems
    if is_whole:
        problems += [*_format_problems(pipeline), *_run_problems(pipeline), *_file_problems(pipeline)]
    program, findings = assemble(pipeline)
    problems += [problem for problem in findings if problem.is_error]
    open_questions: list[str] = []
    if program is not None and is_whole:
        problems += _column_problems(Checked(pipeline, program, (), ()), open_questions)
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
    if len({sink.envelope for sink in pipeline.sinks}) > 1:
        hint = "say it in all of them, or in none"
        yield pipeline.problem("E705", "some sinks have envelope = true, others not", ("sink", 0), hint)
    if len({source.order is None for source in pipeline.sources}) > 1:
        hint = "say it in all of them, or in none"
        yield pipeline.problem("E705", "some sources have an order, others not", ("source", 0), hint)
    uses = [source.format for source in pipeline.sources] + [sink.format for sink in pipeline.sinks]
    if "kafka" in uses and not has_kafka_jar(pipeline) and find_spec("confluent_kafka") is None:
        hint = "pip install 'etalis[kafka]', or name Spark's connector under jars in [spark]"
        number = next((i for i, s in enumerate(pipeline.sources) if s.format == "kafka"), None)
        key: Key = ("sink",) if number is None else ("source", number, "format")
        yield pipeline.problem("E707", "Kafka needs a client, and none is installed", key, hint)


def has_kafka_jar(pipeline: Pipeline) -> bool:
    """Tell whether Spark is given its connector for Kafka."""
    named = [*pipeline.spark.jars, pipeline.spark.options.get("spark.jars.packages", "")]
    return any("spark-sql-kafka" in jar for jar in named)


def _key_problems(pipeline: Pipeline, part: SourcePart | SinkPart, key: Key) -> Iterator[Problem]:
    needs = _NEEDS[part.format]
    for name in needs:
        if getattr(part, name) is None:
            yield pipeline.problem("E703", f"format {part.format} needs {name}", (*key, "format"))
    for name in ("path", "table", "host", "port", "servers", "topic"):
        if name not in needs and getattr(part, name, None) is not None:
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
            if source.format in _STREAM_ONLY:
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
        hint = 'say where rows go that cannot be taken: path = "folder" in [dead_letters]'
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
            message = "what is told on arrival cannot be judged again by facts that have changed"
            yield pipeline.problem("E705", message, ("knowledge", i, "refreshed"), 'say refreshed = "start"')
    if pipeline.run.checkpoint is None:
        hint = 'say where state is kept through restarts: checkpoint = "folder"'
        yield pipeline.problem("E703", "a stream needs a checkpoint", ("run",), hint)
    for i, source in enumerate(pipeline.sources):
        if source.format in ("json", "csv", "orc", "text") and source.schema is None:
            hint = 'its columns must stay the same through restarts: schema = "card string, ..."'
            yield pipeline.problem("E703", f"a stream of {source.format} needs a schema", ("source", i), hint)
        elif source.format == "parquet" and source.schema is None and _is_empty_folder(source.path):
            hint = 'say what will come: schema = "card string, ..."'
            yield pipeline.problem("E703", "a stream from an empty folder needs a schema", ("source", i), hint)
    for i, sink in enumerate(pipeline.sinks):
        if sink.mode == "overwrite":
            message = "a stream appends, it overwrites nothing"
            yield pipeline.problem("E705", message, ("sink", i, "mode"), "leave it out")


def _is_empty_folder(path: str | None) -> bool:
    return path is not None and Path(path).is_dir() and next(data_files(path), None) is None


def _file_problems(pipeline: Pipeline) -> Iterator[Problem]:
    """Yield files that are missing, and results that would be in the way of each other or of older ones."""
    for i, source in enumerate(pipeline.sources):
        if source.path is None or "://" in source.path:
            continue
        if pipeline.run.is_stream and not any(sign in source.path for sign in "*?["):
            if not Path(source.path).is_dir():
                hint = "a stream of files reads those that come into a folder: make it, or name another"
                yield pipeline.problem("E706", f"there is no folder {source.path}", ("source", i, "path"), hint)
        elif next(data_files(source.path), None) is None:
            yield pipeline.problem("E706", f"there are no files at {source.path}", ("source", i, "path"))
    for i, jar in enumerate(pipeline.spark.jars):
        if "://" not in jar and not Path(jar).is_file():
            yield pipeline.problem("E706", f"there is no file {pipeline.spark.jars[i]}", ("spark", "jars"))
    yield from _target_problems(pipeline)


def _target_problems(pipeline: Pipeline) -> Iterator[Problem]:
    seen: set[str] = set()
    for i, sink in enumerate(pipeline.sinks):
        target = sink.path or sink.table
        if target is not None and target in seen:
            yield pipeline.problem("E705", f"two sinks write to {target}", ("sink", i), "give each its own")
        seen.add(target or "")
        is_local = sink.path is not None and "://" not in sink.path
        if is_local and not pipeline.run.is_stream and sink.mode == MODES[0] and Path(str(sink.path)).exists():
            hint = 'say mode = "append" or mode = "overwrite", or give another path'
            yield pipeline.problem("E706", f"{sink.path} is there already", ("sink", i, "path"), hint)


def _column_problems(checked: Checked, open_questions: list[str]) -> list[Problem]:
    """Return what does not fit between columns, program and sinks; plan as far as all columns are known."""
    pipeline, problems = checked.pipeline, list[Problem]()
    received = events_received(checked.program)
    arranger = Arranger(pipeline, received, has_intervals(pipeline))
    givens: list[Given] = []
    for i in range(len(pipeline.sources)):
        columns = _columns(pipeline, i, problems)
        if columns is None:
            open_questions.append(f"the columns of source {i + 1} are known when it runs")
            continue
        arrangement = arranger.arrange(i, columns, problems)
        if arrangement is not None:
            given = Given({new: _known_type(columns[old], new) for old, new in arrangement.names}, arrangement.event)
            _try(checked, [given], Form(), ("source", i), problems)
            givens.append(given)
    if not problems and len(givens) == len(pipeline.sources):
        together = list({given.event: given for given in givens}.values())
        for i, sink in enumerate(pipeline.sinks):
            _try(
                checked, together, Form(sink.event if not sink.envelope else None, sink.envelope), ("sink", i), problems
            )
    return problems


def _known_type(column_type: str, part: str) -> str:
    """Return the type of a column; where only Spark will tell, one that fits its part."""
    if column_type != "void":
        return column_type
    return {AT: "timestamp", START: "timestamp", END: "timestamp", ORDER: "bigint", EVENT: "string"}.get(part, "void")


def _columns(pipeline: Pipeline, number: int, problems: list[Problem]) -> Mapping[str, str] | None:
    try:
        return known_columns(pipeline.sources[number])
    except SchemaError as error:
        problems.append(pipeline.problem("E704", f"schema: {error}", ("source", number, "schema")))
        return None


def _try(checked: Checked, given: Sequence[Given], form: Form, key: Key, problems: list[Problem]) -> Any:
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
