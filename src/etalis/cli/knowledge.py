"""Knowledge on the command line: which tables and RDF files a program is given, by the options of `run` and `check`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from etalis.logic.rdf.load import RdfOptions
from etalis.program import Program

Texts = list[str] | None
EVERYTHING = "all"
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


def _one(value: str | None) -> str | None:
    if value not in (None, "rdfs"):
        raise typer.BadParameter(f"{value!r} is not rdfs")
    return value


Facts = Annotated[Texts, _several("Facts from a table; NAME(COLUMN,...) chooses columns.", "NAME=FILE", _TABLE)]
Rdf = Annotated[list[Path] | None, typer.Option(help="Facts rdf(S, P, O) from RDF; several files are one graph.")]
Prefix = Annotated[Texts, _several("A prefix of RDF; then those of the files do not count.", "NAME=IRI", _PAIR)]
Relation = Annotated[
    Texts, _several("A property or class of RDF that is a relation too; all of them.", "NAME=IRI|all", _PAIR_OR_ALL)
]
Entailment = Annotated[str | None, typer.Option(help="Add what RDF entails.", metavar="rdfs", callback=_one)]
Transitive = Annotated[Texts, typer.Option(help="Add the transitive closure of this property of RDF.", metavar="IRI")]


@dataclass(frozen=True, slots=True)
class Given:
    """The knowledge that a command line names."""

    facts: Texts = None
    rdf: list[Path] | None = None
    prefix: Texts = None
    relation: Texts = None
    entailment: str | None = None
    transitive: Texts = None

    def add_to(self, program: Program) -> Program:
        """Load all of it into a program."""
        for name, columns, file in self._tables():
            program.load_facts(name, file, columns)
        if self.rdf:
            program.load_rdf(self.rdf, **self._options())
        elif self.prefix or self.relation or self.entailment or self.transitive:
            raise typer.BadParameter("--prefix, --relation, --entailment and --transitive need --rdf")
        return program

    def _tables(self) -> Iterator[tuple[str, list[str | int] | None, str]]:
        for given in self.facts or ():
            name, columns, file = _parts(_TABLE, given)
            yield name, None if columns is None else [_column(c.strip()) for c in columns.split(",")], file

    def _options(self) -> RdfOptions:
        options: RdfOptions = {"entailment": self.entailment, "transitive": self.transitive or []}
        if self.prefix:
            options["prefixes"] = dict(_parts(_PAIR, given) for given in self.prefix)
        if self.relation:
            named = [given for given in self.relation if given != EVERYTHING]
            if named and len(named) < len(self.relation):
                raise typer.BadParameter("--relation all leaves nothing to name")
            options["relations"] = dict(_parts(_PAIR, given) for given in named) or True
        return options


NOTHING = Given()


def _parts(shape: re.Pattern[str], text: str) -> tuple[Any, ...]:
    found = shape.fullmatch(text)
    assert found is not None, "the options' shapes are checked first"
    return found.groups()


def _column(name: str) -> str | int:
    return int(name) if name.isdecimal() else name
