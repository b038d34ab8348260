"""The functions of expressions: how they are spelt, and how many arguments they take (None: any number)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from etalis.epsparql.read.namespaces import XSD


class FunctionForm(NamedTuple):
    """How a function is written, and the fewest and most arguments."""

    spelling: str
    least: int
    most: int | None


_ONE = """
STR LANG DATATYPE BOUND IRI ABS CEIL FLOOR ROUND STRLEN UCASE LCASE ENCODE_FOR_URI YEAR MONTH DAY HOURS MINUTES SECONDS
TIMEZONE TZ MD5 SHA1 SHA256 SHA384 SHA512 isIRI isBLANK isLITERAL isNUMERIC
"""
_TWO = "LANGMATCHES CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER STRLANG STRDT sameTerm"
_NONE = "getDURATION getSTARTTIME getENDTIME"
_CASTS = "boolean double float decimal integer string dateTime date time duration dayTimeDuration"

FUNCTIONS: Mapping[str, FunctionForm] = MappingProxyType(
    {name.lower(): FunctionForm(name, 1, 1) for name in _ONE.split()}
    | {name.lower(): FunctionForm(name, 2, 2) for name in _TWO.split()}
    | {name.lower(): FunctionForm(name, 0, 0) for name in _NONE.split()}
    | {
        "concat": FunctionForm("CONCAT", 0, None),
        "coalesce": FunctionForm("COALESCE", 1, None),
        "if": FunctionForm("IF", 3, 3),
        "substr": FunctionForm("SUBSTR", 2, 3),
        "regex": FunctionForm("REGEX", 2, 3),
        "replace": FunctionForm("REPLACE", 3, 4),
    }
    | {f"<{XSD}{name}>": FunctionForm(f"xsd:{name}", 1, 1) for name in _CASTS.split()}
)
SAME: Mapping[str, str] = MappingProxyType({"uri": "iri", "isuri": "isiri"})
AGGREGATES: Mapping[str, str] = MappingProxyType(
    {name.lower(): name for name in ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT")}
)


def arity_problem(signature: FunctionForm, given: int) -> str | None:
    """Say that a function does not take so many arguments."""
    if signature.least <= given and (signature.most is None or given <= signature.most):
        return None
    if signature.most is None:
        wanted = f"at least {signature.least}"
    elif signature.most == signature.least:
        wanted = str(signature.most) if signature.most else "no"
    else:
        wanted = f"{signature.least} or {signature.most}"
    plural = "" if wanted == "1" else "s"
    return f"{signature.spelling} takes {wanted} argument{plural}, found {given}"
