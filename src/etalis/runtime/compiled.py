"""A compiled program: checked text, ready to make engines."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack

from etalis.errors import ConditionError, Problem, ProgramError
from etalis.language.attributes import Signature
from etalis.language.check.checks import check_rules, check_text
from etalis.language.check.effects import acts_on_run, find_effects, reads_clock, refuse_effects
from etalis.language.flags import Settings, settings, with_ahead, with_limits
from etalis.language.read.imports import Reader, read_below, read_file, read_nothing
from etalis.language.rules import declarations, event_rules
from etalis.language.skipping import skip_broken as skip_broken_clauses
from etalis.language.syntax import Program as Tree
from etalis.language.syntax import Rule, Trigger
from etalis.logic.host import Clock
from etalis.logic.knowledge.foreign import functions, read_register
from etalis.logic.knowledge.loaders import load_rows
from etalis.logic.rdf.load import RdfOptions
from etalis.logic.solver import Solver
from etalis.plan import algebra as p
from etalis.plan.attribute_names import name_attributes
from etalis.plan.explain.text import Explanation, explain_rules, write_text
from etalis.plan.rules import plan_rules
from etalis.runtime.codegen.conditions import Conditions
from etalis.runtime.comparison import Difference, compare_matches
from etalis.runtime.engine import Engine
from etalis.runtime.knowledge import Knowledge
from etalis.runtime.lateness.watermark import DeadLetter
from etalis.runtime.rdf_graphs import Graphs
from etalis.runtime.reporting.program_warnings import OPEN, tell_warnings
from etalis.runtime.reporting.unknown_names import check_facts
from etalis.runtime.reporting.unknown_options import with_options
from etalis.runtime.state import Reported
from etalis.runtime.triggers import find_reported
from etalis.temporal.event import Event

_FILE_NAME = re.compile(r"[^\n<>%]+\.(etalis|event|pl|P|txt)\s*")


def compile(  # noqa: A001
    text: str,
    *,
    name: str = "<program>",
    imports: str | Path | None = None,
    read: Reader | None = None,
    register: Mapping[str, Callable[..., Any]] | None = None,
    strict: bool = False,
    skip_broken: bool = False,
    **flags: object,
) -> Program:
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
    return _compile(text, name, reader, folder, register or {}, flags, strict=strict, skips=skip_broken)


def compile_file(
    path: str | Path,
    *,
    imports: str | Path | None = None,
    read: Reader | None = None,
    register: Mapping[str, Callable[..., Any]] | None = None,
    strict: bool = False,
    encoding: str | None = None,
    skip_broken: bool = False,
    **flags: object,
) -> Program:
    """Compile a program from a file, which may import what lies below its own folder, or below `imports`.

    The files are UTF-8 text, or what their byte order marks tell, unless an `encoding` is given.
    """
    where = Path(path)
    text = read_file(str(where), encoding)
    if text is None:
        raise ProgramError(Problem("E100", f"cannot read the program {where}", hint="check the path"))
    reader = read or read_below(where.parent if imports is None else imports, encoding)
    return _compile(text, str(where), reader, None, register or {}, flags, strict=strict, skips=skip_broken)


def _refuse_file(text: Any) -> None:
    """Refuse the name of a file in the place of a program."""
    if isinstance(text, Path) or (isinstance(text, str) and _FILE_NAME.fullmatch(text)):
        hint = "a program is a text; for a file, call etalis.compile_file"
        raise ProgramError(Problem("E100", f"{text} is the name of a file, not a program", hint=hint))
    if not isinstance(text, str):
        raise TypeError(f"a program is a text, not {type(text).__name__}; for a file, call etalis.compile_file")


def _compile(
    text: str, name: str, read: Reader, folder: str | None, register: Mapping[str, Callable[..., Any]],
    flags: Mapping[str, object], *, strict: bool, skips: bool,
) -> Program:  # fmt: skip
    added = read_register(register)
    skipped: list[Problem] = []
    if skips:
        sound = skip_broken_clauses(text, name, read=read, folder=folder, given=frozenset(added))
        tree, problems, skipped = sound.program, sound.problems, sound.skipped
    else:
        tree, problems = check_text(text, name, read=read, folder=folder, given=frozenset(added))
    errors = [problem for problem in problems if problem.is_error]
    if errors:
        raise ProgramError(*errors)
    program = Program(tree, tuple(problems), settings(tree, flags), strict=strict)
    refused = tuple(refuse_effects(tree, program.settings)) if program.settings.corrects else ()
    if refused:
        raise ProgramError(*refused)
    program.skipped = tuple(skipped)
    program.knowledge.register(added.values())
    tell_warnings((problem for problem in problems if problem.code not in OPEN), strict=strict)
    return program


class Program:
    """A checked program, and the knowledge that the host adds to it."""

    def __init__(self, tree: Tree, problems: tuple[Problem, ...], settings: Settings, *, strict: bool = False) -> None:
        self.tree = tree
        self.settings = settings
        self.rules: tuple[Rule, ...] = event_rules(tree)
        self.knowledge = Knowledge(tree)
        self.graphs = Graphs()
        self.skipped: tuple[Problem, ...] = ()  # the errors of clauses that were left out
        self._problems = problems
        self._strict = strict
        self._told: set[Problem] = set()  # one for all copies
        self._plans: dict[tuple[Settings, bool], tuple[p.Head, ...]] = {}

    def __repr__(self) -> str:
        from etalis.runtime.reporting.display import describe_program  # of use where a person looks alone

        return describe_program(self)

    def _repr_html_(self) -> str:
        from etalis.runtime.reporting.display import show_program

        return show_program(self)

    if not TYPE_CHECKING:  # for a type checker a program would have every attribute

        def __getattr__(self, name: str) -> Any:
            """Say where the methods of engines are."""
            if not name.startswith("_") and hasattr(Engine, name):
                raise AttributeError(f"a program has no {name}, its engines have: program.engine().{name}")
            raise AttributeError(f"a program has no {name}")

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The warnings, without those that added knowledge answers."""
        return self.knowledge.unanswered(self._problems)

    def tell_unknown(self) -> None:
        """Warn, once, of predicates that nothing defines: now that the program runs, nothing more will."""
        if all(problem.code not in OPEN or problem in self._told for problem in self._problems):
            return
        found = [problem for problem in self.problems if problem.code in OPEN and problem not in self._told]
        if not self._strict:
            self._told.update(found)
        tell_warnings(found, strict=self._strict)

    def register(self, name: str, function: Callable[..., Any], arity: int | None = None) -> None:
        """Give a Python function to conditions and actions, in engines made from now on.

        It is called with the first arguments, as many as it has parameters; one that is unbound arrives as None. With
        no argument left it is a test (a bool); with one left, its result is that argument's value. Any iterable that
        is no str, tuple or dict gives solutions: tuples for the arguments left, or for all. None is no solution.
        Without an arity the function is both, a test and a function of one argument more.
        """
        self.knowledge.register(functions(name, function, arity))

    def load_facts(self, name: str, source: Any, columns: Sequence[str | int] | None = None) -> int:
        """Add the rows of a table as facts, in engines made from now on; return how many.

        The source is a file (CSV, JSON lines, Parquet, Arrow), a table of Arrow or pandas, a pair of a DB-API
        connection and a query, a cursor, or rows. `columns` says which columns, in which order; numbers count from 0.
        """
        rows = load_rows(source, columns)
        check_facts(self.tree, name, rows.arity)
        return self.knowledge.load((name, rows))

    def load_rdf(self, source: Any, **options: Unpack[RdfOptions]) -> int:
        """Add the triples of RDF as facts `rdf(S, P, O)`, in engines made from now on; return how many.

        The source is a file (Turtle, N-Triples, RDF/XML, N-Quads, TriG), an open one with its `format`, or a list of
        these; needs `etalis[rdf]`. `prefixes` says how IRIs are named, `entailment="rdfs"` and `transitive` what is
        added, `relations` which properties and classes are relations too, `language` which texts are taken.
        """
        return self.graphs.load(self.knowledge, source, options)

    @cached_property
    def signatures(self) -> Mapping[str, Signature]:
        """Names and types of attributes, by event: declared, or implied by the names that patterns give them."""
        return {name: d.attributes for (name, _), d in declarations(self.tree).items()}

    @cached_property
    def implied(self) -> frozenset[str]:
        """The events whose attributes have names because patterns name them, and no order of their own."""
        return frozenset(name for (name, _), d in declarations(self.tree).items() if d.implied)

    @cached_property
    def attributes(self) -> dict[tuple[str, int], tuple[str, ...]]:
        """Names of attributes, by kind of event: declared, of those that rules make also as heads name them."""
        declared = {kind: tuple(a for a, _ in d.attributes) for kind, d in declarations(self.tree).items()}
        return {**declared, **name_attributes((rule.head for rule in self.rules), declared)}

    def settings_under(self, policy: str | None) -> Settings:
        """Return the settings, with another consumption policy if one is given; refuse one that does not exist."""
        if policy is None:
            return self.settings
        settings(self.tree, {"event_consumption_policy": policy})
        return replace(self.settings, policy=policy)

    def plans(self, policy: str | None = None, *, parts: bool = False) -> tuple[p.Head, ...]:
        """Return the plans of the rules, which are made once; with `parts` they keep the inputs' numbers."""
        wanted = self.settings_under(policy), parts
        if wanted not in self._plans:
            self._plans[wanted] = plan_rules(self.rules, wanted[0], parts=parts)
        return self._plans[wanted]

    def taking(self, places: Sequence[int]) -> Program:
        """Return a program with some of the rules, which keep the names that they have by their places."""
        part = copy(self)
        part.rules = tuple(replace(self.rules[i], label=self.rules[i].label or str(i + 1)) for i in places)
        part._plans = {}
        return part

    def solver(self, output: Callable[[str], object], clock: Clock) -> Solver:
        """Return a fresh logic machine over the program's knowledge."""
        return Solver(self.knowledge.database(), output=output, clock=clock)

    @cached_property
    def effects(self) -> tuple[str, ...]:
        """The side effects of the program's goals, in words."""
        return find_effects(self.tree)

    @cached_property
    def acts_on_run(self) -> bool:
        """Whether goals may raise events or change rules."""
        return acts_on_run(self.tree)

    @cached_property
    def reads_clock(self) -> bool:
        """Whether goals may ask what time it is."""
        return reads_clock(self.tree)

    @cached_property
    def triggers(self) -> tuple[Trigger, ...]:
        """What says which events are reported."""
        return tuple(item for item in self.tree.items if isinstance(item, Trigger))

    def is_reported(self, name: str, arity: int, conditions: Conditions | None = None) -> Reported:
        """Tell which events of a kind are reported: all of a head, or those that the triggers name."""
        return find_reported(self.triggers, name, arity, conditions)

    def check_rules(self, rules: Iterable[Rule]) -> None:
        """Check rules that come at run time beside those the program has."""
        errors = [problem for problem in check_rules(self.tree, rules) if problem.is_error]
        if errors:
            raise ProgramError(*errors)

    @with_options
    def engine(
        self, *, policy: str | None = None, parts: bool = False, clock: Callable[[], Any] | None = None,
        on_error: Callable[[ConditionError], object] | None = None, output: Callable[[str], object] | None = None,
        on_dead_letter: Callable[[DeadLetter], object] | None = None, sources: Iterable[Hashable] = (),
        limits: Mapping[str, object] = MappingProxyType({}), ahead: float | str | timedelta | None = None,
        wall: Callable[[], Any] | None = None, strict: bool = False,
    ) -> Engine:  # fmt: skip
        """Return a fresh engine for one stream of events.

        What goals write goes to `output`, piece by piece; without it to `sys.stdout`. The time that goals see is that
        of the clock, without one the time reached. The watermark waits for each of the `sources` that are named here,
        and for those that have sent something. `limits` goes before the flags `soft_limit`, `hard_limit`, `shedding`,
        `ahead` (seconds, a text such as "10 min" or a timedelta, -1 for none) before `max_ahead`: an event that ends
        further ahead of the latest time before it, or of the clock `wall` if there is one, is a dead letter and moves
        nothing. `strict` makes errors of what `engine.report` would say.
        """
        self.tell_unknown()
        engine = Engine(
            self, policy=policy, parts=parts, clock=clock, on_error=on_error, output=output, wall=wall,
            strict=strict, on_dead_letter=on_dead_letter, sources=sources,
            settings=with_ahead(with_limits(self.settings, limits), ahead),
        )  # fmt: skip
        engine.open_entries()
        return engine

    def compare(self, new: Program, rows: Iterable[Any], *, policy: str | None = None) -> list[Difference]:
        """Return the matches that a new program gains and loses against this one over the same rows, in order."""
        taken = list(rows)
        return compare_matches(*(_run_all(program.engine(policy=policy), taken) for program in (self, new)))

    def restore(self, *data: bytes, **options: Any) -> Engine:
        """Return an engine that goes on from a snapshot and the deltas after it, in the order they were taken.

        The options are those of `engine`; policy and parts are as they were. Parts of rules that this program has as
        well take over their state; `engine.restored` says which ones, and what has no place here.
        """
        from etalis.runtime.snapshot.file import read_images
        from etalis.runtime.snapshot.snapshot import read_options, restore_engine  # Arrow is loaded where it is needed

        image = read_images(data)
        engine = self.engine(**{**read_options(image), **options})
        engine.restored = restore_engine(engine, image)
        return engine

    def explain(self, *, policy: str | None = None) -> str:
        """Say how the program is run: the plan of every rule, its events and their types, what can be parted."""
        return write_text(self._explanation(policy))

    def explain_dot(self, *, policy: str | None = None) -> str:
        """Return the plan as Graphviz text."""
        from etalis.plan.explain.dot import write_dot

        return write_dot(self._explanation(policy))

    def explain_svg(self, *, policy: str | None = None) -> str:
        """Return the plan as an SVG picture."""
        from etalis.plan.explain.svg import write_svg

        return write_svg(self._explanation(policy))

    def code(self, *, policy: str | None = None) -> str:
        """Return the Python code that an engine of the program runs."""
        return self.engine(policy=policy, output=lambda _: None).code()

    def _explanation(self, policy: str | None) -> Explanation:
        return explain_rules(self.tree, self.plans(policy), self.is_reported, sharing=self.settings.sharing)

    def detect(self, source: Any, **options: Any) -> Any:
        """Return the complex events in a table as an Arrow table; needs `etalis[columnar]`.

        The source is a file (Parquet or a folder of it, Arrow, CSV, JSON lines) or a table of Arrow, pandas, Polars or
        DuckDB, or one per event: `{"login": table1, "payment": table2}`. `time`, `event`, `order` and `unit` say how
        columns are read, `select`, `envelope` and `match_id` the form of the results, `knowledge` which tables of facts
        are added for this call, `policy` the consumption policy, `batch` how many rows are taken at a time.
        `progress=True` shows on a terminal how far it is, a function is called with the rows and matches so far.
        `on_error` and `on_dead_letter` are those of `engine`. What a person should know comes as a `ReportWarning`, or
        goes to `on_report`; where the call is `strict` it is an error, with what was found all the same as `found`.
        """
        # Tables stand above the runtime, so they are found by name when they are asked for.
        return import_module("etalis.detect").detect(self, source, **options)

    def on(self, spark: Any) -> Any:
        """Return the program on a Spark session: `program.on(spark).detect(df, time=...)`; needs `etalis[spark]`."""
        # Spark stands above the runtime, so it is found by name when it is asked for.
        return import_module("etalis.spark").SparkProgram(self, spark)


def _run_all(engine: Engine, rows: Iterable[Any]) -> Iterator[Event]:
    yield from engine.run(rows)
    yield from engine.close()
