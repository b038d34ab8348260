"""Consumption policies as data (definition 12.8 to 12.16): rows of (select, consume, keep).

select: which candidates are matched; consume: whether the matched ones leave their store; keep: when the arriving
instance is stored on its own side. One emission path reads these rows; no operator knows a policy by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Policy:
    """One row: select in {all, earliest, latest, together}; keep in {always, unmatched, newest}."""

    name: str
    select: str
    consume: bool
    keep: str


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        row.name: row
        for row in (
            Policy("unrestricted", "all", False, "always"),
            Policy("chronological", "earliest", True, "unmatched"),
            Policy("recent", "latest", True, "unmatched"),
            Policy("snoop_recent", "latest", False, "newest"),
            Policy("continuous", "all", True, "unmatched"),
            Policy("cumulative", "together", True, "unmatched"),
        )
    }
)
DEFAULT_POLICY = "recent"
