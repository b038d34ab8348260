"""pyoxigraph, which reads and writes RDF for us: an extra that may be missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from etalis.errors import InputError, Problem


def import_pyoxigraph() -> Any:
    """Return the library."""
    try:
        return import_module("pyoxigraph")
    except ModuleNotFoundError:
        hint = "install it: pip install 'etalis[rdf]'"
        raise InputError(Problem("E412", "RDF is read by pyoxigraph, which is not installed", hint=hint)) from None
