"""The conversion of attributes in generated code: what is a value of its type already passes by a test of its type."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from etalis.data.values import Real, to_value
from etalis.language.attributes import Signature, convert_one
from etalis.runtime.codegen.fast_path.records import from_row
from etalis.runtime.codegen.source import Code
from etalis.temporal.interval import EARLIEST, LATEST, MICROSECONDS

_PLAIN = {  # of a declared type: what is a value of it
    "int": "type({x}) is int",
    "string": "type({x}) is str",
    "time": f"type({{x}}) is int and {EARLIEST // MICROSECONDS} <= {{x}} <= {LATEST // MICROSECONDS}",
}
_NUMBER = "type({x}) is float and {x} == {x}"  # NaN is refused


def write_conversion(
    code: Code, name: str, signature: Signature, places: list[str], given: str, plain: Collection[int]
) -> None:
    """Write that attributes become values, by their declared types if there are some; `given` is what they are of.

    Floats at the places of `plain` stay as they are.
    """
    for place, x in enumerate(places):
        attribute, wanted = signature[place] if signature else ("", "any")
        as_given = x if given == "None" else f"{code.constant(from_row)}({given}, {x})"
        convert = to_value if wanted == "any" else partial(convert_one, name, attribute, wanted)
        slow = f"{x} = {code.constant(convert)}({as_given})"
        match wanted:
            case "any" | "term":
                with code.block(f"if type({x}) is not int and type({x}) is not str:"):
                    _write_float(code, x, slow)
            case "float" if place in plain:
                with code.block(f"if not ({_NUMBER.format(x=x)}):"):
                    code(slow)
                with code.block(f"elif not {x}:"):
                    code(f"{x} = 0.0")  # there is no negative zero
            case "float":
                _write_float(code, x, slow)
            case "bool":
                with code.block(f"if type({x}) is bool:"):
                    code(f"{x} = 'true' if {x} else 'false'")
                with code.block("else:"):
                    code(slow)
            case _:
                with code.block(f"if not ({_PLAIN[wanted].format(x=x)}):"):
                    code(slow)


def _write_float(code: Code, x: str, other: str) -> None:
    """Write that a float becomes a value, an integral one apart from integers; `other` is the line for all else."""
    with code.block(f"if {_NUMBER.format(x=x)}:"), code.block(f"if {x}.is_integer():"):
        code(f"{x} = {code.constant(Real)}({x} + 0.0)")
    with code.block("else:"):
        code(other)
