"""Tokens -> Prolog terms, by operator precedence.

A `TermReader` is at one token of one clause; the parsers of patterns and clauses share it. Every node gets the span of
its text. Law: what is nested deeper than `MAX_DEPTH` is refused, by the reader (brackets) or by `check_depth` (long
chains of operators), so that no tree it lets through can exhaust the stack of those who walk it.
"""

from __future__ import annotations

from fractions import Fraction

from etalis.data.values import real
from etalis.errors import Source, Span
from etalis.language.operators import ARGUMENT, CLAUSE, PATTERN_WORDS, GoalOperators, TermOperator, is_arrow
from etalis.language.read.tokens import ClauseError, Token, refusal
from etalis.language.read.units import read_number, wrong_unit
from etalis.language.syntax import Compound, Const, ListTerm, Term, Var

MAX_DEPTH = 200

STOP_HINT = "every clause ends with a full stop"

_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_NOT_A_START = frozenset(")]},|")
_WORDS = ("name", "quoted")
_TAKE_RULES = frozenset({"ins_event_rule", "del_event_rule", "ins_static_rule", "del_static_rule"})


class TermReader:
    """Reads terms from the tokens of one clause."""

    __slots__ = (
        "anonymous",
        "at",
        "bracketed",
        "depth",
        "joined",
        "measured",
        "operators",
        "rationals",
        "source",
        "tokens",
    )

    def __init__(self, source: Source, operators: GoalOperators) -> None:
        self.source = source
        self.operators = operators
        self.rationals = False
        self.open([])

    def open(self, tokens: list[Token]) -> None:
        """Take the tokens of the next clause."""
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.anonymous = 0
        self.bracketed: list[Compound] = []
        self.measured: list[Const] = []
        self.joined: list[Compound] = []

    def term(self, limit: int) -> Term:
        """Read a term that binds at most as loosely as `limit`."""
        self.enter()
        token = self.tokens[self.at]
        left, priority = self._word(token, limit) if token[0] in _WORDS else (self._primary(token), 0)
        infix, postfix = self.operators.infix, self.operators.postfix
        while True:
            kind, value, _, _ = self.tokens[self.at]
            if kind == "punct":
                if value not in ",|" or limit < 1000:
                    break
                name, row = (",", infix.get(",")) if value == "," else (";", TermOperator(1105, 1104, 1105))
            elif kind in _WORDS:
                name, row = self._infix_name(value), None
                row = infix.get(name)
                if row is None and name in postfix and postfix[name].priority <= limit:
                    left, priority = self._postfix(name, postfix[name], left, priority), postfix[name].priority
                    continue
            else:
                break
            if row is None or row.priority > limit:
                break
            if priority > row.left:
                raise self.clash(self.tokens[self.at])
            left, priority = self._infix(name, row, left), row.priority
        self.depth -= 1
        return left

    def enter(self, levels: int = 1) -> None:
        """Go deeper, or refuse to."""
        self.depth += levels
        if self.depth > MAX_DEPTH:
            raise too_deep(self.span_of(self.tokens[self.at]))

    def _infix_name(self, value: str) -> str:
        """Return the operator that a word at the place of one spells: `rule :` is `rule:`, `iff` is `<-`."""
        if value == "rule":
            after = self.tokens[self.at + 1]
            return "rule:" if after[0] == "name" and after[1] == ":" else value
        return "<-" if value == "iff" else value

    def _infix(self, name: str, row: TermOperator, left: Term) -> Term:
        token = self.tokens[self.at]
        self.at += 2 if name == "rule:" and token[1] == "rule" else 1
        after = self.tokens[self.at]
        if name == "<-" and after[0] == "number" and after[2] == token[3]:
            raise self.refusal(
                "E109", "`<-` is the arrow of rules", token, "put a space between < and the minus: X < -1"
            )
        right = self.term(row.right)
        found = Compound(name, (left, right), self.between(left.span, right.span))
        if name in PATTERN_WORDS:
            self.joined.append(found)
        return found

    def is_joined(self, term: Term) -> bool:
        """Tell whether a word of patterns stands between the two sides of a term: `a seq b`, but not `seq(a, b)`."""
        return any(term is found for found in self.joined)

    def _postfix(self, name: str, row: TermOperator, left: Term, priority: int) -> Term:
        if priority > row.left:
            raise self.clash(self.tokens[self.at])
        end = self.tokens[self.at][3]
        self.at += 1
        return Compound(name, (left,), Span(self.source, left.span.start if left.span else end, end))

    def _primary(self, token: Token) -> Term:
        """Read a term that begins with no word: a variable, number, string or bracket."""
        kind, value, start, end = token
        if kind == "var":
            self.at += 1
            return self._variable(value, Span(self.source, start, end))
        if kind == "number" or kind == "rational":
            return self._number(token)
        if kind == "string":
            self.at += 1
            return Const(value, Span(self.source, start, end))
        if kind == "punct" and value in _CLOSERS:
            return self._bracketed(token)
        raise self._wrong_start(token)

    def _number(self, token: Token) -> Const:
        """Read a number, perhaps with units; a fraction stands only where it is exact."""
        found = read_number(self)
        if isinstance(found.value, Fraction) and not self.rationals:
            raise self._wrong_start(token)
        return found

    def _wrong_start(self, token: Token) -> ClauseError:
        if token[0] == "rational":
            hint = "write it as a division, or as a float"
            return self.refusal("E105", "a rational number can only be a duration or a time", token, hint)
        return self.refusal("E108", f"expected a term, found {describe(token)}", token)

    def _variable(self, name: str, span: Span) -> Var:
        if name == "_":
            self.anonymous += 1
            name = f"_#{self.anonymous}"
        return Var(name, span)

    def _word(self, token: Token, limit: int) -> tuple[Term, int]:
        """Read an atom, a compound, a negative number or a prefix operator with its argument."""
        kind, value, start, end = token
        after = self.tokens[self.at + 1]
        if after[1] == "(" and after[2] == end and after[0] == "punct":
            self.at += 2
            args = self._rule() if value in _TAKE_RULES and self._has_neck() else self.arguments()
            span = Span(self.source, start, self.tokens[self.at - 1][3])
            found = Compound(value, args, span) if args else Const(value, span)
            self._mark(found)
            return found, 0
        self.at += 1
        if value == "-" and after[2] == end and after[0] in ("number", "rational") and kind == "name":
            return self._negative(after, start), 0
        row = self.operators.prefix.get(value)
        if row is None or row.priority > limit or not self._takes_argument(after):
            return Const(value, Span(self.source, start, end)), 0
        argument = self.term(row.right)
        span = self.between(Span(self.source, start, end), argument.span)
        return Compound(value, (argument,), span), row.priority

    def _negative(self, number: Token, start: int) -> Term:
        found = self._number(number)
        value = -found.value
        span = Span(self.source, start, self.tokens[self.at - 1][3])
        return Const(real(value) if isinstance(value, float) else value, span)

    def _takes_argument(self, after: Token) -> bool:
        """Tell whether a prefix operator is followed by its argument, or stands for itself."""
        kind, value, _, end = after
        if kind == "end" or kind == "eof" or (kind == "punct" and value in _NOT_A_START):
            return False
        if kind not in _WORDS or value in self.operators.prefix:
            return True
        if value not in self.operators.infix and value not in self.operators.postfix:
            return True
        beyond = self.tokens[self.at + 1]
        if beyond[1] == "(" and beyond[2] == end:
            return True
        # `- = x` compares the atom -, `\+ last = x` negates a comparison of the atom last.
        return (
            beyond[0] in ("end", "eof")
            or (beyond[0] == "punct" and beyond[1] in _NOT_A_START)
            or (beyond[0] in _WORDS and beyond[1] in self.operators.infix and beyond[1] not in self.operators.prefix)
        )

    def _has_neck(self) -> bool:
        """Tell whether an arrow or a neck stands in the brackets that have just been opened."""
        end = self.find_end(self.at - 1) or len(self.tokens)
        depth = 0
        for token in self.tokens[self.at : end]:
            depth += (token[1] in _CLOSERS) - (token[1] in _CLOSERS.values()) if token[0] == "punct" else 0
            if depth == 0 and token[0] in _WORDS and (token[1] == ":-" or is_arrow(token)):
                return True
        return False

    def _rule(self) -> tuple[Term, ...]:
        """Read a rule as the only argument behind an open bracket: it needs no brackets of its own."""
        opening = self.at - 1
        term = self.term(CLAUSE)
        self.close(opening)
        return (term,)

    def arguments(self) -> tuple[Term, ...]:
        """Read the arguments of a compound behind its open bracket, and the closing one."""
        opening = self.at - 1
        if self.tokens[self.at][1] == ")" and self.tokens[self.at][0] == "punct":
            self.at += 1
            return ()
        args = [self.term(ARGUMENT)]
        while self.skip(","):
            args.append(self.term(ARGUMENT))
        self.close(opening)
        return tuple(args)

    def named(self, args: tuple[Term, ...]) -> tuple[tuple[Const, ...], tuple[Term, ...]]:
        """Part the arguments of an event into names and values; no names if they are given by position.

        `name: value` names an attribute; `(name: value)` and `':'(name, value)` are terms.
        """
        names = tuple(name for arg in args if (name := self._name_of(arg)) is not None)
        if not names:
            return (), args
        if len(names) == len(args):
            return names, tuple(arg.args[1] for arg in args if isinstance(arg, Compound))
        other = next(arg for arg in args if self._name_of(arg) is None)
        hint = "give all attributes by name, or all by position; a term a:b is written in brackets: (a:b)"
        match other:
            case Compound(args=(Compound(name=":", args=(Const(), Var(name=variable))), _)) if other.name != ":":
                hint = f"write the attribute alone, its condition behind the pattern: where {variable} {other.name} ..."
        raise refusal("E120", "an event's attributes are given by name or by position, not both", _place(other), hint)

    def _mark(self, term: Term) -> None:
        """Note that a term is written so that it names no attribute."""
        if isinstance(term, Compound) and term.name == ":":
            self.bracketed.append(term)

    def _name_of(self, arg: Term) -> Const | None:
        match arg:
            case Compound(name=":", args=(Const(value=str()) as name, _)) if not any(b is arg for b in self.bracketed):
                return name
            case _:
                return None

    def _bracketed(self, token: Token) -> Term:
        """Read `(Term)`, `[...]` or `{Term}`."""
        opening = self.at
        self.at += 1
        if token[1] == "[":
            return self._list(opening)
        if token[1] == "(":
            term = self.term(CLAUSE)
            self.close(opening)
            self._mark(term)
            return term
        if self.skip("}"):
            return self._braces_atom(token)
        term = self.term(CLAUSE)
        self.close(opening)
        return Compound("{}", (term,), Span(self.source, token[2], self.tokens[self.at - 1][3]))

    def _braces_atom(self, token: Token) -> Term:
        """Read what follows `{}`: nothing, or the arguments of the compound of that name."""
        end = self.tokens[self.at - 1][3]
        after = self.tokens[self.at]
        if after[1] != "(" or after[2] != end:
            return Const("{}", Span(self.source, token[2], end))
        self.at += 1
        args = self.arguments()
        span = Span(self.source, token[2], self.tokens[self.at - 1][3])
        return Compound("{}", args, span) if args else Const("{}", span)

    def _list(self, opening: int) -> Term:
        items: list[Term] = []
        tail: Term | None = None
        if not self.skip("]"):
            items.append(self.term(ARGUMENT))
            while self.skip(","):
                items.append(self.term(ARGUMENT))
            if self.skip("|"):
                tail = self.term(ARGUMENT)
            self.close(opening)
        span = Span(self.source, self.tokens[opening][2], self.tokens[self.at - 1][3])
        if isinstance(tail, ListTerm):
            return ListTerm((*items, *tail.items), tail.tail, span)
        return ListTerm(tuple(items), tail, span)

    def skip(self, sign: str) -> bool:
        """Step over a bracket, comma or bar if it is the next token."""
        token = self.tokens[self.at]
        if token[1] == sign and token[0] == "punct":
            self.at += 1
            return True
        return False

    def close(self, opening: int) -> None:
        """Step over the bracket that closes the one at token `opening`."""
        token = self.tokens[self.at]
        closer = _CLOSERS[self.tokens[opening][1]]
        if token[1] == closer and token[0] == "punct":
            self.at += 1
            return
        raise self.wrong_next(opening)

    def group_end(self, opening: int) -> int:
        """Return the token behind the bracket that closes the one at token `opening`."""
        end = self.find_end(opening)
        if not end:
            raise self._never_closed(opening)
        return end

    def find_end(self, opening: int) -> int:
        """Return the token behind the bracket that closes the one at token `opening`, 0 if none does."""
        depth = 0
        for index in range(opening, len(self.tokens)):
            kind, value, _, _ = self.tokens[index]
            if kind == "punct":
                depth += (value in "([{") - (value in ")]}")
                if depth == 0:
                    return index + 1
        return 0

    def wrong_next(self, opening: int | None) -> ClauseError:
        """Say what is wrong with the next token where an operator, a comma or the closing bracket should stand."""
        token = self.tokens[self.at]
        kind, value, _, _ = token
        if kind in ("end", "eof") and opening is not None:
            return self._never_closed(opening)
        if opening is None and is_new_clause(self, on_margin=True):
            return missing_stop(self)
        row = self.operators.infix.get(self._infix_name(value)) if kind in _WORDS else None
        unit = wrong_unit(self) if row is None else None
        if unit is not None:
            return unit
        if kind in _WORDS:
            if row is None:
                return self.refusal("E109", f"{describe(token)} is not an operator", token)
            return self._wrong_operator(token, row, opening)
        wanted = "the end of the clause" if opening is None else f"`{_CLOSERS[self.tokens[opening][1]]}`"
        return self.refusal("E108", f"expected an operator or {wanted}, found {describe(token)}", token)

    def _wrong_operator(self, token: Token, row: TermOperator, opening: int | None) -> ClauseError:
        """Say what is wrong with an operator that binds too loosely for its place."""
        if opening is not None and row.priority > ARGUMENT and not self.find_end(opening):
            return self._never_closed(opening)
        if opening is not None and token[1] in PATTERN_WORDS:
            hint: str | None = "events are joined outside of their brackets: a(X) seq b(Y)"
        else:
            hint = "put the whole operation in brackets" if row.priority > ARGUMENT else None
        return self.refusal("E111", f"the operator {describe(token)} is not allowed here", token, hint)

    def _never_closed(self, opening: int) -> ClauseError:
        token = self.tokens[opening]
        closer = _CLOSERS[token[1]]
        return self.refusal(
            "E107", f"this `{token[1]}` is never closed", token, f"write `{closer}` before the full stop"
        )

    def clash(self, token: Token) -> ClauseError:
        """Return the refusal of an operator whose left side binds more loosely than it may."""
        hint = "say with brackets what belongs together"
        return self.refusal("E111", f"{describe(token)} needs brackets around its left side", token, hint)

    def refusal(self, code: str, message: str, token: Token, hint: str | None = None) -> ClauseError:
        """Return a finding at a token, to raise."""
        return refusal(code, message, self.span_of(token), hint)

    def span_of(self, token: Token) -> Span:
        return Span(self.source, token[2], token[3])

    def between(self, first: Span | None, last: Span | None) -> Span:
        """Return the span from the start of one to the end of the other."""
        assert first is not None
        assert last is not None
        return Span(self.source, first.start, last.end)


