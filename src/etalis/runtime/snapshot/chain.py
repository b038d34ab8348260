"""A chain of snapshots of an engine: a whole one, then deltas until these are as large as it, then a whole one again.

The last state is held, so that a delta costs no reading. Law: what was not kept does not count, so a chain that could
not be stored goes on from what is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from etalis.runtime.snapshot.file import Image, digest_of, write_delta, write_image
from etalis.runtime.snapshot.snapshot import take_image

if TYPE_CHECKING:
    from etalis.runtime.core import Core

_LONGEST = 100  # deltas after a whole snapshot, each of which is read to go on


@dataclass(frozen=True, slots=True)
class ChainedSnapshot:
    """A snapshot, or a delta, that is to be stored."""

    data: bytes
    is_delta: bool
    image: Image


class SnapshotChain:
    """The snapshots of an engine that have been stored."""

    def __init__(self) -> None:
        self._last: Image | None = None
        self._whole = self._deltas = self._count = 0  # bytes of the whole, of the deltas, and how many these are

    def take(self, core: Core) -> ChainedSnapshot:
        """Take the next snapshot: a delta, unless it is time for a whole one."""
        image = take_image(core)
        if self._last is not None and self._deltas < self._whole and self._count < _LONGEST:
            data = write_delta(image, self._last)
            return ChainedSnapshot(data, True, replace(image, digest=digest_of(data)))
        data = write_image(image)
        return ChainedSnapshot(data, False, replace(image, digest=digest_of(data)))

    def keep(self, link: ChainedSnapshot) -> None:
        """Go on from a snapshot that has been stored."""
        self._last = link.image
        if link.is_delta:
            self._deltas += len(link.data)
            self._count += 1
        else:
            self._whole, self._deltas, self._count = len(link.data), 0, 0
