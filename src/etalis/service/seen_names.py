"""The names that clients gave to what they sent, so that what comes again is taken once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256

KEPT, KEPT_SECONDS = 100_000, 24 * 3600.0
_LONGEST = 200


class SeenNames:
    """The last names: so many, for a day."""

    def __init__(
        self, clock: Callable[[], float], *, most: int = KEPT, seconds: float = KEPT_SECONDS
    ) -> None:  # fmt: skip
        self._seen: OrderedDict[str, float] = OrderedDict()
        self._clock = clock
        self._most = most
        self._seconds = seconds

    def names(self) -> list[str]:
        """Return the names that are kept, oldest first."""
        return list(self._seen)

    def note(self, name: str) -> bool:
        """Note a name; tell whether it is new. Of a long one its digest is kept."""
        now = self._clock()
        if len(name) > _LONGEST:
            name = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        while self._seen and next(iter(self._seen.values())) < now - self._seconds:
            self._seen.popitem(last=False)
        if name in self._seen:
            return False
        self._seen[name] = now
        if len(self._seen) > self._most:
            self._seen.popitem(last=False)
        return True
