"""Expressions as XML (004, section 2.3): elements `expression`, `argument`, `solve`, `with`, `having`, `literal`."""

from __future__ import annotations

from typing import Any

from etalis.errors import DocumentError, Problem
from etalis.snoop.expression import Argument, Expression, ExpressionVariable, Opaque, Parameter
from etalis.snoop.markup.xml_document import (
    XmlDocument,
    canonical_element,
    child,
    children,
    make,
    name_of,
    parse_literal,
    write,
)


def read_xml(data: bytes | str) -> Expression:
    """Read a document that is an `expression`; a DocumentError says what is wrong with it, and where."""
    document = XmlDocument(data)
    if name_of(document.root) != "expression":
        message = f"the document is a {name_of(document.root)}, not an expression"
        raise DocumentError(Problem("E873", message, document.place(document.root)))
    return expression_in(document, document.root)


def write_xml(expression: Expression, *, indent: bool = True) -> str:
    """Write an expression as a document."""
    return write(to_element(expression), indent=indent)


def expression_in(document: XmlDocument, element: Any) -> Expression:
    """Return the expression of an element of a document that fits the schema."""
    with_, having, literal = (child(element, name) for name in ("with", "having", "literal"))
    return Expression(
        element.get("operator"),
        element.get("language"),
        tuple(_argument(document, each) for each in children(element, "argument")),
        () if with_ is None else tuple(_variable(document, each) for each in with_),
        () if having is None else tuple(_parameter(document, each) for each in having),
        None if literal is None else _literal(document, literal),
        element.get("context"),
        element.get("time"),
        document.place(element),
    )


def _argument(document: XmlDocument, element: Any) -> Argument:
    (below,) = element
    if name_of(below) == "solve":
        (below,) = below
    return Argument(element.get("name"), expression_in(document, below))


def _variable(document: XmlDocument, element: Any) -> ExpressionVariable:
    literal = child(element, "literal")
    value = None if literal is None else literal.text or ""
    mode = "use" if element.get("mode") == "use" else "bind"
    return ExpressionVariable(element.get("name"), mode, value, document.place(element))  # type: ignore[arg-type]


def _parameter(document: XmlDocument, element: Any) -> Parameter:
    name, variable, value, type = map(element.get, ("name", "bindVar", "value", "type"))  # noqa: A001
    return Parameter(name, variable, value, type, document.place(element))


def _literal(document: XmlDocument, element: Any) -> Opaque:
    if len(element) == 0:
        return Opaque(element.text or "", element.get("type"))
    around = [element.text, *(each.tail for each in element)]
    if len(element) > 1 or any(text and text.strip() for text in around):
        message = "Element 'literal': it holds text, or one XML element"
        raise DocumentError(Problem("E873", message, document.place(element)))
    return Opaque(canonical_element(element[0]), element.get("type"), True)


def to_element(expression: Expression) -> Any:
    """Return an expression as an element."""
    e = expression
    made = make("expression", {"operator": e.operator, "language": e.language, "context": e.context, "time": e.time})
    if e.variables:
        made.append(make("with", {}, *map(_variable_element, e.variables)))
    if e.parameters:
        made.append(make("having", {}, *map(_parameter_element, e.parameters)))
    for argument in e.arguments:
        solve = make("solve", {}, to_element(argument.expression))
        made.append(make("argument", {"name": argument.name}, solve))
    if e.literal is not None:
        made.append(_literal_element(e.literal))
    return made


def _variable_element(variable: ExpressionVariable) -> Any:
    below = () if variable.value is None else (make("literal", {}, text=variable.value),)
    return make("Variable", {"name": variable.name, "mode": variable.mode}, *below)


def _parameter_element(given: Parameter) -> Any:
    row = {"name": given.name, "bindVar": given.variable, "value": given.value, "type": given.type}
    return make("parameter", row)


def _literal_element(literal: Opaque) -> Any:
    if not literal.is_xml:
        return make("literal", {"type": literal.type}, text=literal.text)
    return make("literal", {"type": literal.type}, parse_literal(literal.text))
