"""Knowledge on the command line: which tables and RDF files a program is given, by the options of `run` and `check`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from etalis.epsparql.read import DIALECTS
from etalis.logic.rdf.load import NAMINGS, RdfOptions
from etalis.program import Program
from etalis.program import compile as compile_rules
from etalis.sparql import compile_sparql

Texts = list[str] | None
EVERYTHING = "all"
QUERIES = (".rq", ".epsparql")
_TABLE = re.compile(r"([^=()]*[^=()\s])\s*(?:\(([^()]*)\))?\s*=(.+)", re.DOTALL)
_PAIR = re.compile(r"([^=]*)=(.+)", re.DOTALL)
_PAIR_OR_ALL = re.compile(rf"{EVERYTHING}|{_PAIR.pattern}", re.DOTALL)


def _several(text: str, metavar: str, shape: re.Pattern[str], *declared: str) -> Any:
    """Return an option that may be given several times, each time in a shape."""

    def check_shape(values: Texts) -> Texts:
        for value in values or ():
            if shape.fullmatch(value) is None:
                raise typer.BadParameter(f"{value!r} is not {metavar}")
        return values

    return typer.Option(*declared, help=text, metavar=metavar, callback=check_shape)


def _one_of(text: str, known: Sequence[str]) -> Any:
    """Return an option that is one of some words."""

    def check_word(value: str | None) -> str | None:
        if value is not None and value not in known:
            raise typer.BadParameter(f"{value!r} is not {' or '.join(known)}")
        return value

    return typer.Option(help=text, metavar="|".join(known), callback=check_word)


@dataclass(frozen=True, slots=True)
class KnowledgeOptions:
    """The knowledge that a command line names."""

    facts: Annotated[Texts, _several("Facts from a table; NAME(COLUMN,...) chooses columns.", "NAME=FILE", _TABLE)] = (
        None
    )
    rdf: Annotated[
        list[Path] | None, typer.Option(help="Facts rdf(S, P, O) from RDF; several files are one graph.")
    ] = None
    prefix: Annotated[Texts, _several("A prefix of RDF; then those of the files do not count.", "NAME=IRI", _PAIR)] = (
        None
    )
    relation: Annotated[
        Texts, _several("A property or class of RDF that is a relation too; all of them.", "NAME=IRI|all", _PAIR_OR_ALL)
    ] = None
    entailment: Annotated[str | None, _one_of("Add what RDF entails.", ("rdfs",))] = None
    transitive: Annotated[
        Texts, typer.Option(help="Add the transitive closure of this property of RDF.", metavar="IRI")
    ] = None
    terms: Annotated[str | None, _one_of("How terms of RDF are named; exact: as in RDF streams.", NAMINGS)] = None

    background: Annotated[
        list[Path] | None, typer.Option(help="RDF files that queries (.rq, .epsparql) read beside the stream.")
    ] = None
    streamed: Annotated[
        Texts, typer.Option(help="Predicate of the background that streams have too.", metavar="IRI")
    ] = None
    vocabulary: Annotated[str | None, typer.Option(help="IRI of the bare names of queries.", metavar="IRI")] = None
    dialect: Annotated[
        str | None, typer.Option(help="How queries are written, if not in the standard.", metavar="|".join(DIALECTS))
    ] = None
    origin: Annotated[
        str | None, typer.Option(help="The time that steps of windows of queries are counted from.", metavar="TIME")
    ] = None

    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes that are given by name."""
        return dict(_parts(_PAIR, given) for given in self.prefix or ())

    def compile(self, path: Path, text: str, *, skip_broken: bool = False) -> Program:
        """Return the program of a file, rules or queries, with all of its knowledge."""
        if not is_query(path):
            if self.background or self.streamed or self.vocabulary or self.dialect or self.origin:
                options = "--background, --streamed, --vocabulary, --dialect and --origin"
                raise typer.BadParameter(f"{options} are of queries: {' or '.join(f'*{e}' for e in QUERIES)}")
            program = compile_rules(text, name=str(path), imports=path.parent, skip_broken=skip_broken)
            return self.add_to(program)
        if self.rdf or self.relation or self.terms or skip_broken:
            options = "--rdf, --relation, --terms and --skip-broken"
            raise typer.BadParameter(f"{options} are of rules: give queries --background")
        program = compile_sparql(
            text, name=str(path), background=self.background or None, prefixes=self.prefixes,
            vocabulary=self.vocabulary, dialect=self.dialect, streamed=self.streamed or (),
            transitive=self.transitive or (), origin=self.origin or 0,
        )  # fmt: skip
        return KnowledgeOptions(facts=self.facts).add_to(program)

    def add_to(self, program: Program) -> Program:
        """Load all of it into a program."""
        for name, columns, file in self._tables():
            program.load_facts(name, file, columns)
        if self.rdf:
            program.load_rdf(self.rdf, **self._options())
        elif self.prefix or self.relation or self.entailment or self.transitive or self.terms:
            raise typer.BadParameter("--prefix, --relation, --entailment, --transitive and --terms need --rdf")
        return program

    def _tables(self) -> Iterator[tuple[str, list[str | int] | None, str]]:
        for given in self.facts or ():
            name, columns, file = _parts(_TABLE, given)
            yield name, None if columns is None else [_column(c.strip()) for c in columns.split(",")], file

    def _options(self) -> RdfOptions:
        options: RdfOptions = {"entailment": self.entailment, "transitive": self.transitive or []}
        if self.terms:
            options["terms"] = self.terms
        if self.prefix:
            options["prefixes"] = self.prefixes
        if self.relation:
            named = [given for given in self.relation if given != EVERYTHING]
            if named and len(named) < len(self.relation):
                raise typer.BadParameter("--relation all leaves nothing to name")
            options["relations"] = dict(_parts(_PAIR, given) for given in named) or True
        return options


NOTHING = KnowledgeOptions()


def is_query(path: Path) -> bool:
    """Tell whether a file holds queries, by its ending."""
    return path.suffix.lower() in QUERIES


def with_knowledge(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of knowledge behind its own; it takes them together, as `knowledge`."""
    hints = get_type_hints(KnowledgeOptions, include_extras=True)
    own = signature(command, eval_str=True)
    mine = [option for option in own.parameters.values() if option.name != "knowledge"]
    more = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in hints.items()]

    @wraps(command)
    def call(**options: Any) -> None:
        command(knowledge=KnowledgeOptions(**{name: options.pop(name) for name in hints}), **options)

    call.__signature__ = own.replace(parameters=[*mine, *more])  # type: ignore[attr-defined]
    return call


def _parts(shape: re.Pattern[str], text: str) -> tuple[Any, ...]:
    found = shape.fullmatch(text)
    assert found is not None, "the options' shapes are checked first"
    return found.groups()


def _column(name: str) -> str | int:
    return int(name) if name.isdecimal() else name
