"""The words of EP-SPARQL, and those of SPARQL that it does not have."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TEMPORAL = frozenset(("SEQ", "EQUALS", "OPTIONALSEQ", "SEQOPTIONAL", "OPTIONALEQUALS", "EQUALSOPTIONAL"))
ELEMENTS = frozenset(("FILTER", "OPTIONAL", "MINUS", "GRAPH", "STREAM", "WINDOW", "BIND", "VALUES", "SERVICE"))
FORMS = frozenset(("SELECT", "CONSTRUCT", "ASK"))
REGISTERED = ("QUERY", "STREAM", "RSTREAM", "ISTREAM", "DSTREAM")
MODIFIERS = frozenset(("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES", "POLICY"))
KEYWORDS = (
    TEMPORAL
    | ELEMENTS
    | FORMS
    | MODIFIERS
    | frozenset(("REGISTER", "PREFIX", "BASE", "FROM", "WHERE", "UNION", "WITHIN", "AS", "DISTINCT", "REDUCED"))
    | frozenset(("NOT", "EXISTS", "IN", "BY", "UNDEF", "NAMED", "DESCRIBE", "INSERT", "DELETE"))
)
IN_GROUPS = ELEMENTS | TEMPORAL | {"UNION", "WITHIN"}
BEHIND_BODY = MODIFIERS | TEMPORAL | {"UNION", "WITHIN", "FILTER"}

_UPDATE = "EP-SPARQL reads streams; what a query makes is said by CONSTRUCT"
UPDATES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH"), _UPDATE)
)
REFUSED_FORMS: Mapping[str, str] = MappingProxyType(
    {"DESCRIBE": "say which triples you want: CONSTRUCT { ?s ?p ?o } WHERE { ... }", **UPDATES}
)
REFUSED_MODIFIERS: Mapping[str, str] = MappingProxyType(
    {
        "ORDER": "results come in the order of time; sort them where they are read",
        "LIMIT": "a stream has no first results; count them where they are read",
        "OFFSET": "a stream has no first results; count them where they are read",
    }
)
_JOINED = "join conditions by && (both hold) and || (one holds)"
_ARITHMETIC = "arithmetic is + - * / with ABS, CEIL, FLOOR and ROUND"
_NAMED = "= compares; BIND (expression AS ?x) gives a name a value"
MEANT: Mapping[str, str] = MappingProxyType(  # where an expression goes on or ends, by what is found there
    {
        **dict.fromkeys(("AND", "OR", ",", ";"), _JOINED),
        **dict.fromkeys(("MOD", "REM", "DIV", "XOR", "**", "//"), _ARITHMETIC),
        **dict.fromkeys((":=", ":"), _NAMED),
        "IS": 'write BIND (expression AS ?x); with dialect="etalis": ?x is expression',
        "<>": "write !=",
        "\\+": "write !",
        "=>": "write >=",
        "LIKE": 'write CONTAINS(?x, "text") or REGEX(?x, "pattern")',
        "BETWEEN": "write ?x >= 1 && ?x <= 5",
    }
)
MEANT_IN_DIALECT: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("MOD", "REM", "DIV", "XOR", "**", "//"), f"{_ARITHMETIC}; a goal of rules= may do the rest"),
        **dict.fromkeys((":=", ":"), "write ?x is expression"),
        "IS": "a variable stands before it: ?x is expression",
    }
)
REFUSED_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "now": "use getENDTIME(), the time of the event",
        "rand": "a query has the same results whenever it is run; put the number into the data",
        "uuid": "make an IRI of what is known: IRI(CONCAT(...))",
        "struuid": "make a text of what is known: SHA256(CONCAT(...))",
        "bnode": "a blank node in the template of CONSTRUCT is a new one for each solution",
    }
)
