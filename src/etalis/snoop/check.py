"""What is wrong with an expression, all at once: codes E881 to E893 of docs/errors.md.

The checks are one tuple of functions over the whole expression; none depends on another having passed. What is inside
an external expression is its provider's business: it is not looked into.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from etalis.errors import Problem, RegistrationError, Span
from etalis.language.check.spelling import suggest
from etalis.language.check.wording import listing
from etalis.snoop.expression import (
    CONTEXTS,
    DURATION,
    NUMBER,
    OPERATORS,
    TIMES,
    Expression,
    Parameter,
    Path,
    leaves,
    name_path,
    walk,
)
from etalis.snoop.normal_form import normal_form, shape_of, used_values
from etalis.snoop.values import TYPES, convert
from etalis.temporal.duration import DurationError, to_duration

MOST_OPERATORS = 60
MOST_LEVELS = 60  # of expressions in expressions, foreign ones too: three elements of XML each
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def checked(expression: Expression) -> Expression:
    """Return the normal form of an expression; raise all that is wrong with it."""
    problems = check(expression)
    if problems:
        raise RegistrationError(*problems)
    return normal_form(expression)


def check(expression: Expression) -> tuple[Problem, ...]:
    """Return all problems of an expression, in order of place."""
    found = dict.fromkeys(problem for find in _CHECKS for problem in find(expression))
    return tuple(sorted(found, key=lambda p: (p.span.start if p.span else 0, p.code, p.message)))


def _at(path: Path, code: str, message: str, span: Span | None, hint: str | None = None) -> Problem:
    """Return a problem that says where in the tree it is."""
    return Problem(code, f"argument {name_path(path)}: {message}" if path else message, span, hint)


def _check_operators(root: Expression) -> Iterator[Problem]:
    count = sum(1 for _, node in walk(root) if node.kind == "composite")
    if count > MOST_OPERATORS:
        hint = "register several expressions, or have a provider detect a part"
        yield Problem("E892", f"{count} operators, at most {MOST_OPERATORS} are taken", root.span, hint)
    if depth_of(root) > MOST_LEVELS:
        yield Problem("E892", f"expressions nested more than {MOST_LEVELS} levels deep", root.span)
    for path, node in walk(root):
        if node.kind != "composite":
            continue
        row = OPERATORS.get(node.operator or "")
        if row is None:
            hint = suggest(node.operator or "", OPERATORS, f"operators: {listing(OPERATORS)}")
            yield _at(path, "E881", f"SNOOP-R has no operator {node.operator}", node.span, hint)
            continue
        number = len(node.arguments)
        if number < row.least or (row.most is not None and number > row.most):
            some = f"{row.least}" if row.most == row.least else f"at least {row.least}"
            message = f"{row.name} takes {some} argument{'s' * (row.least > 1)}, not {number}"
            yield _at(path, "E882", message, node.span)
        if node.literal is not None:
            yield _at(path, "E882", f"{row.name} has no literal", node.span, "a literal makes an opaque expression")


def depth_of(node: Expression) -> int:
    """Return how deep expressions are nested."""
    return 1 + max((depth_of(argument.expression) for argument in node.arguments), default=0)


def _check_characters(root: Expression) -> Iterator[Problem]:
    for path, node in walk(root):
        for text in _texts(node):
            found = _NOT_IN_XML.search(text)
            if found is not None:
                message = f"a character that XML cannot hold: U+{ord(found[0]):04X}"
                yield _at(path, "E893", message, node.span, "leave it out: expressions can be written as XML")
                break


def _texts(node: Expression) -> Iterator[str]:
    """Yield every text of a node, and of all nodes in one that is external."""
    named = [node.operator, node.language, node.context, node.time]
    named += [text for v in node.variables for text in (v.name, v.value)]
    named += [text for p in node.parameters for text in (p.name, p.variable, p.value, p.type)]
    named += [argument.name for argument in node.arguments]
    if node.literal is not None:
        named += [node.literal.text, node.literal.type]
    yield from filter(None, named)
    if node.kind == "external":
        for argument in node.arguments:
            for _, each in walk(argument.expression):
                yield from _texts(each)


def _check_languages(root: Expression) -> Iterator[Problem]:
    for path, node in leaves(root):
        if not node.language:
            what = f"the event {node.operator}" if node.operator else "an opaque expression"
            hint = suggest(node.operator or "", OPERATORS, "say whose event it is: language=URI")
            yield _at(path, "E883", f"{what} needs a language", node.span, hint)
        if node.operator == "" or (node.operator is None and node.literal is None):
            hint = "an event has an operator, an opaque expression a literal"
            yield _at(path, "E883", "an expression without operator and literal", node.span, hint)
        if node.operator is not None and node.literal is not None:
            yield _at(path, "E883", "an expression with operator and literal", node.span, "leave one of them out")
        if node.kind == "opaque" and (node.arguments or node.parameters):
            hint = "an opaque expression has its literal, and variables in `with`"
            yield _at(path, "E883", "an opaque expression with arguments or parameters", node.span, hint)


def _check_root(root: Expression) -> Iterator[Problem]:
    if root.context is not None and root.context not in CONTEXTS:
        hint = suggest(root.context, CONTEXTS, f"contexts: {listing(CONTEXTS)}")
        yield Problem("E884", f"unknown context {root.context}", root.span, hint)
    if root.time is not None and root.time not in TIMES:
        yield Problem("E884", f"unknown time {root.time}", root.span, f"times: {listing(TIMES)}")
    for path, node in walk(root):
        if path and (node.context is not None or node.time is not None):
            hint = "they hold for the whole expression: say them at the root"
            yield _at(path, "E884", "context or time inside an expression", node.span, hint)


def _check_parameters(root: Expression) -> Iterator[Problem]:
    for path, node in walk(root):
        for name, count in Counter(p.name for p in node.parameters).items():
            if count > 1:
                yield _at(path, "E885", f"the parameter {name} is given {count} times", node.span)
        for given in node.parameters:
            yield from _check_parameter(path, node, given)


def _check_parameter(path: Path, node: Expression, given: Parameter) -> Iterator[Problem]:
    row = OPERATORS.get(node.operator or "") if node.kind == "composite" else None
    if row is not None and given.name != row.parameter and not (row.name == "ALL" and given.name == NUMBER):
        hint = suggest(given.name, [row.parameter] if row.parameter else [], None)
        yield _at(path, "E885", f"{row.name} has no parameter {given.name}", given.span or node.span, hint)
    elif row is not None and given.variable is not None:
        yield _at(path, "E885", f"{given.name} of {row.name} is a value, no variable", given.span or node.span)
    if (given.variable is None) == (given.value is None):
        hint = "give bindVar or value, one of them"
        yield _at(
            path, "E885", f"the parameter {given.name} needs a variable or a value", given.span or node.span, hint
        )
    if given.type is not None and given.type not in TYPES:
        hint = suggest(given.type, TYPES, f"types: {listing(TYPES)}; without one it is text")
        yield _at(path, "E886", f"unknown type {given.type}", given.span or node.span, hint)
    elif given.value is not None and convert(given.value, given.type) is None:
        message = f"the parameter {given.name}: {given.value} is no {given.type}"
        yield _at(path, "E886", message, given.span or node.span)


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
                yield _at(path, "E888", f"the variable {variable.name} of mode use has no value", place, hint)
            elif values.setdefault(variable.name, variable.value) != variable.value:
                message = f"the variable {variable.name} is {values[variable.name]} and {variable.value}"
                hint = "a variable means the same in the whole expression"
                yield _at(path, "E888", message, place, hint)
    for path, node in leaves(root):
        for given in node.parameters:
            if given.variable is None:
                continue
            if given.variable not in declared:
                hint = suggest(given.variable, declared, f'declare it in a `with`: {given.variable}, mode "bind"')
                message = f"no `with` declares the variable {given.variable}"
                yield _at(path, "E887", message, given.span or node.span, hint)
            used = values.get(given.variable)
            if used is not None and given.type in TYPES and convert(used, given.type) is None:
                message = f"the parameter {given.name}: {given.variable} is {used}, which is no {given.type}"
                yield _at(path, "E886", message, given.span or node.span)


def _check_results(root: Expression) -> Iterator[Problem]:
    uses = used_values(root)
    found = {p.variable for _, leaf in leaves(root) for p in leaf.parameters if p.variable is not None}
    found |= {v.name for _, leaf in leaves(root) if leaf.kind != "atomic" for v in leaf.variables}
    for path, node in walk(root):
        if node.kind in ("opaque", "external"):
            continue
        for variable in node.variables:
            if variable.mode == "bind" and variable.name not in found and variable.name not in uses:
                hint = suggest(variable.name, found, "bind it to a parameter, or leave it out")
                message = f"nothing binds the variable {variable.name}"
                yield _at(path, "E889", message, variable.span or node.span, hint)


def _check_any(root: Expression) -> Iterator[Problem]:
    uses = used_values(root)
    for path, node in walk(root):
        if node.kind != "composite" or node.operator not in ("ANY", "ALL"):
            continue
        given = next((p for p in node.parameters if p.name == NUMBER), None)
        if given is None and node.operator == "ANY":
            hint = f'say how many: <parameter name="{NUMBER}" value="2"/>, in text ANY(2, ...)'
            yield _at(path, "E890", f"ANY without {NUMBER}", node.span, hint)
        elif given is not None and given.value is not None:
            text, place = given.value, given.span or node.span
            if not (text.isascii() and text.isdigit() and len(text) < 10):
                yield _at(path, "E890", f"{NUMBER} is a whole number, not {text}", place)
            elif int(text) < 1:
                yield _at(path, "E890", f"ANY of {text} finds nothing to wait for", place, "detect 1 or more")
        shapes: dict[Expression, int] = {}
        for number, argument in enumerate(node.arguments, 1):
            shape = shape_of(argument.expression, uses)
            first = shapes.setdefault(shape, number)
            if first != number:
                message = f"arguments {first} and {number} of {node.operator} are equal up to variables"
                hint = "several events of one kind are counted by rules: `ntimes`; or tell them apart by a value"
                yield _at(path, "E891", message, argument.expression.span or node.span, hint)


def _check_durations(root: Expression) -> Iterator[Problem]:
    for path, node in walk(root):
        if node.kind != "composite" or node.operator != "PLUS":
            continue
        given = next((p for p in node.parameters if p.name == DURATION), None)
        if given is None:
            hint = f'say how long after: <parameter name="{DURATION}" value="10 min"/>, in text PLUS(E, "10 min")'
            yield _at(path, "E890", f"PLUS without {DURATION}", node.span, hint)
        elif given.value is not None and not is_duration(given.value):
            yield _at(path, "E890", f"{given.value} is no duration", given.span or node.span, "write 90, or 10 min")


def is_duration(text: str) -> bool:
    """Tell whether a text is a duration of more than nothing."""
    try:
        return to_duration(text) > 0
    except DurationError:
        return False


_CHECKS: tuple[Callable[[Expression], Iterator[Problem]], ...] = (
    _check_characters,
    _check_operators,
    _check_languages,
    _check_root,
    _check_parameters,
    _check_variables,
    _check_results,
    _check_any,
    _check_durations,
)
