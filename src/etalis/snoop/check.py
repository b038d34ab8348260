"""What is wrong with an expression, all at once: codes E881 to E893 of docs/errors.md.

The checks are one tuple of functions over the whole expression; none depends on another having passed. What is inside
an external expression is its provider's business: it is not looked into.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

from etalis.errors import Problem, RegistrationError
from etalis.language.check.spelling import suggest
from etalis.language.check.wording import listing
from etalis.snoop.expression import (
    CONTEXTS,
    NUMBER,
    OPERATORS,
    TIMES,
    Expression,
    Parameter,
    Path,
    leaves,
    walk,
)
from etalis.snoop.limits import at, check_characters, check_size
from etalis.snoop.normal_form import normal_form, shape_of, used_values
from etalis.snoop.values import TYPES, convert

MOST_PROBLEMS = 100
_URI = re.compile(r"[^\s<>\"{}|\\^`]+")


def checked(expression: Expression) -> Expression:
    """Return the normal form of an expression; raise all that is wrong with it."""
    problems = check(expression)
    if problems:
        raise RegistrationError(*problems)
    return normal_form(expression)


def check(expression: Expression) -> tuple[Problem, ...]:
    """Return all problems of an expression, in order of place; of one that is too large nothing else is looked at."""
    found = list(check_size(expression))
    if not found:
        several = (problem for find in _CHECKS for problem in find(expression))
        found = list(dict.fromkeys(islice(several, MOST_PROBLEMS)))
    return tuple(sorted(found, key=lambda p: (p.span.start if p.span else 0, p.code, p.message)))


def _check_operators(root: Expression) -> Iterator[Problem]:
    for path, node in walk(root):
        if node.kind != "composite":
            continue
        row = OPERATORS.get(node.operator or "")
        if row is None:
            hint = suggest(node.operator or "", OPERATORS, f"operators: {listing(OPERATORS)}")
            yield at(path, "E881", f"SNOOP-R has no operator {node.operator}", node.span, hint)
            continue
        number = len(node.arguments)
        if number < row.least or (row.most is not None and number > row.most):
            some = f"{row.least}" if row.most == row.least else f"at least {row.least}"
            message = f"{row.name} takes {some} argument{'s' * (row.least > 1)}, not {number}"
            yield at(path, "E882", message, node.span)
        if row.gathered is not None and number == row.most:
            yield from _check_gathered(root, path, node, row.gathered)
        if node.literal is not None:
            yield at(path, "E882", f"{row.name} has no literal", node.span, "a literal makes an opaque expression")


def _check_gathered(root: Expression, path: Path, node: Expression, place: int) -> Iterator[Problem]:
    """Yield that what is gathered is no event, or that it would be gathered over points of time."""
    gathered = node.arguments[place - 1].expression
    if not gathered.is_leaf:
        hint = "register an expression for the part, and signal what it finds"
        yield at((*path, place), "E882", f"{node.operator} gathers events, no {gathered.operator}", gathered.span, hint)
    if root.time == "points":
        hint = "leave the time out: intervals"
        yield at(path, "E882", f"{node.operator} is not defined for the time points", node.span, hint)


def _check_languages(root: Expression) -> Iterator[Problem]:
    for path, node in leaves(root):
        if not node.language:
            what = f"the event {node.operator}" if node.operator else "an opaque expression"
            hint = suggest(node.operator or "", OPERATORS, "say whose event it is: language=URI")
            yield at(path, "E883", f"{what} needs a language", node.span, hint)
        elif _URI.fullmatch(node.language) is None:
            yield at(
                path, "E883", f"the language {node.language} is no URI", node.span, "as http://shop.example/events"
            )
        if node.operator == "" or (node.operator is None and node.literal is None):
            hint = "an event has an operator, an opaque expression a literal"
            yield at(path, "E883", "an expression without operator and literal", node.span, hint)
        if node.operator is not None and node.literal is not None:
            yield at(path, "E883", "an expression with operator and literal", node.span, "leave one of them out")
        if node.kind == "opaque" and (node.arguments or node.parameters):
            hint = "an opaque expression has its literal, and variables in `with`"
            yield at(path, "E883", "an opaque expression with arguments or parameters", node.span, hint)


def _check_root(root: Expression) -> Iterator[Problem]:
    if root.context is not None and root.context not in CONTEXTS:
        hint = suggest(root.context, CONTEXTS, f"contexts: {listing(CONTEXTS)}")
        yield Problem("E884", f"unknown context {root.context}", root.span, hint)
    if root.time is not None and root.time not in TIMES:
        yield Problem("E884", f"unknown time {root.time}", root.span, f"times: {listing(TIMES)}")
    for path, node in walk(root):
        if path and (node.context is not None or node.time is not None):
            hint = "they hold for the whole expression: say them at the root"
            yield at(path, "E884", "context or time inside an expression", node.span, hint)


def _check_parameters(root: Expression) -> Iterator[Problem]:
    for path, node in walk(root):
        for name, count in Counter(p.name for p in node.parameters).items():
            if count > 1:
                yield at(path, "E885", f"the parameter {name} is given {count} times", node.span)
        for given in node.parameters:
            yield from _check_parameter(path, node, given)


def _check_parameter(path: Path, node: Expression, given: Parameter) -> Iterator[Problem]:
    row = OPERATORS.get(node.operator or "") if node.kind == "composite" else None
    if row is not None and given.name != row.parameter and not (row.name == "ALL" and given.name == NUMBER):
        hint = suggest(given.name, [row.parameter] if row.parameter else [], None)
        yield at(path, "E885", f"{row.name} has no parameter {given.name}", given.span or node.span, hint)
    elif row is not None and given.variable is not None:
        yield at(path, "E885", f"{given.name} of {row.name} is a value, no variable", given.span or node.span)
    if (given.variable is None) == (given.value is None):
        hint = "give bindVar or value, one of them"
        yield at(path, "E885", f"the parameter {given.name} needs a variable or a value", given.span or node.span, hint)
    if given.type is not None and given.type not in TYPES:
        hint = suggest(given.type, TYPES, f"types: {listing(TYPES)}; without one it is text")
        yield at(path, "E886", f"unknown type {given.type}", given.span or node.span, hint)
    elif given.value is not None and convert(given.value, given.type) is None:
        message = f"the parameter {given.name}: {given.value} is no {given.type}"
        yield at(path, "E886", message, given.span or node.span)


def _check_variables(root: Expression) -> Iterator[Problem]:
    declared = {v.name for _, node in walk(root) for v in node.variables}
    values: dict[str, str] = {}
    for path, node in walk(root):
        for variable in node.variables:
            place = variable.span or node.span
            if variable.mode == "bind":
                continue
            if variable.value is None:
                hint = "give it one: <literal>...</literal>"
                yield at(path, "E888", f"the variable {variable.name} of mode use has no value", place, hint)
            elif values.setdefault(variable.name, variable.value) != variable.value:
                message = f"the variable {variable.name} is {values[variable.name]} and {variable.value}"
                hint = "a variable means the same in the whole expression"
                yield at(path, "E888", message, place, hint)
    for path, node in leaves(root):
        for given in node.parameters:
            if given.variable is None:
                continue
            if given.variable not in declared:
                hint = suggest(given.variable, declared, f'declare it in a `with`: {given.variable}, mode "bind"')
                message = f"no `with` declares the variable {given.variable}"
                yield at(path, "E887", message, given.span or node.span, hint)
            used = values.get(given.variable)
            if used is not None and given.type in TYPES and convert(used, given.type) is None:
                message = f"the parameter {given.name}: {given.variable} is {used}, which is no {given.type}"
                yield at(path, "E886", message, given.span or node.span)


def _check_results(root: Expression) -> Iterator[Problem]:
    uses = used_values(root)
    found = {p.variable for _, leaf in leaves(root) for p in leaf.parameters if p.variable is not None}
    found |= {v.name for _, leaf in leaves(root) if leaf.kind != "atomic" for v in leaf.variables}
    for path, node in walk(root):
        if node.kind in ("opaque", "external"):
            continue
        for variable in node.variables:
            if not path and variable.mode == "bind" and variable.name in uses and node.kind == "composite":
                hint = "leave it out of the results"
                yield at(path, "E889", f"the variable {variable.name} has a value", variable.span or node.span, hint)
            if variable.mode == "bind" and variable.name not in found and variable.name not in uses:
                hint = suggest(variable.name, found, "bind it to a parameter, or leave it out")
                message = f"nothing binds the variable {variable.name}"
                yield at(path, "E889", message, variable.span or node.span, hint)


def _check_any(root: Expression) -> Iterator[Problem]:
    uses = used_values(root)
    for path, node in walk(root):
        if node.kind != "composite" or node.operator not in ("ANY", "ALL"):
            continue
        given = next((p for p in node.parameters if p.name == NUMBER), None)
        if given is None and node.operator == "ANY":
            hint = f'say how many: <parameter name="{NUMBER}" value="2"/>, in text ANY(2, ...)'
            yield at(path, "E890", f"ANY without {NUMBER}", node.span, hint)
        elif given is not None and given.value is not None:
            text, place = given.value, given.span or node.span
            if not (text.isascii() and text.isdigit() and len(text) < 10):
                yield at(path, "E890", f"{NUMBER} is a whole number, not {text}", place)
            elif int(text) < 1:
                yield at(path, "E890", f"ANY of {text} finds nothing to wait for", place, "detect 1 or more")
        shapes: dict[Expression, int] = {}
        for number, argument in enumerate(node.arguments, 1):
            shape = shape_of(argument.expression, uses)
            first = shapes.setdefault(shape, number)
            if first != number:
                message = f"arguments {first} and {number} of {node.operator} are equal up to variables"
                hint = "several events of one kind are counted by rules: `ntimes`; or tell them apart by a value"
                yield at(path, "E891", message, argument.expression.span or node.span, hint)


_CHECKS: tuple[Callable[[Expression], Iterator[Problem]], ...] = (
    check_characters,
    _check_operators,
    _check_languages,
    _check_root,
    _check_parameters,
    _check_variables,
    _check_results,
    _check_any,
)
