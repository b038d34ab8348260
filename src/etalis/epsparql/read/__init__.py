"""The text of EP-SPARQL to the syntax tree: tokens, names, expressions, triples, groups, queries."""

from etalis.epsparql.read.units import DIALECTS, read_collect, read_unit

__all__ = ["DIALECTS", "read_collect", "read_unit"]
