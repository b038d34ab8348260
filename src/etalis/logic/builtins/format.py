"""The directives of `format/1,2,3`: `~w ~p ~q ~a ~d ~D ~f ~e ~g ~s ~c ~r ~R ~n ~i ~~`, and columns `~t ~| ~+`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType

from etalis.data.values import decimal_text, format_float
from etalis.logic.arithmetic.arithmetic import evaluate
from etalis.logic.errors import LogicLimitError
from etalis.logic.machine.machine import Machine
from etalis.logic.terms.arguments import bound, character, integer, proper_list, text
from etalis.logic.terms.iso_errors import domain_error, representation_error
from etalis.logic.terms.unify import Term, deref
from etalis.logic.terms.write import Style, print_term

_DIRECTIVE = re.compile(r"~(?:(?P<number>\d+)|(?P<star>\*)|`(?P<char>.))?(?P<kind>.)", re.DOTALL)
WRITTEN = Style(quoted=False, numbered=True)
PRINTED = Style(numbered=True)
_MAX_NUMBER = 100_000
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def fill(template: Term, given: list[Term], machine: Machine) -> str:
    """Return the text of a template with its directives replaced by the arguments."""
    source = _characters(template, machine)
    page, arguments = _Page(), iter(given)
    position = 0
    for found in _DIRECTIVE.finditer(source):
        page.add(source[position : found.start()])
        position = found.end()
        _directive(page, found, arguments, machine)
        if page.size > machine.limits.size:
            raise LogicLimitError("size", machine.limits.size)
    rest = source[position:]
    if "~" in rest:
        raise domain_error("format", template)
    page.add(rest)
    left = next(arguments, None)
    if left is not None:
        raise domain_error("format_without_further_arguments", deref(left))
    return page.text()


def _directive(page: _Page, found: re.Match[str], arguments: Iterator[Term], machine: Machine) -> None:
    number = int(found["number"][:7]) if found["number"] else None
    if found["star"]:
        number = integer(_next(arguments))
    if number is not None and not 0 <= number <= _MAX_NUMBER:
        raise representation_error("format_number")
    kind = found["kind"]
    match kind:
        case "n":
            page.add("\n" * (1 if number is None else number))
        case "~":
            page.add("~")
        case "t":
            page.fillers.append((len(page.column), found["char"] or (" " if number is None else chr(number))))
        case "|":
            page.stop(page.start + len(page.column) if number is None else number)
        case "+":
            page.stop(page.start + (8 if number is None else number))
        case "i":
            _next(arguments)
        case _ if kind in _RENDER:
            page.add(_RENDER[kind](_next(arguments), number, machine))
        case _:
            raise domain_error("format_directive", kind)


class _Page:
    """The text so far, the column being filled, and where its fillers stand."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.size = 0
        self.start = 0
        self.column = ""
        self.fillers: list[tuple[int, str]] = []

    def add(self, text: str) -> None:
        self.size += len(text)
        *lines, last = (self.column + text).split("\n")
        if lines:
            self.done.append("\n".join(lines) + "\n")
            self.start, self.fillers = 0, []
        self.column = last

    def stop(self, column: int) -> None:
        """End a column: the space left goes to the fillers, behind the text if there is none."""
        missing = column - self.start - len(self.column)
        fillers = self.fillers or [(len(self.column), " ")]
        if missing > 0:
            share, extra = divmod(missing, len(fillers))
            for i, (place, char) in reversed(list(enumerate(fillers))):
                size = share + (extra if i == len(fillers) - 1 else 0)
                self.column = self.column[:place] + char * size + self.column[place:]
            self.size += missing
        self.start += len(self.column)
        self.done.append(self.column)
        self.column, self.fillers = "", []

    def text(self) -> str:
        return "".join(self.done) + self.column


def _next(arguments: Iterator[Term]) -> Term:
    argument = next(arguments, None)
    if argument is None:
        raise domain_error("format_with_enough_arguments", ())
    return deref(argument)


def _characters(term: Term, machine: Machine) -> str:
    """Return a text given as an atom or as a list of characters or codes."""
    term = bound(term)
    if not isinstance(term, tuple):
        return text(term, machine)
    items = map(bound, proper_list(term, machine))
    return "".join(character(item) if isinstance(item, int) else text(item, machine) for item in items)


def _decimal(term: Term, number: int | None, group: str = "") -> str:
    """Write an integer, the last digits behind a point if there is a number."""
    value = integer(term)
    digits = decimal_text(abs(value))
    end = ""
    if number:
        digits = digits.zfill(number + 1)
        digits, end = digits[:-number], "." + digits[-number:]
    if group:
        digits = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", group, digits)
    return ("-" if value < 0 else "") + digits + end


def _fixed(term: Term, number: int | None, _machine: Machine) -> str:
    """Write a number with so many digits behind the point, exactly rounded."""
    value, places = evaluate(term), 6 if number is None else number
    if isinstance(value, float) and value - value != 0:
        return format_float(float(value))
    scaled = round(Fraction(float(value) if isinstance(value, float) else value) * 10**places)
    return _decimal(scaled, places)


def _scientific(kind: str) -> Callable[[Term, int | None, Machine], str]:
    def render(term: Term, number: int | None, _machine: Machine) -> str:
        try:
            value = float(evaluate(term))
        except OverflowError:
            raise representation_error("float") from None
        return f"{value:.{6 if number is None else min(number, 1000)}{kind}}"

    return render


def _radix(term: Term, number: int | None, _machine: Machine) -> str:
    value, base = integer(term), 8 if number is None else number
    if not 2 <= base <= len(_DIGITS):
        raise domain_error("radix", base)
    if value.bit_length() > _MAX_NUMBER:
        raise representation_error("format_number")
    digits, rest = "", abs(value)
    while rest:
        rest, digit = divmod(rest, base)
        digits = _DIGITS[digit] + digits
    return ("-" if value < 0 else "") + (digits or "0")


_RENDER: Mapping[str, Callable[[Term, int | None, Machine], str]] = MappingProxyType(
    {
        "w": lambda term, _number, _machine: print_term(term, WRITTEN),
        "p": lambda term, _number, _machine: print_term(term, PRINTED),
        "q": lambda term, _number, _machine: print_term(term, PRINTED),
        "a": lambda term, _number, machine: text(term, machine),
        "d": lambda term, number, _machine: _decimal(term, number),
        "D": lambda term, number, _machine: _decimal(term, number, ","),
        "f": _fixed,
        "e": _scientific("e"),
        "g": _scientific("g"),
        "s": lambda term, _number, machine: _characters(term, machine),
        "c": lambda term, number, _machine: character(integer(term)) * (1 if number is None else number),
        "r": _radix,
        "R": lambda term, number, machine: _radix(term, number, machine).upper(),
    }
)
