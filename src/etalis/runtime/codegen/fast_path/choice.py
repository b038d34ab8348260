"""Choosing in generated code: which of several blocks is run for a name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from etalis.runtime.codegen.source import Code

Option = tuple[Any, Callable[[], None]]  # what the subject is compared with, and what writes the block

CHAIN = 4  # so many comparisons in a row cost no more than a look-up


def choose(code: Code, subject: str, options: Sequence[Option]) -> None:
    """Write the block of the option that equals a subject: found by comparison or, of many, by look-up and halving."""
    if len(options) <= CHAIN:
        for number, (known, write) in enumerate(options):
            with code.block(f"{'el' if number else ''}if {subject} == {code.constant(known)}:"):
                write()
        return
    numbers = {known: number for number, (known, _) in enumerate(options)}
    found = code.fresh("i")
    with code.block("try:"):
        code(f"{found} = {code.constant(numbers.get)}({subject})")
    with code.block("except TypeError:"):  # no name at all
        code(f"{found} = None")
    with code.block(f"if {found} is not None:"):
        _halve(code, found, [write for _, write in options], 0)


def _halve(code: Code, found: str, blocks: Sequence[Callable[[], None]], first: int) -> None:
    if len(blocks) == 1:
        blocks[0]()
        return
    middle = len(blocks) // 2
    with code.block(f"if {found} < {first + middle}:"):
        _halve(code, found, blocks[:middle], first)
    with code.block("else:"):
        _halve(code, found, blocks[middle:], first + middle)
