"""What is not installed, told with what installs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from etalis.errors import InputError, Problem


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Refuse to go on where a package of an extra is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        hint = f'pip install "etalis[{extra}]"'
        raise InputError(Problem("E412", f"this needs {error.name}, which is not installed", hint=hint)) from None
