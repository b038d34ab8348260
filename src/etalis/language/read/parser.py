"""Program text -> syntax tree, with all findings of a text at once.

Every clause is read on its own: one that cannot be read is reported and left out, and reading goes on behind its full
stop. `parse_collect` returns what could be read together with the findings; `parse` raises them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeVar

from etalis.errors import Problem, ProgramError, Source, Span
from etalis.language import syntax as s
from etalis.language.ground_terms import variables
from etalis.language.operators import ARGUMENT, CLAUSE, GoalOperators, is_arrow
from etalis.language.read.clauses import indicators, to_clause, to_directive
from etalis.language.read.foreign_signs import with_foreign_hint
from etalis.language.read.heads import make_rule, to_event
from etalis.language.read.messages import wrong_operator
from etalis.language.read.pattern import BODY, PatternParser
from etalis.language.read.reactions import ReactionParser, declares_state, reactive_word, read_state
from etalis.language.read.reader import MAX_DEPTH, TermReader, check_depth, describe, missing_stop, too_deep
from etalis.language.read.tokens import ClauseError, Token, Tokenizer, refusal

MAX_PROBLEMS = 100
T = TypeVar("T")


def parse(text: str, name: str = "<program>") -> s.Tree:
    """Read a program, or raise all its syntax errors.

    >>> parse("hit(X) <- a(X) seq b(X).").items[0].head.name
    'hit'
    """
    program, problems = parse_collect(text, name)
    if problems:
        raise ProgramError(*problems)
    return program


def parse_collect(text: str, name: str = "<program>") -> tuple[s.Tree, list[Problem]]:
    """Read what can be read of a program; return it with the syntax errors of the rest."""
    source = Source(name, text)
    items: list[s.Item] = []
    problems: list[Problem] = []
    for item, found, end in read_clauses(source):
        items += [] if item is None else [item]
        problems += found[: MAX_PROBLEMS - len(problems)]
        if len(problems) >= MAX_PROBLEMS:
            problems.append(Problem("E119", f"more than {MAX_PROBLEMS} errors; the rest of the text is not read", end))
            break
    return s.Tree(tuple(items), Span(source, 0, len(text))), problems


def read_clauses(source: Source) -> Iterator[tuple[s.Item | None, list[Problem], Span]]:
    """Yield every clause of a text, or what is wrong with it, and where it ends."""
    parser = _ClauseParser(source)
    for tokens in Tokenizer(source).clauses():
        item, found = None, _lexical(tokens)
        if not found:
            try:
                item = parser.clause(tokens)
            except ClauseError as finding:
                found = [with_foreign_hint(finding.problem, tokens)]
        yield item, found, Span(source, tokens[-1][2], tokens[-1][3])


def parse_term(text: str, name: str = "<term>") -> s.Term:
    """Read one term, with or without a full stop behind it.

    >>> parse_term("f(X, 1 + 2)").name
    'f'
    """
    return _parse_one(text, name, lambda parser: parser.reader.term(CLAUSE))


def parse_event(text: str, name: str = "<event>") -> s.EventPattern:
    """Read one ground event.

    >>> parse_event("a(1, f(x))").args[0]
    Const(value=1)
    """
    event = parse_event_pattern(text, name)
    free = variables(event)
    if free:
        shown = "_" if free[0].startswith("_#") else free[0]
        hint = "give every attribute a value"
        raise ProgramError(Problem("E113", f"an event that occurs has no variables, found `{shown}`", event.span, hint))
    return event


def parse_event_pattern(text: str, name: str = "<event>") -> s.EventPattern:
    """Read the pattern of one event.

    >>> parse_event_pattern("fraud(c1, _)").name
    'fraud'
    """
    return _parse_one(text, name, lambda parser: to_event(parser.reader.term(CLAUSE), parser.reader))


def parse_rule(text: str, name: str = "<rule>") -> s.Rule:
    """Read one event rule.

    >>> parse_rule("r1 rule: hit <- a seq b").label
    'r1'
    """
    return _parse_one(text, name, lambda parser: parser.rule_alone())


def parse_action(text: str, name: str = "<action>") -> s.Action:
    """Read one action.

    >>> parse_action("ins(p(1)) seq q(X)").operator
    'seq'
    """
    return _parse_one(text, name, lambda parser: parser.reactions.actions.action())


def _parse_one(text: str, name: str, read: Callable[[_ClauseParser], T]) -> T:
    source = Source(name, text)
    clauses = list(Tokenizer(source).clauses())
    try:
        if not clauses:
            raise refusal("E106", "the text is empty", Span(source, 0, len(text)))
        if len(clauses) > 1:
            first = clauses[1][0]
            raise refusal("E108", "the text goes on behind the full stop", Span(source, first[2], first[3]))
        lexical = _lexical(clauses[0])
        if lexical:
            raise ProgramError(*lexical)
        return _ClauseParser(source).alone(clauses[0], read)
    except ClauseError as finding:
        raise ProgramError(finding.problem) from None


def _lexical(tokens: list[Token]) -> list[Problem]:
    """Return what the tokenizer found wrong in a clause."""
    return list(islice((token[1] for token in tokens if token[0] == "error"), MAX_PROBLEMS))


def _is_sign(token: Token | None) -> bool:
    """Tell whether a token is a sign such as +, behind which an arrow is a name and no arrow."""
    return token is not None and token[0] == "name" and not token[1][0].isalnum()


class _ClauseParser:
    """Reads clauses one after the other; remembers the operators that the program defines."""

    __slots__ = ("patterns", "reactions", "reader")

    def __init__(self, source: Source) -> None:
        self.reader = TermReader(source, GoalOperators())
        self.patterns = PatternParser(self.reader)
        self.reactions = ReactionParser(self.patterns)

    def clause(self, tokens: list[Token]) -> s.Item:
        """Read one clause."""
        if tokens[-1][0] == "eof":
            self.reader.open(tokens)
            self.reader.at = len(tokens) - 1
            raise missing_stop(self.reader)
        return self.alone(tokens, lambda parser: parser._item())

    def alone(self, tokens: list[Token], read: Callable[[_ClauseParser], T]) -> T:
        """Read all tokens of a clause as one thing."""
        self.reader.open(tokens)
        try:
            result = read(self)
        except RecursionError:  # the caller's own stack was nearly full
            raise too_deep(self.reader.span_of(tokens[self.reader.at])) from None
        if tokens[self.reader.at][0] not in ("end", "eof"):
            raise self.reader.wrong_next(None)
        if len(tokens) > MAX_DEPTH:
            check_depth(result)
        return result

    def _item(self) -> s.Item:
        reader = self.reader
        first = reader.tokens[0]
        if first[0] == "name" and (first[1] == ":-" or first[1] == "?-"):
            reader.at = 1
            return self._directive()
        word, at = reactive_word(reader)
        if word:
            return self.reactions.clause(word, at)
        if self._has_arrow():
            return self.rule()
        if first[0] == "end":
            raise reader.refusal("E108", "a clause is missing before the full stop", first)
        term = reader.term(CLAUSE)
        is_action = isinstance(term, s.Compound) and term.name == "do" and len(term.args) == 2
        if is_action and reader.tokens[0][1] != "do":
            return self._action_rule()
        return to_clause(term, self._span(), reader)

    def _has_arrow(self) -> bool:
        """Tell whether the clause's first sign of its kind, outside brackets, is the arrow of a rule."""
        depth = 0
        before: Token | None = None
        for token in self.reader.tokens:
            kind, value, _, _ = token
            if kind == "punct":
                depth += (value in "([{") - (value in ")]}")
            elif depth == 0 and kind != "number":
                if value == ":-" or value == "-->":
                    return False
                if (value == "<-" or (before and is_arrow(token))) and not _is_sign(before):
                    return True
            before = token
        return False

    def rule_alone(self) -> s.Rule:
        """Read an event rule that is no part of a program's text."""
        word, at = reactive_word(self.reader)
        if word:
            message = f"`{word}` begins a clause of a program: event rules alone come and go while it runs"
            hint = "a constraint goes by its label; it cannot come later" if word == "constraint" else None
            raise self.reader.refusal("E293", message, self.reader.tokens[at], hint)
        return self.rule()

    def rule(self) -> s.Rule:
        """Read an event rule."""
        reader = self.reader
        found = self.patterns.rule_or_operand()
        if reader.tokens[reader.at][0] not in ("end", "eof"):
            raise wrong_operator(reader, None)
        if not isinstance(found, s.Rule):
            raise refusal(
                "E116",
                "a pattern without a head",
                found.span or self._span(),
                "event rules are written Head <- Pattern",
            )
        return found

    def _action_rule(self) -> s.Rule:
        """Read `Pattern do Action.`: the event trigger_action(Action) stands for the head it lacks."""
        self.reader.at = 0
        self.reader.anonymous = 0
        found = self.patterns.pattern(BODY)
        if not isinstance(found, s.Do) or self.reader.tokens[self.reader.at][0] != "end":
            raise wrong_operator(self.reader, None)
        return make_rule(None, s.EventPattern("trigger_action", (found.action,), found.span), found, self.reader)

    def _directive(self) -> s.Item:
        reader = self.reader
        word = reader.tokens[1][1]
        if word == "import" or word == "export":
            reader.at = 2
            names = indicators(reader.term(1000))
            return s.Export(names, self._span()) if word == "export" else self._import(names)
        if declares_state(reader):
            reader.at = 2
            return read_state(reader, self._span())
        goal = reader.term(BODY)
        if reader.tokens[reader.at][0] != "end":
            raise reader.wrong_next(None)
        return to_directive(goal, self._span(), reader.operators)

    def _import(self, names: tuple[tuple[str, int], ...]) -> s.Item:
        reader = self.reader
        token = reader.tokens[reader.at]
        hint = "write :- import a/1, b/2 from 'file.event'."
        if token[1] != "from" or token[0] != "name":
            raise reader.refusal("E116", f"expected `from` and a file, found {describe(token)}", token, hint)
        reader.at += 1
        file = reader.term(ARGUMENT)
        if not isinstance(file, s.Const) or not isinstance(file.value, str):
            raise reader.refusal("E116", "the name of a file belongs behind `from`", token, hint)
        return s.Import(names, file.value, self._span())

    def _span(self) -> Span:
        """Return the span of the clause without its full stop."""
        tokens = self.reader.tokens
        return Span(self.reader.source, tokens[0][2], tokens[-2][3])
