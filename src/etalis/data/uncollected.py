"""Work that makes or moves many objects of which none is part of a circle: the cyclic collector need not walk them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_MANY = 100_000  # objects that are made


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the cyclic collector from walking objects again and again while many are made or moved.

    >>> with uncollected():
    ...     gc.isenabled()
    False
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def collected_once() -> Iterator[None]:
    """Keep the collector from walking while objects are made that stay, and have it walk once if they are many.

    Else whatever comes next would wait for it.
    """
    is_on = gc.isenabled()
    with uncollected():
        yield
        made, _, _ = gc.get_count()
        if is_on and made > _MANY:
            gc.collect()
