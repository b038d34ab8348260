"""RDF files as facts: `rdf(S, P, O)` for every triple and, where wanted, a relation per property and class.

pyoxigraph reads the files; it is handed one line at a time, so that the line of whatever is refused is known. All
files of a load are one graph: entailment comes first, names last, so neither depends on the order of the files.
Blank nodes are numbered as they appear and apart per file; graphs of a dataset are merged. Terms are short atoms and
values (`atoms`, `cell_values`), or, for queries, those of `exact_terms`.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypedDict

from etalis.errors import EtalisError, InputError, Problem
from etalis.logic.knowledge.cell_values import XSD, literal
from etalis.logic.knowledge.loaders import LoadedRows
from etalis.logic.rdf.atoms import AtomNames, Relations, find_parts, name_relations, refuse
from etalis.logic.rdf.entailment import MAX_TRIPLES, TYPE, Graph, Node, entail
from etalis.logic.rdf.exact_terms import encode
from etalis.logic.rdf.oxigraph import NestingGuard, import_pyoxigraph
from etalis.logic.rdf.xml import XmlError, XmlGuard
from etalis.logic.terms.unify import Term


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write RDF: what it is called, by people and by pyoxigraph, and how its files end."""

    title: str
    reader: str
    endings: tuple[str, ...]


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "turtle": Format("Turtle", "TURTLE", (".ttl",)),
        "ntriples": Format("N-Triples", "N_TRIPLES", (".nt",)),
        "rdfxml": Format("RDF/XML", "RDF_XML", (".rdf", ".owl", ".xml")),
        "nquads": Format("N-Quads", "N_QUADS", (".nq",)),
        "trig": Format("TriG", "TRIG", (".trig",)),
    }
)
NAMINGS = ("short", "exact")
_POSITION = re.compile(r"Parser error at line \d+ (between )?columns? \d+( and \d+)?: ")


class RdfOptions(TypedDict, total=False):
    """How RDF becomes facts; docs/knowledge.md says what each means."""

    relations: Relations
    prefixes: Mapping[str, str] | None
    entailment: str | None
    transitive: Sequence[str]  # one name, or several
    language: str | None
    format: str | None
    base: str | None
    max_triples: int
    terms: str  # one of NAMINGS


@dataclass(frozen=True, slots=True)
class RdfFacts:
    """Relations with their names, `rdf` the first, how many blank nodes there are now, and the files' prefixes."""

    source: str
    relations: list[tuple[str, LoadedRows]]
    blanks: int
    prefixes: Mapping[str, str]


def load_graph(
    source: Any,
    *,
    relations: Relations = False,
    prefixes: Mapping[str, str] | None = None,
    entailment: str | None = None,
    transitive: Sequence[str] = (),
    language: str | None = None,
    format: str | None = None,  # noqa: A002
    base: str | None = None,
    max_triples: int = MAX_TRIPLES,
    terms: str = "short",
    complete: bool = True,
    blanks: int = 0,
) -> RdfFacts:
    """Read files as relations.

    `complete` refuses to name what the graph lacks; `blanks` is how many blank nodes there are already.
    """
    if entailment not in (None, "rdfs"):
        raise InputError(Problem("E407", f"unknown entailment {entailment!r}", hint="'rdfs' or None"))
    if terms not in NAMINGS:
        raise InputError(Problem("E407", f"unknown naming of terms {terms!r}", hint=f"one of {', '.join(NAMINGS)}"))
    reader = _Reader(import_pyoxigraph(), Graph(max_triples), language, blanks, encode if terms == "exact" else _value)
    files = list(source) if isinstance(source, list | tuple) else [source]
    for file in files:
        reader.read(file, format, base)
    if prefixes is None and reader.trouble is not None and (terms == "short" or relations or transitive):
        raise refuse(reader.trouble, "say what prefixes mean: prefixes={...}")
    names = AtomNames(reader.prefixes if prefixes is None else prefixes, exact=terms == "exact")
    chosen = [transitive] if isinstance(transitive, str) else transitive
    entail(reader.graph, rdfs=entailment is not None, transitive=[names.expand(name) for name in chosen])
    wanted = name_relations(find_parts(reader.graph), relations, names, complete=complete) if relations else []
    origin = ", ".join(map(_name_of, files))
    found = [("rdf", LoadedRows(origin, 3, _triples(reader.graph, names)))]
    found += [(name, LoadedRows(origin, n, rows)) for name, n, rows in _relations(reader.graph, wanted, names)]
    names.check()
    return RdfFacts(origin, found, reader.blanks, reader.prefixes)


