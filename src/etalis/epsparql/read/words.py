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
REFUSED_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "now": "use getENDTIME(), the time of the event",
        "rand": "a query has the same results whenever it is run; put the number into the data",
        "uuid": "make an IRI of what is known: IRI(CONCAT(...))",
        "struuid": "make a text of what is known: SHA256(CONCAT(...))",
        "bnode": "a blank node in the template of CONSTRUCT is a new one for each solution",
    }
)
