"""Names of a package that are imported when they are first asked for (PEP 562), so that importing it costs nothing.

A module that enters itself somewhere below it, as printers do, is announced, and imported by who looks for entries.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

_ANNOUNCED: list[str] = []


def announce(module: str) -> None:
    """Name a module that enters itself as a printer."""
    _ANNOUNCED.append(module)


def import_announced() -> None:
    """Import all modules that are announced."""
    while _ANNOUNCED:
        import_module(_ANNOUNCED.pop())


def import_lazily(
    package: str, names: Mapping[str, Iterable[str]], modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package: its names by the module that defines them, and its modules.

    >>> get, _ = import_lazily("etalis", {"etalis.temporal.event": ["Event"]})
    >>> get("Event").__name__
    'Event'
    """
    homes = {name: module for module, several in names.items() for name in several}
    parts = frozenset(modules)

    def get_attribute(name: str) -> Any:
        if name in parts:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, found)  # the next time it is found at once
        return found

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *parts})

    return get_attribute, list_names
