"""The normal form of an expression: equal for all notations of the same expression, and all that detection looks at.

`use` variables stand at the root, sorted by name; leaves declare the variables that they bind, in the order in which
they name them; a `bind` list of a composite root is kept, since it chooses the result. n of ANY is at most m, ALL is
ANY of all, arguments and languages have names, context and time are said.
"""

from __future__ import annotations

from dataclasses import replace

from etalis.snoop.expression import NUMBER, SNOOP, Argument, Expression, ExpressionVariable, Parameter, walk

SIDES = ("left", "right")


def normal_form(expression: Expression) -> Expression:
    """Return an expression without problems in its normal form; twice is once."""
    uses = used_values(expression)
    root = _normal(expression, uses)
    chosen = () if expression.is_leaf else tuple(v for v in expression.variables if v.mode == "bind")
    own = root.variables
    named = {variable.name for variable in own}
    variables = (
        *(ExpressionVariable(name, "use", value) for name, value in sorted(uses.items()) if name not in named),
        *own,
        *dict.fromkeys(ExpressionVariable(v.name) for v in chosen),
    )
    context, time = expression.context or "recent", expression.time or "intervals"
    return replace(root, variables=variables, context=context, time=time)


def used_values(expression: Expression) -> dict[str, str]:
    """Return the values of the variables of mode `use`, wherever they are declared."""
    found: dict[str, str] = {}
    for _, node in walk(expression):
        for variable in node.variables:
            if variable.mode == "use" and variable.value is not None:
                found.setdefault(variable.name, variable.value)
    return found


def _normal(node: Expression, uses: dict[str, str]) -> Expression:
    match node.kind:
        case "composite":
            return _normal_composite(node, uses)
        case "atomic":
            bound = tuple(map(ExpressionVariable, outputs_of(node, uses)))
            return replace(node, variables=bound, context=None, time=None)
        case "opaque":
            return replace(node, variables=_declared(node, uses), context=None, time=None)
        case "external":
            foreign = tuple(replace(a, name=a.name or f"{i}") for i, a in enumerate(node.arguments, 1))
            return replace(node, arguments=foreign, variables=_declared(node, uses), context=None, time=None)


def _normal_composite(node: Expression, uses: dict[str, str]) -> Expression:
    names = SIDES if len(node.arguments) == 2 else tuple(map(str, range(1, len(node.arguments) + 1)))
    arguments = tuple(
        Argument(argument.name or name, _normal(argument.expression, uses))
        for argument, name in zip(node.arguments, names, strict=True)
    )
    operator, parameters = node.operator, tuple(replace(p, type=None) for p in node.parameters)
    if operator in ("ANY", "ALL"):
        given = next((p.value for p in parameters if p.name == NUMBER), None)
        count = len(arguments) if given is None else min(int(given), len(arguments))
        operator, parameters = "ANY", (Parameter(NUMBER, value=str(count)),)
    return Expression(operator, SNOOP, arguments, (), parameters)


def _declared(node: Expression, uses: dict[str, str]) -> tuple[ExpressionVariable, ...]:
    """Return the variables of a foreign part: inputs with their values, then outputs, in the order of names."""
    names = sorted({variable.name for variable in node.variables})
    inputs = tuple(ExpressionVariable(name, "use", uses[name]) for name in names if name in uses)
    return (*inputs, *(ExpressionVariable(name) for name in names if name not in uses))


def outputs_of(leaf: Expression, uses: dict[str, str]) -> tuple[str, ...]:
    """Return the variables that a leaf binds, in the order in which it names them."""
    if leaf.kind == "atomic":
        named = [p.variable for p in leaf.parameters if p.variable is not None]
    else:
        named = [v.name for v in leaf.variables if v.mode == "bind"]
    return tuple(name for name in dict.fromkeys(named) if name not in uses)


def shape_of(node: Expression, uses: dict[str, str]) -> Expression:
    """Return an expression without the names of its variables: equal for those that are equal up to variables."""
    numbers: dict[str, str] = {}

    def visit_parameter(given: Parameter) -> Parameter:
        if given.variable is None:
            return given
        if given.variable in uses:
            return replace(given, variable=None, value=uses[given.variable])
        return replace(given, variable=numbers.setdefault(given.variable, f"V{len(numbers)}"))

    def visit(each: Expression) -> Expression:
        parameters = tuple(sorted(map(visit_parameter, each.parameters), key=lambda p: p.name))
        declared = tuple(ExpressionVariable(numbers.setdefault(v.name, f"V{len(numbers)}")) for v in each.variables)
        arguments = tuple(Argument(None, visit(a.expression)) for a in each.arguments)
        kept = declared if each.kind in ("opaque", "external") else ()
        return replace(each, parameters=parameters, variables=kept, arguments=arguments)

    return visit(node)
