"""The third truth value."""

from __future__ import annotations


class ExpressionError(Exception):
    """SPARQL's error: an expression has no value. A filter takes it as false, a binding as unbound."""
