"""The text of a unit -> its tree, with all findings at once."""

from __future__ import annotations

from collections.abc import Mapping

from etalis.epsparql.read.check import check_query
from etalis.epsparql.read.namespaces import Namespaces, UnknownNameError
from etalis.epsparql.read.queries import QueryReader, recover
from etalis.epsparql.read.query_text import MAX_PROBLEMS, QueryText, ReadingError, describe
from etalis.epsparql.read.terms import is_goal
from etalis.epsparql.read.words import BEHIND_BODY, TEMPORAL
from etalis.epsparql.syntax import StreamQuery, Unit
from etalis.errors import OptionError, Problem, ProgramError, Source, Span
from etalis.language.check.spelling import suggest

DIALECTS = ("etalis",)


def read_unit(
    text: str,
    *,
    name: str = "<query>",
    prefixes: Mapping[str, str] | None = None,
    vocabulary: str | None = None,
    dialect: str | None = None,
) -> Unit:
    """Read the queries of a text, or raise all its errors.

    >>> read_unit("SELECT ?s { ?s a <http://x/C> }").queries[0].form
    'select'
    """
    unit, problems = read_collect(text, name=name, prefixes=prefixes, vocabulary=vocabulary, dialect=dialect)
    errors = [problem for problem in problems if problem.is_error]
    if errors:
        raise ProgramError(*errors)
    return unit


def read_collect(
    text: str,
    *,
    name: str = "<query>",
    prefixes: Mapping[str, str] | None = None,
    vocabulary: str | None = None,
    dialect: str | None = None,
) -> tuple[Unit, list[Problem]]:
    """Read what can be read of a text; return it with the errors of the rest, and with warnings."""
    if dialect is not None and dialect not in DIALECTS:
        hint = suggest(str(dialect), DIALECTS, 'the dialects are None, the standard, and "etalis"')
        raise OptionError(Problem("E338", f"there is no dialect {dialect!r}", hint=hint))
    source = Source(name, text)
    r = QueryText(source, Namespaces(prefixes, vocabulary, atoms=dialect == "etalis"), dialect)
    r.names.keep_labels(token.text for token in r.tokens if token.kind == "blank")
    queries = _read_queries(r)
    problems = sorted(_first_causes(r.problems), key=_place)
    if len(problems) > MAX_PROBLEMS:
        last = problems[MAX_PROBLEMS - 1].span
        problems[MAX_PROBLEMS:] = [Problem("E119", f"more than {MAX_PROBLEMS} errors; the rest is not shown", last)]
    return Unit(tuple(queries), dialect, Span(source, 0, len(text))), problems


def _first_causes(problems: list[Problem]) -> list[Problem]:
    """Leave out what follows from a quote that is never closed, and warnings where not all could be read."""
    if any(problem.is_error for problem in problems):
        problems = [problem for problem in problems if problem.is_error]
    quote = next((problem for problem in problems if problem.code == "E102"), None)
    if quote is None:
        return problems
    return [p for p in problems if p.code == "E102" or (p.code != "E107" and _place(p) < _place(quote))]


def _place(problem: Problem) -> int:
    return 0 if problem.span is None else problem.span.start


def _read_queries(r: QueryText) -> list[StreamQuery]:
    reader = QueryReader(r)
    found: list[StreamQuery] = []
    broken = False
    while r.token.kind != "eof":
        first = r.at
        try:
            _read_prologue(r)
            if r.token.kind == "eof" and (found or broken):
                break
            query = reader.query()
            found.append(query)
            check_query(r, query)
            r.accept(";")
            _check_end(r)
        except ReadingError as finding:
            broken = True
            if r.at == first:
                r.take()
            recover(r, finding)
    if not found and not broken:
        r.report("E108", "there is no query in this text", r.token, "a query begins with SELECT, CONSTRUCT or ASK")
    return found


def _check_end(r: QueryText) -> None:
    """Refuse what stands behind a query and begins no other."""
    if r.token.kind == "eof" or r.begins_query() or r.tokens[r.at - 1].text == ";":
        return
    raise r.refusal("E108", f"expected the end of the query, found {describe(r.token)}", r.token, _misplaced(r))


def _misplaced(r: QueryText) -> str:
    if r.word in ("OPTIONAL", "MINUS", "BIND", "GRAPH", "STREAM", "WINDOW", "UNION"):
        return f"{r.word} stands inside the braces of the query"
    if r.sees("}"):
        return "a brace closes here that was not opened"
    if r.word in TEMPORAL:
        return f"{r.word} stands right behind a group in braces, filters behind the whole chain"
    if r.word in ("FILTER", "WITHIN"):
        return f"{r.word} stands before GROUP BY, HAVING, VALUES and POLICY"
    if r.word == "DO":
        return 'DO belongs to dialect="etalis"'
    if r.word == "AND" or r.sees("{"):
        return "groups that are joined stand side by side in braces: { { ... } { ... } }"
    if r.word and r.following.text == "{":
        return suggest(r.word, TEMPORAL, f"the words between groups are {', '.join(sorted(TEMPORAL))}, UNION")
    if r.dialect is not None and is_goal(r):
        return "goals stand in FILTER ( ... ) or DO ( ... ), joined by &&"
    if r.sees(")") or r.sees("."):
        return "a bracket closes here that was not opened" if r.sees(")") else "leave the full stop out"
    return suggest(r.word, BEHIND_BODY, "queries are separated by `;`")


def _read_prologue(r: QueryText) -> None:
    while word := r.accept_word("PREFIX", "BASE"):
        token = r.token
        if word == "PREFIX":
            if token.kind != "pname" or not token.text.endswith(":") or ":" in token.text[:-1]:
                hint = "write PREFIX ex: <http://...>"
                raise r.refusal("E108", f"PREFIX: expected a prefix, found {describe(token)}", token, hint)
            r.take()
        place = r.token
        if place.kind != "iri":
            example = f"PREFIX {token.text}" if word == "PREFIX" else "BASE"
            hint = f"write {example} <http://...>"
            raise r.refusal("E108", f"{word}: expected an IRI in brackets, found {describe(place)}", place, hint)
        r.take()
        try:
            iri = r.names.iri(place.text)[1:-1]
        except UnknownNameError as problem:
            r.report("E131", problem.message, place, problem.hint)
            continue
        if word == "BASE":
            r.names.base = iri
        else:
            r.names.prefixes[token.text[:-1]] = iri