def describe(token: Token) -> str:
    """Name a token in a message."""
    kind, value, _, _ = token
    if kind == "end":
        return "the full stop"
    if kind == "eof":
        return "the end of the text"
    text = str(value) if isinstance(value, str | Fraction) else repr(value)
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`"


def is_new_clause(reader: TermReader, *, on_margin: bool = False) -> bool:
    """Tell whether a new clause seems to begin at the next token: on a new line, with an arrow or neck behind it.

    With `on_margin` a word at the very start of a line is enough.
    """
    at = reader.at
    start = reader.tokens[at][2]
    if at == 0 or "\n" not in reader.source.text[reader.tokens[at - 1][3] : start]:
        return False
    if on_margin and reader.tokens[at][0] in _WORDS and reader.source.text[start - 1] == "\n":
        return True
    return any(is_arrow(token) or token[1] == ":-" for token in reader.tokens[at + 1 :])


def missing_stop(reader: TermReader) -> ClauseError:
    """Return the refusal of a clause that runs into the next one."""
    before = reader.tokens[reader.at - 1]
    return reader.refusal("E106", f"a full stop is missing behind {describe(before)}", before, STOP_HINT)


def too_deep(span: Span | None) -> ClauseError:
    """Return the refusal of what is nested too deep."""
    assert span is not None
    hint = "name a part of it: give it a rule or a clause of its own"
    return refusal("E112", f"this is nested deeper than {MAX_DEPTH} levels", span, hint)


def check_depth(root: object) -> None:
    """Refuse a tree of nodes that is deeper than `MAX_DEPTH`, at the place where it gets too deep."""
    waiting: list[tuple[object, int, Span | None]] = [(root, 0, None)]
    while waiting:
        node, depth, span = waiting.pop()
        if isinstance(node, tuple):
            waiting.extend((part, depth, span) for part in node)
        elif hasattr(node, "span"):
            span = node.span or span
            if depth > MAX_DEPTH:
                raise too_deep(span)
            slots: tuple[str, ...] = type(node).__slots__  # type: ignore[attr-defined]
            waiting.extend((getattr(node, name), depth + 1, span) for name in slots if name != "span")


def _place(term: Term) -> Span:
    assert term.span is not None
    return term.span
