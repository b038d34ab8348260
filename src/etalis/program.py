"""Programs as a host has them: `compile` a text, then make engines, look for events in tables, or go to Spark.

A `Program` is thin: what back ends run is its `compiled`. Arrow, Numba and Spark are imported by what needs them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, overload

from etalis.data.held_tables import is_table
from etalis.engine import Engine
from etalis.errors import ConditionError, InputError, Problem, ProgramError
from etalis.language.attributes import Signature
from etalis.language.read.imports import Reader, read_below, read_file, read_nothing
from etalis.language.syntax import Item, Tree
from etalis.logic.knowledge.foreign import functions
from etalis.logic.knowledge.loaders import load_rows
from etalis.logic.rdf.load import RdfOptions
from etalis.plan.explain.text import write_text
from etalis.reactive.effects.check import tell_repeated_effects
from etalis.reactive.effects.registry import RETRIES, EffectRegistry
from etalis.reactive.effects.rehearsal import nowhere
from etalis.reactive.effects.sink import EffectSink
from etalis.reactive.outbox.outbox import Outbox, refuse_begun
from etalis.runtime.comparison import Difference, compare_matches
from etalis.runtime.compiled import NOTHING, CompiledProgram, compile_given, compile_text
from etalis.runtime.core import COMMIT_EVERY, Ahead, EngineOptions
from etalis.runtime.engine import restore
from etalis.runtime.lateness.watermark import DeadLetter
from etalis.runtime.reporting.report import Report
from etalis.runtime.reporting.unknown_names import check_facts
from etalis.runtime.reporting.unknown_options import with_options
from etalis.tables.progress import BATCH, Pace, Tell
from etalis.temporal.event import Event

if TYPE_CHECKING:
    import pyarrow as pa

    from etalis.pictures.picture import Picture
    from etalis.spark import SparkProgram
    from etalis.why.justification import Justification
    from etalis.why.why_not import WhyNot

Events: TypeAlias = Iterable[Any] | Mapping[str, Any] | str | Path  # rows as `Engine.run` takes them, a table, a file
_FILE_NAME = re.compile(r"[^\n<>%]+\.(etalis|event|pl|P|txt)\s*")


def compile(  # noqa: A001
    text: str, *, name: str = "<program>", imports: str | Path | None = None, read: Reader | None = None,
    register: Mapping[str, Callable[..., Any]] | None = None, strict: bool = False, skip_broken: bool = False,
    **flags: object,
) -> Program:  # fmt: skip
    """Compile a program's text; raise a ProgramError with all that is wrong with it, and warn of what looks wrong.

    Warnings are `ProgramWarning`s; with `strict` they refuse the program. That nothing defines a predicate (W207) is
    told when the program first runs: it may be registered or loaded until then.

    It imports nothing, unless `imports` names the folder that it may import from, or `read` is a function from a file's
    name to its text, None if there is none. `register` gives Python functions to its goals, by `name` or `name/arity`
    (see `Program.register`). With `skip_broken`, rules and clauses that have errors are left out and named in
    `program.skipped`, each with a warning; errors of the whole, such as flags, are raised.
    """
    _refuse_file(text)
    folder = None if imports is None else str(imports)
    reader = read or (read_nothing if imports is None else read_below(imports))
    given = register or NOTHING
    return Program(
        compile_text(text, name, reader, folder, flags=flags, register=given, strict=strict, skip_broken=skip_broken)
    )


def compile_file(
    path: str | Path, *, imports: str | Path | None = None, read: Reader | None = None,
    register: Mapping[str, Callable[..., Any]] | None = None, strict: bool = False, encoding: str | None = None,
    skip_broken: bool = False, **flags: object,
) -> Program:  # fmt: skip
    """Compile a program from a file, which may import what lies below its own folder, or below `imports`.

    The files are UTF-8 text, or what their byte order marks tell, unless an `encoding` is given.
    """
    where, given = Path(path), register or NOTHING
    text = read_file(str(where), encoding)
    if text is None:
        raise ProgramError(Problem("E100", f"cannot read the program {where}", hint="check the path"))
    reader = read or read_below(where.parent if imports is None else imports, encoding)
    program = Program(
        compile_text(text, str(where), reader, flags=flags, register=given, strict=strict, skip_broken=skip_broken)
    )
    program.compiled.name = where.name  # wherever it lies
    return program


def compile_tree(
    tree: Tree | Iterable[Item], *, name: str = "<program>", register: Mapping[str, Callable[..., Any]] | None = None,
    strict: bool = False, **flags: object,
) -> Program:  # fmt: skip
    """Compile a program that a host has built: a syntax tree, or its rules, clauses and other items.

    The nodes are those of `etalis.language.syntax`. Nothing is written down and read again, so names of events and the
    values of `Const` may be any text and numbers of any size. Checks, warnings and the other options are those of
    `compile`; without spans errors have no place. Reactive clauses and imports are for texts alone.
    """
    return Program(compile_given(tree, name, flags=flags, register=register or NOTHING, strict=strict))


def _refuse_file(text: Any) -> None:
    """Refuse the name of a file in the place of a program."""
    if isinstance(text, Path) or (isinstance(text, str) and _FILE_NAME.fullmatch(text)):
        hint = "a program is a text; for a file, call etalis.compile_file"
        raise ProgramError(Problem("E100", f"{text} is the name of a file, not a program", hint=hint))
    if not isinstance(text, str):
        raise TypeError(f"a program is a text, not {type(text).__name__}; for a file, call etalis.compile_file")


class Program:
    """A checked program, and the knowledge that the host adds to it."""

    def __init__(self, compiled: CompiledProgram) -> None:
        self.compiled = compiled

    def __repr__(self) -> str:
        from etalis.runtime.reporting.display import describe_program  # of use where a person looks alone

        return describe_program(self.compiled)

    def _repr_html_(self) -> str:
        from etalis.runtime.reporting.display import show_program

        return show_program(self.compiled, self.explain_svg)

    if not TYPE_CHECKING:  # for a type checker a program would have every attribute

        def __getattr__(self, name: str) -> Any:
            """Say where the methods of engines are."""
            if not name.startswith("_") and hasattr(Engine, name):
                raise AttributeError(f"a program has no {name}, its engines have: program.engine().{name}")
            raise AttributeError(f"a program has no {name}")

    # what it is

    @property
    def name(self) -> str:
        """What keys of effects and outboxes know it by: the name it was compiled with, or that of its file."""
        return self.compiled.name

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The warnings, without those that added knowledge answers."""
        return self.compiled.problems

    @property
    def skipped(self) -> tuple[Problem, ...]:
        """The errors of clauses that were left out."""
        return self.compiled.skipped

    @property
    def signatures(self) -> Mapping[str, Signature]:
        """Names and types of attributes, by event: declared, or implied by the names that patterns give them."""
        return self.compiled.signatures

    @property
    def implied(self) -> frozenset[str]:
        """The events whose attributes have names because patterns name them, and no order of their own."""
        return self.compiled.implied

    @with_options
    def explain(
        self, source: Any = None, *, time: str | tuple[str, str] | None = None, event: str | None = None,
        unit: str = "s", encoding: str | None = None, policy: str | None = None, contributors: bool = False,
    ) -> str:  # fmt: skip
        """Say how the program is run: the plan of every rule, its events and their types, what can be parted.

        With a source: which rules `detect` runs over its columns, which event at a time, and why.
        """
        if source is None:
            return write_text(self.compiled.explanation(policy))
        from etalis.detect import explain
        from etalis.tables.schema import Options

        options = Options(time, event, None, unit, encoding=encoding)
        return explain(self.compiled, source, options, policy, contributors=contributors)

    def picture(self, *, policy: str | None = None) -> Picture:
        """Return a picture of the plan, with `to_svg`, `to_html` and `to_dot`."""
        from etalis.pictures.picture import Picture
        from etalis.pictures.scenes.plan import draw_plan

        return Picture(draw_plan(self.compiled.explanation(policy)))

    def explain_dot(self, *, policy: str | None = None) -> str:
        """Return the plan as Graphviz text."""
        return self.picture(policy=policy).to_dot()

    def explain_svg(self, *, policy: str | None = None) -> str:
        """Return the plan as an SVG picture."""
        return self.picture(policy=policy).to_svg()

    def code(self, *, policy: str | None = None) -> str:
        """Return the Python code that an engine of the program runs."""
        return self.engine(policy=policy, output=lambda _: None, effects=nowhere()).code()

    # what it knows

    def register(self, name: str, function: Callable[..., Any], arity: int | None = None) -> None:
        """Give a Python function to conditions and actions, in engines made from now on.

        It is called with the first arguments, as many as it has parameters; one that is unbound arrives as None. With
        no argument left it is a test (a bool); with one left, its result is that argument's value. Any iterable that
        is no str, tuple or dict gives solutions: tuples for the arguments left, or for all. None is no solution.
        Without an arity the function is both, a test and a function of one argument more.
        """
        self.compiled.knowledge.register(functions(name, function, arity))

    def effect(
        self, name: str, function: Callable[..., Any], *, compensate: Callable[..., Any] | None = None,
        retries: int = RETRIES, arity: int | None = None,
    ) -> None:  # fmt: skip
        """Say what makes the effect of a name, in engines made from now on, and what compensates it.

        Both are called with the arguments and `key=`. A function that returns has made the effect; if it raises it is
        called again, `retries` times, unless it raises `etalis.Refused`. Where it raises `etalis.Unknown`, it may have
        happened. The arity is that of the function, unless it is given.
        """
        self.effects.register(name, function, compensate, retries, arity)

    @property
    def effects(self) -> EffectRegistry:
        """The effects that have been registered."""
        return self.compiled.effect_registry

    def load_facts(self, name: str, source: Any, columns: Sequence[str | int] | None = None) -> int:
        """Add the rows of a table as facts, in engines made from now on; return how many.

        The source is a file (CSV, JSON lines, Parquet, Arrow), a table of Arrow or pandas, a pair of a DB-API
        connection and a query, a cursor, or rows. `columns` says which columns, in which order; numbers count from 0.
        """
        rows = load_rows(source, columns)
        check_facts(self.compiled.tree, name, rows.arity)
        return self.compiled.knowledge.load((name, rows))

    def load_rdf(self, source: Any, **options: Unpack[RdfOptions]) -> int:
        """Add the triples of RDF as facts `rdf(S, P, O)`, in engines made from now on; return how many.

        The source is a file (Turtle, N-Triples, RDF/XML, N-Quads, TriG), an open one with its `format`, or a list of
        these; needs `etalis[rdf]`. `prefixes` says how IRIs are named, `entailment="rdfs"` and `transitive` what is
        added, `relations` which properties and classes are relations too, `language` which texts are taken. With
        `terms="exact"` terms keep their kind, as in streams of RDF: an IRI is `'<http://x/a>'`.
        """
        if self.compiled.read_background is not None:
            hint = "give it to compile_sparql: background=..."
            raise InputError(Problem("E407", "queries have their background from when they are compiled", hint=hint))
        return self.compiled.graphs.load(self.compiled.knowledge, source, options)

    # how it runs

    @with_options
    def engine(
        self, *, policy: str | None = None, parts: bool = False, clock: Callable[[], Any] | None = None,
        on_error: Callable[[ConditionError], object] | None = None, output: Callable[[str], object] | None = None,
        on_dead_letter: Callable[[DeadLetter], object] | None = None, sources: Iterable[Hashable] = (),
        limits: Mapping[str, object] = NOTHING, ahead: Ahead = None,
        wall: Callable[[], Any] | None = None, strict: bool = False, justification: str | None = None,
        effects: EffectSink | None = None, outbox: Outbox | None = None, every: int = COMMIT_EVERY,
    ) -> Engine:  # fmt: skip
        """Return a fresh engine for one stream of events.

        What goals write goes to `output`, piece by piece; without it to `sys.stdout`. The time that goals see is that
        of the clock, without one the time reached. The watermark waits for each of the `sources` that are named here,
        and for those that have sent something. `limits` goes before the flags `soft_limit`, `hard_limit`, `shedding`,
        `ahead` (seconds, a text such as "10 min" or a timedelta, -1 for none) before `max_ahead`: an event that ends
        further ahead of the latest time before it, or of the clock `wall` if there is one, is a dead letter and moves
        nothing. `strict` makes errors of what `engine.report` would say. `justification` is `off`, `ids` (events know
        the numbers of the inputs they are made of, as with `parts`) or `full` (`engine.justify` explains them).

        Effects of reactions are made at once, by the functions of the program. With `effects=etalis.effects.dry()` none
        is made. With an `outbox` they are delivered after a commit, of which there is one at the end and after `every`
        rows that `run` takes, and whenever `engine.commit(position)` is called.
        """
        options = EngineOptions(
            policy, parts, clock, on_error, output, on_dead_letter, sources, limits, ahead, wall, strict,
            justification, None, effects, outbox, every,
        )  # fmt: skip
        if outbox is not None:
            refuse_begun(outbox, self.name)
        return Engine(self, options)

    @with_options
    def restore(
        self, *data: bytes, policy: str | None = None, parts: bool = False, clock: Callable[[], Any] | None = None,
        on_error: Callable[[ConditionError], object] | None = None, output: Callable[[str], object] | None = None,
        on_dead_letter: Callable[[DeadLetter], object] | None = None, sources: Iterable[Hashable] = (),
        limits: Mapping[str, object] = NOTHING, ahead: Ahead = None,
        wall: Callable[[], Any] | None = None, strict: bool = False, justification: str | None = None,
        effects: EffectSink | None = None, outbox: Outbox | None = None, every: int = COMMIT_EVERY,
    ) -> Engine:  # fmt: skip
        """Return an engine that goes on from a snapshot and the deltas after it, in the order they were taken.

        The options are those of `engine`; policy and justification are as they were. Parts of rules that this program
        has as well take over their state; `engine.restored` says which ones, and what has no place here.
        """
        options = EngineOptions(
            policy, parts, clock, on_error, output, on_dead_letter, sources, limits, ahead, wall, strict,
            justification, None, effects, outbox, every,
        )  # fmt: skip
        if effects is None and outbox is None:
            tell_repeated_effects(self.compiled.tree)
        return restore(partial(Engine, self), data, options)

    @overload
    def justify(
        self, events: Events, question: str, *, at: Any = None, interval: Any = None, policy: str | None = None,
        all: Literal[False] = False, limit: int = 100, time: str | tuple[str, str] | None = None,
        event: str | None = None, unit: str = "s",
    ) -> Justification: ...  # fmt: skip

    @overload
    def justify(
        self, events: Events, question: str, *, at: Any = None, interval: Any = None, policy: str | None = None,
        all: Literal[True], limit: int = 100, time: str | tuple[str, str] | None = None, event: str | None = None,
        unit: str = "s",
    ) -> Iterator[Justification]: ...  # fmt: skip

    def justify(
        self, events: Events, question: str, *, at: Any = None, interval: Any = None, policy: str | None = None,
        all: bool = False, limit: int = 100,  # noqa: A002
        time: str | tuple[str, str] | None = None, event: str | None = None, unit: str = "s",
    ) -> Justification | Iterator[Justification]:  # fmt: skip
        """Say why an event occurred in a run of a file, of a table, or of rows such as `Engine.run` takes.

        See `Engine.justify`; `time`, `event` and `unit` say how columns are read, as for `detect`.
        """
        engine = self._run_explained(events, policy, time, event, unit)
        if all:
            return engine.justify(question, at=at, interval=interval, all=True, limit=limit)
        return engine.justify(question, at=at, interval=interval)

    def why_not(
        self, events: Events, question: str, *, at: Any = None, between: Any = None, interval: Any = None,
        policy: str | None = None, time: str | tuple[str, str] | None = None, event: str | None = None,
        unit: str = "s", **options: Any,
    ) -> WhyNot:  # fmt: skip
        """Say why an event did not occur in a run of a file, of a table, or of rows such as `Engine.run` takes.

        The options are those of `Engine.why_not`; `time`, `event` and `unit` say how columns are read, as for `detect`.
        """
        engine = self._run_explained(events, policy, time, event, unit)
        return engine.why_not(question, at=at, between=between, interval=interval, **options)

    def _run_explained(
        self, events: Events, policy: str | None, time: str | tuple[str, str] | None, event: str | None, unit: str
    ) -> Engine:
        """Return an engine that has run events to the end and can explain them; what goals write is dropped."""
        engine = self.engine(policy=policy, output=lambda _: None, justification="full", effects=nowhere())
        if isinstance(events, str | Path):
            from etalis.formats import feed, read
            from etalis.formats.row import reading_of

            reading = reading_of(self.compiled, event=event, time=time, unit=unit)
            deque(feed(engine, read(events, reading)), maxlen=0)
            engine.core.evidence.shown.dates |= reading.seen.stamps
        elif is_table(events):
            engine.detect(events, time=time, event=event, unit=unit)
            engine.close()
        else:
            deque(_run_all(engine, events), maxlen=0)
        return engine

    def compare(self, new: Program, rows: Iterable[Any], *, policy: str | None = None) -> list[Difference]:
        """Return the matches that a new program gains and loses against this one over the same rows, in order."""
        taken = list(rows)
        engines = [program.engine(policy=policy, effects=nowhere()) for program in (self, new)]
        return compare_matches(*(_run_all(engine, taken) for engine in engines))

    @with_options
    def detect(
        self, source: Any, *, time: str | tuple[str, str] | None = None, event: str | None = None,
        order: str | None = None, unit: str = "s", encoding: str | None = None, policy: str | None = None,
        select: str | None = None, envelope: bool = False, match_id: bool = False, contributors: bool = False,
        id: str | None = None, knowledge: Mapping[str, Any] | None = None, batch: int = BATCH,  # noqa: A002
        threads: int = 2, progress: bool | Tell = False, on_error: Callable[[ConditionError], object] | None = None,
        on_dead_letter: Callable[[DeadLetter], object] | None = None, ahead: Ahead = None,
        on_report: Callable[[Report], object] | None = None, strict: bool = False,
    ) -> pa.Table:  # fmt: skip
        """Return the complex events in a table as an Arrow table; needs `etalis[columnar]`.

        The source is a file (Parquet or a folder of it, Arrow, CSV, JSON lines) or a table of Arrow, pandas, Polars or
        DuckDB, or one per event: `{"login": table1, "payment": table2}`. `time`, `event`, `order` and `unit` say how
        columns are read, `select`, `envelope` and `match_id` the form of the results, `knowledge` which tables of facts
        are added for this call, `policy` the consumption policy, `batch` how many rows are taken at a time. With
        `contributors` there is a column of the rows that each match is made of, by the ids that the column `id` has.
        `progress=True` shows on a terminal how far it is, a function is called with the rows and matches so far.
        `on_error` and `on_dead_letter` are those of `engine`. What a person should know comes as a `ReportWarning`, or
        goes to `on_report`; where the call is `strict` it is an error, with what was found all the same as `found`.
        """
        from etalis.detect import detect
        from etalis.tables.plan import ResultForm
        from etalis.tables.schema import Options

        options, form = (
            Options(time, event, order, unit, id, encoding),
            ResultForm(select, envelope, contributors, match_id),
        )
        engine = EngineOptions(policy, on_error=on_error, on_dead_letter=on_dead_letter, ahead=ahead, strict=strict)
        pace = Pace(batch, threads, progress)
        return detect(self.compiled, source, options, form, engine, pace, knowledge, on_report)

    def on(self, spark: Any) -> SparkProgram:
        """Return the program on a Spark session: `program.on(spark).detect(df, time=...)`; needs `etalis[spark]`."""
        from etalis.spark import SparkProgram

        return SparkProgram(self.compiled, spark)


def _run_all(engine: Engine, rows: Iterable[Any] | Mapping[str, Any]) -> Iterator[Event]:
    yield from engine.run(rows)
    yield from engine.close()
