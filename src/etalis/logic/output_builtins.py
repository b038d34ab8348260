"""Built-in predicates that write: to the output that the host chose, or with `format/3` into a term."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from etalis.logic.arguments import bound, natural, sized
from etalis.logic.arithmetic import evaluate
from etalis.logic.clauses import Key
from etalis.logic.directives import fill
from etalis.logic.iso_errors import domain_error, type_error
from etalis.logic.machine import Machine, Test
from etalis.logic.unify import Term, make_list, split_list, unify
from etalis.logic.write import print_term

Args = tuple[Term, ...]


def _writes(render: Callable[[Machine, Args], str]) -> Test:
    """Make a predicate of what it writes."""

    def run(machine: Machine, args: Args) -> bool:
        text = sized(render(machine, args), machine)
        machine.trail.charge(len(text))
        machine.host.output(text)
        return True

    return run


def _spaces(machine: Machine, args: Args) -> str:
    count = natural(evaluate(args[0]))
    if count > machine.limits.size:
        raise domain_error("column", count)
    return " " * count


def _character(_machine: Machine, args: Args) -> str:
    char = bound(args[0])
    if not (isinstance(char, str) and len(char) == 1):
        raise type_error("character", char)
    return char


def _filled(machine: Machine, args: Args) -> str:
    """Return what `format(Text)` or `format(Text, Arguments)` writes."""
    given: list[Term] = []
    if len(args) == 2:
        items, tail = split_list(args[1])
        given = items if tail == () else [args[1]]
    return fill(args[0], given, machine)


def _format_into(machine: Machine, args: Args) -> bool:
    """`format(atom(A), Text, Arguments)`: the same into a term, so no side effect."""
    sink = bound(args[0])
    make = _SINKS.get(sink[0]) if isinstance(sink, tuple) and len(sink) == 2 else None
    if make is None:
        raise domain_error("output_sink", sink)
    text = sized(_filled(machine, args[1:]), machine)
    machine.trail.charge(len(text))
    return unify(sink[1], make(text), machine.trail)


def _term_to_atom(machine: Machine, args: Args) -> bool:
    text = sized(print_term(bound(args[0])), machine)
    machine.trail.charge(len(text))
    return unify(args[1], text, machine.trail)


_SINKS: Mapping[str, Callable[[str], Term]] = MappingProxyType(
    {"atom": str, "string": str, "chars": make_list, "codes": lambda text: make_list(map(ord, text))}
)

OUTPUT_TESTS: Mapping[Key, Test] = MappingProxyType(
    {
        ("write", 1): _writes(lambda _, args: print_term(args[0], quoted=False)),
        ("print", 1): _writes(lambda _, args: print_term(args[0])),
        ("writeln", 1): _writes(lambda _, args: print_term(args[0], quoted=False) + "\n"),
        ("writeq", 1): _writes(lambda _, args: print_term(args[0])),
        ("write_canonical", 1): _writes(lambda _, args: print_term(args[0], operators=False)),
        ("put_char", 1): _writes(_character),
        ("nl", 0): _writes(lambda _machine, _args: "\n"),
        ("tab", 1): _writes(_spaces),
        ("format", 1): _writes(_filled),
        ("format", 2): _writes(_filled),
        ("format", 3): _format_into,
        ("term_to_atom", 2): _term_to_atom,
        ("term_string", 2): _term_to_atom,
    }
)
