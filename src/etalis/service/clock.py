"""The clock of the service, which tests replace: moments in microseconds since 1970, and seconds that only grow."""

from __future__ import annotations

import time


class ServiceClock:
    """The clock of the machine."""

    def now(self) -> int:
        """Return the moment in microseconds."""
        return time.time_ns() // 1_000

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()
