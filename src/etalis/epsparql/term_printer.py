"""Terms, property paths and expressions of EP-SPARQL as text, with no more brackets than reading needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from etalis.data.values import Value, decimal_text
from etalis.epsparql.read.expressions import COMPARED, LEVELS
from etalis.epsparql.read.functions import AGGREGATES, FUNCTIONS
from etalis.epsparql.read.namespaces import KNOWN, bare
from etalis.epsparql.read.words import KEYWORDS
from etalis.errors import Problem, ProgramError
from etalis.language.read.reader import MAX_DEPTH
from etalis.language.syntax import Compound, Const, ListTerm, Term, Var
from etalis.logic.rdf.entailment import RDF
from etalis.logic.rdf.exact_terms import STRING, escape, kind_of, split_literal

_LOCAL = re.compile(r"[^\W\d_](?:[\w\-]*\w)?")
_NAME = re.compile(r"[^\W\d]\w*")
_UNARY: Mapping[str, str] = MappingProxyType({"!": "!", "neg": "-", "pos": "+"})
_PATHS: Mapping[str, int] = MappingProxyType({"|": 1, "/": 2, "^": 3, "*": 4, "+": 4, "?": 4})
_ATOM = 9


class TermPrinter:
    """Writes terms; IRIs by the prefixes given, and remembers which of them it used."""

    __slots__ = ("_depth", "_prefixes", "used")

    def __init__(self, prefixes: Mapping[str, str] | None = None) -> None:
        declared = {**KNOWN, **{name.rstrip(":"): bare(iri) for name, iri in (prefixes or {}).items()}}
        self._prefixes = sorted(declared.items(), key=lambda entry: -len(entry[1]))
        self._depth = 0
        self.used: dict[str, str] = {}

    def constant(self, value: Value) -> str:
        """Write an IRI, number or other literal."""
        if isinstance(value, float):
            return repr(float(value))
        if isinstance(value, int):
            return decimal_text(value)
        if kind_of(value) == "iri":
            return self.iri(value)
        lexical, datatype, language = split_literal(value)
        quoted = f'"{escape(lexical)}"'
        if language is not None:
            return f"{quoted}@{language}"
        return quoted if datatype == STRING else f"{quoted}^^{self.iri(f'<{datatype}>')}"

    def iri(self, text: str) -> str:
        """Write an IRI with the longest prefix that fits."""
        inner = text[1:-1]
        for name, space in self._prefixes:
            local = inner[len(space) :]
            if space and inner.startswith(space) and _LOCAL.fullmatch(local):
                self.used[name] = space
                return f"{name}:{local}"
        return text

    def term(self, term: Term) -> str:
        """Write what stands in a triple, a goal or a list."""
        match term:
            case Var(name=name):
                return name if name.startswith("_:") else f"?{name}"
            case Const(value=value):
                return self.constant(value)
            case Compound(name=name, args=arguments):
                return f"{name}({self._list(map(self.term, arguments))})"
            case ListTerm(items=items):
                return f"[{self._list(map(self.term, items))}]"

    def _list(self, parts: Iterable[str]) -> str:
        self._deepen()
        text = ", ".join(parts)
        self._depth -= 1
        return text

    def _deepen(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH + 1:
            raise ProgramError(Problem("E112", f"nesting deeper than {MAX_DEPTH} levels"))

    def predicate(self, term: Term) -> str:
        """Write a predicate or property path; a plain name of the original's dialect stands bare."""
        if isinstance(term, Const) and isinstance(term.value, str):
            if term.value == f"<{RDF}type>":
                return "a"
            if _NAME.fullmatch(term.value) and term.value.upper() not in KEYWORDS and term.value != "a":
                return term.value
        return self._path(term, 0) if isinstance(term, Compound) else self.term(term)

    def _path(self, term: Term, floor: int) -> str:
        """Write a path, in brackets if it binds less than it must."""
        if not isinstance(term, Compound):
            return self.predicate(term)
        self._deepen()
        level = _PATHS.get(term.name, _ATOM)
        match term.name:
            case "|" | "/":
                text = term.name.join(self._path(part, level + 1) for part in term.args)
            case "^":
                text = f"^{self._path(term.args[0], 4)}"
            case "!":
                text = f"!({'|'.join(self._path(part, 3) for part in term.args)})"
            case _:
                text = self._path(term.args[0], 5) + term.name
        self._depth -= 1
        return f"({text})" if level < floor else text

    def expression(self, term: Term, floor: int = 0) -> str:
        """Write an expression, in brackets if its operator binds less than it must."""
        if not isinstance(term, Compound):
            return self.term(term)
        self._deepen()
        text, level = self._operation(term)
        self._depth -= 1
        return f"({text})" if level < floor else text

    def _operation(self, term: Compound) -> tuple[str, int]:
        """Write an operator or call; tell how strongly it binds."""
        match term:
            case Compound(name=name, args=(left, right)) if name in LEVELS:
                level = LEVELS[name]
                first = self.expression(left, level + (level == COMPARED))
                return f"{first} {name} {self.expression(right, level + 1)}", level
            case Compound(name="in", args=(value, *choices)):
                return self._membership(value, choices, "IN"), COMPARED
            case Compound(name="!", args=(Compound(name="in", args=(value, *choices)),)):
                return self._membership(value, choices, "NOT IN"), COMPARED
            case Compound(name=name, args=(inner,)) if name in _UNARY:
                sign = _UNARY[name]
                text = self.expression(inner, _ATOM)
                bracketed = sign != "!" and not isinstance(inner, Var) and not text.startswith("(")
                return f"{sign}({text})" if bracketed else sign + text, _ATOM - 1
            case Compound(name=name, args=arguments) if name in AGGREGATES:
                return self._aggregate(name, arguments), _ATOM
        return self._call(term), _ATOM

    def _membership(self, value: Term, choices: Iterable[Term], word: str) -> str:
        return f"{self.expression(value, COMPARED + 1)} {word} ({self._list(map(self.expression, choices))})"

    def _call(self, term: Compound) -> str:
        if term.name.startswith("<"):
            name = self.iri(term.name)
        else:
            name = FUNCTIONS[term.name].spelling if term.name in FUNCTIONS else term.name
        return f"{name}({self._list(map(self.expression, term.args))})"

    def _aggregate(self, name: str, arguments: tuple[Term, ...]) -> str:
        word, (value, *separator) = "", arguments or (None,)
        if isinstance(value, Compound) and value.name == "distinct":
            word, value = "DISTINCT ", value.args[0] if value.args else None
        inner = "*" if value is None else self.expression(value)
        tail = f"; SEPARATOR={self.term(separator[0])}" if separator else ""
        return f"{AGGREGATES[name]}({word}{inner}{tail})"