def _triples(graph: Graph, names: AtomNames) -> list[tuple[Term, ...]]:
    atom = names.atom
    return [(atom(s), atom(p), atom(o) if o.__class__ is str else o[0]) for s, p, o in graph.triples]


def _relations(
    graph: Graph, wanted: Sequence[tuple[str, int, str]], names: AtomNames
) -> Iterator[tuple[str, int, list[tuple[Term, ...]]]]:
    """Yield name, arity and rows of a property's or a class's relation."""
    members: dict[Node, list[tuple[Term, ...]]] = {iri: [] for _, arity, iri in wanted if arity == 1}
    if members:
        for s, o in graph.pairs(TYPE):
            if o in members:
                members[o].append((names.atom(s),))
    for name, arity, iri in wanted:
        yield name, arity, members[iri] if arity == 1 else [(names.atom(s), names.term(o)) for s, o in graph.pairs(iri)]


def _name_of(file: Any) -> str:
    return str(file) if isinstance(file, str | Path) else str(getattr(file, "name", "the RDF text"))


class _Lines:
    """Hands an open file over line by line, to the guard of XML first, and knows which line was the last."""

    __slots__ = ("_ended", "_file", "_guard", "_nesting", "line")

    def __init__(self, file: Any, guard: XmlGuard | None) -> None:
        self._file = file
        self._guard = guard
        self._nesting = NestingGuard()
        self._ended = True
        self.line = 0

    def read(self, size: int = -1) -> Any:
        """Return the next line, or what of it fits."""
        self.line += self._ended
        piece = self._file.readline(size)
        self._ended = piece[-1:] in (b"\n", "\n")
        if self._guard is not None:
            self._guard.feed(piece)
            return piece
        if not isinstance(piece, str):
            self._nesting.feed(piece)
        elif "<<" in piece:
            self._nesting.feed(piece.encode(errors="surrogatepass"))
        if self.line == 1:
            piece = piece.removeprefix("\ufeff" if isinstance(piece, str) else BOM_UTF8)
        return piece


