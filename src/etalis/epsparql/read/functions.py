"""The functions of expressions as texts write them; what they compute, `logic.sparql` says."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from etalis.epsparql.windows import AGGREGATES as AGGREGATE_NAMES
from etalis.epsparql.windows import TIMES
from etalis.logic.knowledge.cell_values import XSD
from etalis.logic.sparql.functions import FUNCTIONS as COMPUTED

SAME: Mapping[str, str] = MappingProxyType({"uri": "iri", "isuri": "isiri"})
AGGREGATES: Mapping[str, str] = MappingProxyType({name: name.upper() for name in sorted(AGGREGATE_NAMES)})
_MIXED = ("isIRI", "isBLANK", "isLITERAL", "isNUMERIC", "sameTerm", "getDURATION", "getSTARTTIME", "getENDTIME")
_SIGNS = frozenset(("in", "not in", "neg", "pos"))  # written as operators
_SPELLINGS = {name.lower(): name for name in _MIXED}


class FunctionForm(NamedTuple):
    """How a function is written, and the fewest and most arguments (None: any number)."""

    spelling: str
    least: int
    most: int | None


def _forms() -> dict[str, FunctionForm]:
    """Return the functions by name; `getDURATION()` has no arguments in a text."""
    found = {}
    for name, row in COMPUTED.items():
        if name.startswith(f"<{XSD}"):
            found[name] = FunctionForm(f"xsd:{name[len(XSD) + 1 : -1]}", row.least, row.most)
        elif name[0].isalpha() and name not in _SIGNS and name not in SAME:
            bounds = (0, 0) if name in TIMES else (row.least, row.most)
            found[name] = FunctionForm(_SPELLINGS.get(name, name.upper()), *bounds)
    return found


FUNCTIONS: Mapping[str, FunctionForm] = MappingProxyType(_forms())


def arity_problem(form: FunctionForm, given: int) -> str | None:
    """Say that a function does not take so many arguments."""
    if form.least <= given and (form.most is None or given <= form.most):
        return None
    if form.most is None:
        wanted = f"at least {form.least}"
    elif form.most == form.least:
        wanted = str(form.most) if form.most else "no"
    else:
        wanted = f"{form.least} or {form.most}"
    plural = "" if wanted == "1" else "s"
    return f"{form.spelling} takes {wanted} argument{plural}, found {given}"
