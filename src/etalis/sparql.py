"""EP-SPARQL for hosts: `compile_sparql` makes a program of queries, with the background that they read.

A query becomes rules over `rdf(S, P, O)` (`epsparql.translate`), so queries run wherever programs do: event at a time,
over tables and on Spark; and rules may stand beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import merge
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from etalis.data.values import Value
from etalis.epsparql import syntax as q
from etalis.epsparql.check import check
from etalis.epsparql.printer import print_unit
from etalis.epsparql.read import read_collect
from etalis.epsparql.reads import known_predicates
from etalis.epsparql.results import to_json, to_trig
from etalis.epsparql.stream_entailment import close
from etalis.epsparql.translate.queries import QueryHead
from etalis.epsparql.translate.schema import StreamSchema
from etalis.epsparql.translate.unit import NO_SCHEMA, Translation, translate
from etalis.errors import InputError, OptionError, Problem, ProgramError
from etalis.formats import Item, Row, feed, read
from etalis.formats.row import reading_of
from etalis.language.attributes import Signature
from etalis.language.check.checks import findings
from etalis.language.read.imports import read_nothing
from etalis.language.read.modules import resolve
from etalis.language.read.parser import parse_collect
from etalis.language.rules import events_in, labelled_rules
from etalis.language.syntax import Compound, Const, EventDeclaration, Rule, Tree, Trigger
from etalis.logic.knowledge.loaders import LoadedRows
from etalis.logic.rdf.exact_terms import encode, in_brackets
from etalis.logic.rdf.load import load_graph
from etalis.logic.rdf.plain_names import PlainNames
from etalis.program import Program
from etalis.runtime.compiled import CompiledProgram, compile_tree
from etalis.runtime.reporting.program_warnings import OPEN, tell_warnings
from etalis.temporal.event import Event
from etalis.temporal.interval import EARLIEST, to_time

KnownTriple = tuple[Value, Value, Value]
_Facts: TypeAlias = Mapping[tuple[str, int], list[tuple[Value, ...]]]
TRIPLE = "rdf"
NO_STREAMS: Mapping[str, str | Path] = MappingProxyType({})
_RULES = "<rules>"
_WIDTHS = {
    3: "no query names a graph or a stream: rdf(S, P, O)",
    5: "a query names a graph or a stream: rdf(S, P, O, Graph, Stream)",
}
_UNBOUNDED = "W209"
_OWN_RESULT, _OWN_STAMP = "E243", "E255"
_MISSES_ITSELF = (_OWN_RESULT, _OWN_STAMP)
_EMPTY = "E212"  # no match fits into a window: a query may be without solutions


class SparqlProgram(Program):
    """A program of queries: what each reports, and the files of the streams that they name."""

    def __init__(
        self, compiled: CompiledProgram, queries: tuple[QueryHead, ...], streams: Mapping[str, str | Path]
    ) -> None:
        super().__init__(compiled)
        self.queries = queries
        self.streams = streams

    def run_streams(self, **options: Any) -> Iterator[Event]:
        """Run the streams that were given (`streams=`), in the order of time; the options are those of `engine`."""
        sources = [_timed(self.compiled, iri, source) for iri, source in self.streams.items()]
        merged = (item for _, _, item in merge(*sources, key=lambda row: row[:2]))
        return feed(self.engine(**options), merged)

    def results(self, matches: Iterable[Event], *, format: str = "json", query: str | None = None) -> str:  # noqa: A002
        """Return matches as text: of a SELECT the SPARQL 1.1 Results JSON, of all that is constructed `trig`.

        Of several SELECT queries one is named by its `query`, such as `select_2`.
        """
        if format == "trig":
            if all(head.columns is not None for head in self.queries):
                hint = "write CONSTRUCT { ... } WHERE { ... }; what is selected is written as json"
                raise OptionError(Problem("E339", "no query constructs triples", hint=hint))
            return to_trig(match for match in matches if match.name == TRIPLE)
        if format != "json":
            raise OptionError(Problem("E339", f"there is no format of results {format}", hint="json or trig"))
        selects = {head.name: head.columns for head in self.queries if head.columns is not None}
        chosen = query if query is not None else next(iter(selects)) if len(selects) == 1 else None
        if chosen not in selects:
            hint = f"query=, one of {', '.join(selects)}" if selects else "what is constructed is written as trig"
            message = "several queries have results" if query is None else f"there is no query {query}"
            raise OptionError(Problem("E339", message, hint=hint))
        return to_json((match for match in matches if match.name == chosen), selects[chosen] or ())


def compile_sparql(
    text: str, *, name: str = "<query>", vocabulary: str | None = None, prefixes: Mapping[str, str] | None = None,
    streams: Mapping[str, str | Path] = NO_STREAMS, streamed: Iterable[str] = (), background: Any = None,
    background_predicates: Iterable[str] = (), rules: str = "", dialect: str | None = None, policy: str | None = None,
    entailment: str | None = "rdfs", transitive: Sequence[str] = (), origin: object = 0, strict: bool = False,
    **flags: object,
) -> SparqlProgram:  # fmt: skip
    """Compile queries of EP-SPARQL; raise a ProgramError with all that is wrong, and warn of what looks wrong.

    `background` is an RDF file, a list of these, or triples of pyoxigraph; a mapping from IRIs to these says what FROM
    names. `streams` are files by the IRIs of their streams, for `program.run_streams`. `streamed` and
    `background_predicates` are IRIs of predicates that are read in streams too, or never.
    `rules` is a program that runs beside the queries: it sees triples as `rdf(S, P, O)`, terms in the exact naming, and
    the queries by their names. `prefixes` and `vocabulary` add to what the text declares. Policies are those of rules,
    `unrestricted` unless `policy` or the query says otherwise; RDFS entails unless `entailment` is None. The steps of
    windows are counted from `origin`, a time. With `dialect="etalis"` queries are written as for the original: names
    are plain, and a SELECT is also the event `select_event([V1, V2, ...])`.
    """
    unit, noted = read_collect(text, name=name, prefixes=prefixes, vocabulary=vocabulary, dialect=dialect)
    _raise_errors(noted)
    over_background = partial(
        _translate, unit, tuple(streamed), tuple(background_predicates), entailment, transitive, policy, vocabulary,
        is_alone=not rules, origin=_moment(origin),
    )  # fmt: skip
    if isinstance(background, Iterator):
        background = list(background)
    first = over_background(background)
    tree, told = _join_rules(first, rules)
    if any(problem.code in _MISSES_ITSELF for problem in told):  # perhaps what a look-up would not find
        over_background = partial(over_background, writes_sets=True)
        first = over_background(background)
        tree, told = _join_rules(first, rules)
    program = _make_program(tree, first.facts, [*noted, *first.problems, *told], name, flags, strict=strict)
    if dialect is not None:
        tell_warnings([_standard_form(unit)], strict=False)
    program.background, program.plain_names = first.held, first.plain_names
    program.read_background = partial(_read_again, over_background, first)
    named = in_brackets if first.plain_names is None else first.plain_names.read_iri
    sources = {named(iri): source for iri, source in streams.items()}
    return SparqlProgram(program, first.translation.heads, sources)


@dataclass(frozen=True, slots=True)
class _OverBackground:
    """Queries over a background: their rules, the facts that these ask, the predicates that no stream may have."""

    translation: Translation
    facts: _Facts
    held: frozenset[Value]
    problems: list[Problem]
    plain_names: PlainNames | None


def _translate(
    unit: q.Unit, streamed: Iterable[str], held: Iterable[str], entailment: str | None, transitive: Sequence[str],
    policy: str | None, vocabulary: str | None, background: Any, *, is_alone: bool, origin: int,
    writes_sets: bool = False,
) -> _OverBackground:  # fmt: skip
    loaded, namespace = _load_background(unit, background)
    names = None if unit.dialect is None else PlainNames(vocabulary or namespace)
    named = in_brackets if names is None else names.read_iri
    if names is not None:
        loaded = names.name_triples(loaded)
    closed = close(loaded, entailment is not None, map(named, transitive), has_atoms=names is not None)
    decided = map(named, streamed), map(named, held)
    known = known_predicates(unit, loaded, closed, *decided, rdfs=entailment is not None)
    problems = check(unit, known)
    _raise_errors(problems)
    schema = NO_SCHEMA if entailment is None else StreamSchema(closed, has_atoms=names is not None)
    translated = translate(
        unit, known, schema, policy=policy, is_alone=is_alone, origin=origin, writes_sets=writes_sets
    )
    facts: _Facts = {(TRIPLE, 3): list(closed)} if closed else {}
    found = frozenset(filter(known.is_background, known.loaded | known.background))
    return _OverBackground(translated, {**facts, **translated.facts}, found, problems, names)


def _read_again(
    over: Callable[[Any], _OverBackground], first: _OverBackground, background: Any
) -> Mapping[tuple[str, int], LoadedRows]:
    """Return the facts of another background for the same rules; one that makes others of the queries is refused."""
    again = over(background)
    if again.translation.tree != first.translation.tree or again.held != first.held:
        hint = "compile the queries with it, and go on from a snapshot: program.restore(engine.snapshot())"
        raise InputError(Problem("E409", "with this background the queries become other rules", hint=hint))
    keys = first.facts.keys() | again.facts.keys()
    return {(name, n): LoadedRows("the background", n, again.facts.get((name, n), [])) for name, n in sorted(keys)}


def _moment(origin: object) -> int:
    try:
        return to_time(origin)
    except ValueError as error:
        hint = "give a number of seconds, a datetime, or text like 2026-01-31T12:00:00Z"
        raise InputError(Problem("E303", f"origin: {error}", hint=hint)) from None


def _raise_errors(problems: Iterable[Problem]) -> None:
    errors = [problem for problem in problems if problem.is_error]
    if errors:
        raise ProgramError(*errors)


def _standard_form(unit: q.Unit) -> Problem:
    """Return the note on queries that are not in the standard form, how they are written there."""
    lines = print_unit(unit).rstrip().splitlines()
    hint = "\n    ".join(["the standard form, whose names need a prefix or vocabulary=, is", *lines])
    return Problem("W132", "the queries are in the dialect of the original", unit.queries[0].span, hint)


def _load_background(unit: q.Unit, background: Any) -> tuple[list[KnownTriple], str | None]:
    """Return the triples of the background as loaded, in the exact naming, and the namespace of the empty prefix."""
    named = [dataset for query in unit.queries for dataset in query.datasets if dataset.kind == "default"]
    if not isinstance(background, Mapping):
        if named:
            hint = "give a mapping: background={'http://...': 'file.ttl'}; nothing is fetched"
            raise ProgramError(Problem("E266", f"FROM {named[0].iri}: no such background", named[0].span, hint))
        return ([], None) if background is None else _read_triples(background)
    sources = {in_brackets(iri): source for iri, source in background.items()}
    found: dict[KnownTriple, None] = {}
    namespace = None
    for dataset in named:
        if dataset.iri not in sources:
            hint = f"known are {', '.join(sources) or 'none'}; nothing is fetched"
            raise ProgramError(Problem("E266", f"FROM {dataset.iri}: no such background", dataset.span, hint))
        triples, space = _read_triples(sources[dataset.iri])
        found.update(dict.fromkeys(triples))
        namespace = namespace or space
    return list(found), namespace


def _read_triples(source: Any) -> tuple[list[KnownTriple], str | None]:
    """Return the triples of files, or those given, and the namespace of the empty prefix."""
    given = list(source) if isinstance(source, Iterable) and not isinstance(source, str | Path) else None
    if given is not None and all(isinstance(row, tuple) or hasattr(row, "subject") for row in given):
        return [_encode_triple(row) for row in given], None
    facts = load_graph(source if given is None else given, terms="exact")
    return [(s, p, o) for s, p, o in facts.relations[0][1].rows], facts.prefixes.get("")


def _encode_triple(row: Any) -> KnownTriple:
    parts = (row.subject, row.predicate, row.object) if hasattr(row, "subject") else tuple(row)
    if len(parts) != 3:
        hint = "a triple is three terms of pyoxigraph, or values in the exact naming"
        raise InputError(Problem("E407", f"no triple of the background: {row!r}", hint=hint))
    s, p, o = (encode(part) if hasattr(part, "value") or hasattr(part, "triple") else part for part in parts)
    return s, p, o


def _join_rules(first: _OverBackground, rules: str) -> tuple[Tree, list[Problem]]:
    """Return the rules of queries with those beside them, and what is found wrong in these."""
    translated = first.translation
    beside, unread = parse_collect(rules, _RULES) if rules else (Tree(()), [])
    items = (*translated.tree.items, *_reported_beside(translated, beside), *beside.items)
    tree, missing = resolve(Tree(items, translated.tree.span), read_nothing)
    unread += missing
    unread += _other_triples(beside, len(_triple_attributes(translated.tree)))
    found = map(_of_query, findings(tree, frozenset(first.facts)))
    return tree, [*unread, *(problem for problem in found if problem is not None)]


def _make_program(
    tree: Tree, facts: _Facts, told: list[Problem], name: str, flags: Mapping[str, object], *, strict: bool
) -> CompiledProgram:
    """Return the program of queries, with the facts that they ask."""
    program = compile_tree(tree, told, flags=flags, strict=strict)
    for (fact, arity), rows in facts.items():
        program.knowledge.load((fact, LoadedRows(name, arity, list(rows))))
    tell_warnings((problem for problem in told if problem.code not in OPEN), strict=strict)
    return program


def _reported_beside(translated: Translation, beside: Tree) -> Iterator[Trigger]:
    """Yield what makes rules beside queries with windows, whose own events are not reported, report all theirs."""
    triggers = [item for item in beside.items if isinstance(item, Trigger)]
    rules = [item for item in beside.items if isinstance(item, Rule)]
    if not triggers and any(isinstance(item, Trigger) for item in translated.tree.items):
        for name, arity in dict.fromkeys((rule.head.name, len(rule.head.args)) for rule in rules):
            yield Trigger("print_trigger", Compound("/", (Const(name), Const(arity))))


def _triple_attributes(tree: Tree) -> Signature:
    return next(item.attributes for item in tree.items if isinstance(item, EventDeclaration) and item.name == TRIPLE)


def _other_triples(rules: Tree, width: int) -> list[Problem]:
    """Return a problem for each pattern of triples that queries do not have: with graph and stream, or without."""
    return [
        Problem("E267", f"rdf/{len(event.args)} is read, but triples are rdf/{width} here", event.span, _WIDTHS[width])
        for rule in labelled_rules(rules)
        for event in events_in(rule.pattern)
        if event.name == TRIPLE and len(event.args) != width
    ]


def _timed(program: CompiledProgram, iri: str, source: str | Path) -> Iterator[tuple[int, int, Item]]:
    """Yield the rows of a stream with the ends of their intervals; what cannot be read comes where it stands."""
    reading = reading_of(program, stream=iri)
    last = start = EARLIEST
    for item in read(source, replace(reading, retracts=program.settings.revision)):
        if isinstance(item, Row):
            last, start = item.event.end_time, item.event.start_time
        yield last, start, item


def _of_query(problem: Problem) -> Problem | None:
    """Return a finding about rules that says something to whoever wrote the query; those of other rules stay."""
    if problem.span is not None and problem.span.source.name == _RULES:
        return problem
    if problem.code == _OWN_RESULT:
        message = "what is constructed at a stamp may depend on its being missing there"
        return Problem(_OWN_STAMP, message, problem.span, "look strictly back: OPTIONALSEQ, or the left of SEQ")
    if problem.code in OPEN and problem.span is not None:  # a goal of the query itself
        return problem
    if problem.code != _UNBOUNDED:
        return problem if problem.is_error and problem.code != _EMPTY else None
    message = "the query keeps what it has seen for ever: nothing says how long a solution may be"
    return Problem(problem.code, message, problem.span, "add WITHIN, or a FILTER on getDURATION()")