@dataclass(slots=True)
class _Reader:
    """Collects the triples of files, as nodes, and their prefixes."""

    oxigraph: Any
    graph: Graph
    language: str | None
    blanks: int
    value: Callable[[Any], Term]  # of a literal
    prefixes: dict[str, str] = field(default_factory=dict)
    trouble: str | None = None  # what is wrong with the prefixes, if they are asked for
    nodes: dict[str, str] = field(default_factory=dict)  # one object for each IRI, however often it is read

    def read(self, source: Any, format: str | None, base: str | None) -> None:  # noqa: A002
        """Add one file."""
        name = _name_of(source)
        if not isinstance(source, str | Path) and not hasattr(source, "readline"):
            hint = "give a file's name, an open file, or a list of these"
            raise InputError(Problem("E407", f"RDF cannot be read from {type(source).__name__}", hint=hint))
        kind = _format(name, format)
        guard = XmlGuard() if kind == "rdfxml" else None
        try:
            with Path(source).open("rb") if isinstance(source, str | Path) else nullcontext(source) as file:
                self._read_lines(_Lines(file, guard), name, kind, base)
        except OSError as error:
            message = f"cannot read {name}: {error.strerror or error}"
            raise InputError(Problem("E401", message, hint="check the file's name")) from None
        if guard is not None:
            self._add_prefixes(guard.prefixes, name)

    def _read_lines(self, lines: _Lines, name: str, kind: str, base: str | None) -> None:
        """Add the triples of an open file; what is wrong with one is refused with its line."""
        try:
            parser = self.oxigraph.parse(lines, getattr(self.oxigraph.RdfFormat, FORMATS[kind].reader), base_iri=base)
            self._add(parser)
            self._add_prefixes(parser.prefixes, name)
        except SyntaxError as error:
            message = _POSITION.sub("", error.msg)
            hint = 'give base="http://..."' if "No scheme" in message else "check this line"
            raise _refuse_line(
                name, error.lineno or lines.line, "E402", f"not {FORMATS[kind].title}: {message}", hint
            ) from None
        except XmlError as error:
            raise _refuse_line(name, lines.line, "E402", f"not RDF/XML: {error}", "check this line") from None
        except _UnfitError as error:
            raise _refuse_line(name, lines.line, "E405", str(error), error.hint) from None
        except UnicodeDecodeError:
            raise InputError(Problem("E402", f"{name}: not UTF-8 text", hint="convert the file to UTF-8")) from None
        except ValueError as error:
            raise InputError(Problem("E407", str(error), hint="base is an absolute IRI")) from None

    def _add(self, parser: Iterable[tuple[Any, Any, Any, Any]]) -> None:
        named, blank, text = self.oxigraph.NamedNode, self.oxigraph.BlankNode, self.oxigraph.Literal
        labels: dict[str, str] = {}
        share, add = self.nodes.setdefault, self.graph.add
        for s, p, o, _ in parser:
            subject = s.value
            subject = share(subject, subject) if s.__class__ is named else self._blank(subject, labels)
            predicate = p.value
            kind = o.__class__
            if kind is named:
                name = o.value
                add((subject, share(predicate, predicate), share(name, name)))
            elif kind is text:
                if o.language is None or self._is_wanted(o.language):
                    add((subject, share(predicate, predicate), (self.value(o),)))
            elif kind is blank:
                add((subject, share(predicate, predicate), self._blank(o.value, labels)))
            else:
                raise _UnfitError(f"a triple inside a triple: {o}", "use a blank node that stands for the statement")

    def _blank(self, label: str, labels: dict[str, str]) -> str:
        """Return the node of a blank node's label in its file."""
        found = labels.get(label)
        if found is None:
            self.blanks += 1
            found = labels[label] = f"_:{self.blanks}"
        return found

    def _is_wanted(self, language: str) -> bool:
        """Tell whether text of a language is taken: `en` takes `en-GB` too."""
        wanted, given = (self.language or "").lower(), language.lower()
        return not wanted or given == wanted or given.startswith(wanted + "-")

    def _add_prefixes(self, prefixes: Mapping[str, str], name: str) -> None:
        for prefix, space in prefixes.items():
            other = self.prefixes.setdefault(prefix, space)
            if other != space:
                self.trouble = f"{name}: the prefix {prefix}: is <{space}>, in another file <{other}>"


class _UnfitError(Exception):
    """A triple that cannot be a fact."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def _value(node: Any) -> Term:
    """Return the value of a literal."""
    text, datatype = node.value, node.datatype.value
    try:
        return literal(text, datatype)
    except ValueError:
        raise _UnfitError(f"{text!r} is no {datatype.replace(XSD, 'xsd:')}", "correct the text or its type") from None
    except EtalisError as error:
        raise _UnfitError(error.problems[0].message, "leave the triple out") from None


def _refuse_line(name: str, line: int, code: str, message: str, hint: str) -> InputError:
    return InputError(Problem(code, f"{name}, line {line}: {message}", hint=hint))


def _format(name: str, given: str | None) -> str:
    """Return the format of a file: its ending tells it, else it is given."""
    if given is not None and given not in FORMATS:
        raise InputError(Problem("E407", f"unknown format of RDF {given!r}", hint=f"one of {', '.join(FORMATS)}"))
    ending = Path(name).suffix.lower()
    found = next((kind for kind, row in FORMATS.items() if ending in row.endings), given)
    if found is None:
        known = ", ".join(chain.from_iterable(row.endings for row in FORMATS.values()))
        message = f"{name}: no known kind of RDF ends in {ending or 'nothing'!r}"
        raise InputError(Problem("E407", message, hint=f"known endings: {known}; or give format="))
    return found
