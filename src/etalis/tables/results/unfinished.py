"""What is left of a call that failed: how many rows of a table were taken, and what they caused."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from etalis.temporal.event import Event


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Rows of a table that an engine has taken before something failed, and the complex events they caused.

    `events` are those at the end of them that have no place in a table.
    """

    rows: int
    found: pa.Table
    events: tuple[Event, ...] = ()

    def note(self) -> str:
        """Say what can be done.

        >>> Unfinished(3, pa.table({"end": [1]})).note()
        'the engine has processed 3 rows of the table; engine.unfinished.found has what they caused'
        """
        count = "1 row" if self.rows == 1 else f"{self.rows} rows"
        return f"the engine has processed {count} of the table; engine.unfinished.found has what they caused"
