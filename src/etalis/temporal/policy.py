"""Consumption policies as data (definition 12.8 to 12.16): rows of (select, consume, keep).

select: which candidates are matched; consume: whether the matched ones leave their store; keep: when the arriving
instance is stored on its own side. One emission path reads these rows; no operator knows a policy by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True, slots=True)
class Policy:
    """One row: which candidates match, whether they leave their store, when the arriving instance is stored."""

    name: str
    select: Literal["all", "earliest", "latest", "together"]
    consume: bool
    keep: Literal["always", "unmatched", "newest"]

    def __post_init__(self) -> None:
        if self.keep == "newest" and (self.select != "latest" or self.consume):
            raise ValueError(f"the policy {self.name} keeps the newest: it selects the latest and consumes nothing")

    @property
    def restricts(self) -> bool:
        """Whether it leaves candidates out, consumes or replaces any."""
        return (self.select, self.consume, self.keep) != ("all", False, "always")


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
