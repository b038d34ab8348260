"""A unit of queries as a program of rules: declarations, rules, and the clauses and facts that they ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from etalis.data.values import Value
from etalis.epsparql import syntax as q
from etalis.epsparql.reads import Predicates
from etalis.epsparql.translate.paths import PathTranslator
from etalis.epsparql.translate.queries import SELECTED, UNRESTRICTED, QueryHead, Surroundings, head_of, query_rules
from etalis.epsparql.translate.schema import StreamSchema
from etalis.epsparql.translate.triples import AskedFacts
from etalis.epsparql.translate.windows import WINDOW_LIMITS, WindowTranslator
from etalis.epsparql.windows import is_windowed
from etalis.errors import Problem, ProgramError
from etalis.language import syntax as s
from etalis.language.operators import PATTERN_WORDS

_TRIPLE, _QUAD = ("s", "p", "o"), ("s", "p", "o", "g", "n")
NO_SCHEMA = StreamSchema(())
_WORDS = frozenset(("rdf", SELECTED, "aggregate", "any", "iso", "not")) | PATTERN_WORDS


@dataclass(frozen=True, slots=True)
class Translation:
    """The program of a unit, the facts it asks beside the background, and what each query reports."""

    tree: s.Tree
    facts: Mapping[tuple[str, int], list[tuple[Value, ...]]]
    heads: tuple[QueryHead, ...]


def translate(
    unit: q.Unit, known: Predicates | None = None, schema: StreamSchema = NO_SCHEMA, *, policy: str | None = None,
    names_graphs: bool = False, is_alone: bool = True, origin: int = 0, writes_sets: bool = False,
) -> Translation:  # fmt: skip
    """Return the program of a unit that `check` has passed.

    `names_graphs` where elements have graphs and streams to be told apart though no query names one. A program that is
    not alone has other rules beside it, whose policy stays as it is. Steps of windows are counted from `origin`, in
    microseconds. With `writes_sets` rules say by themselves what they read, also where a schema entails it.
    """
    heads = _find_heads(unit)
    facts = AskedFacts()
    has_graphs = names_graphs or any(map(_names_graph, unit.queries))
    chosen = policy or UNRESTRICTED
    paths, has_atoms = PathTranslator(facts), unit.dialect == "etalis"
    around = Surroundings(known or Predicates(), schema, facts, paths, has_graphs, chosen, has_atoms, writes_sets)
    windows = WindowTranslator(unit, around, origin)
    rules: list[s.Rule] = []
    for number, query in enumerate(unit.queries, 1):
        given = query.policy or (None if is_alone else chosen)
        made = windows.rules(query, number) if is_windowed(query) else query_rules(query, number, around)
        rules += _with_policy(made, number, given)
    flag = s.SetFlag("event_consumption_policy", s.Const(chosen))
    items: list[s.Item] = [flag] if is_alone else []
    items += _declarations(heads, has_graphs)
    if any(map(is_windowed, unit.queries)):
        items += [s.SetFlag(name, s.Const(most)) for name, most in WINDOW_LIMITS.items()]
        items += _triggers(heads, has_graphs, has_atoms)
    declared = {"table": facts.tabled, "dynamic": facts.dynamic}
    items += [s.Declare(kind, tuple(names)) for kind, names in declared.items() if names]
    items += [*rules, *facts.clauses]
    return Translation(s.Tree(tuple(items), unit.span), {key: list(rows) for key, rows in facts.rows.items()}, heads)


def _find_heads(unit: q.Unit) -> tuple[QueryHead, ...]:
    """Return the heads of the queries; a name is that of one query, and no word of the rule language."""
    heads: dict[str, QueryHead] = {}
    found, problems = [], []
    for number, query in enumerate(unit.queries, 1):
        head = head_of(query, number)
        found.append(head)
        if head.columns is None:
            continue
        if head.name in _WORDS or head.name in heads:
            what = "is that of another query" if head.name in heads else "has a meaning in rules"
            problems.append(Problem("E268", f"the name {head.name} {what}", query.span, "register it by another name"))
        heads[head.name] = head
    if problems:
        raise ProgramError(*problems)
    return tuple(found)


def _with_policy(rules: Iterator[s.Rule], number: int, policy: str | None) -> Iterator[s.Rule]:
    for rule in rules:
        if rule.properties:
            yield rule
            continue
        properties = () if policy is None else (s.Property("policy", s.Const(policy)),)
        yield replace(rule, label=f"query_{number}", properties=properties) if properties else rule


def _declarations(heads: tuple[QueryHead, ...], has_graphs: bool) -> Iterator[s.EventDeclaration]:
    columns: dict[str, tuple[str, ...]] = {"rdf": _QUAD if has_graphs else _TRIPLE}
    columns |= {head.name: head.columns for head in heads if head.columns}
    for name, attributes in columns.items():
        yield s.EventDeclaration(name, tuple((attribute, "any") for attribute in attributes))


def _triggers(heads: tuple[QueryHead, ...], has_graphs: bool, has_atoms: bool) -> Iterator[s.Trigger]:
    """Yield what makes of a program's events the queries' results alone reported."""
    triple = len(_QUAD if has_graphs else _TRIPLE)
    kinds = {head.name: triple if head.columns is None else len(head.columns) for head in heads}
    kinds |= {SELECTED: 1} if has_atoms else {}
    for name, arity in kinds.items():
        yield s.Trigger("print_trigger", s.Compound("/", (s.Const(name), s.Const(arity))))


def _names_graph(query: q.StreamQuery) -> bool:
    """Tell whether a query names a graph or a stream, for its patterns or for its results."""
    if any(dataset.kind in ("stream", "window") for dataset in query.datasets):
        return True
    if query.form == "construct" and query.registered is not None and query.registered[0] != "query":
        return True
    waiting: list[object] = [query.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, q.Scoped):
            return True
        if isinstance(node, tuple):
            waiting.extend(node)
        elif isinstance(node, q.Element | q.StreamQuery):
            waiting.extend(getattr(node, name) for name in node.__dataclass_fields__)
    return False
