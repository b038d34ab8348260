"""Why a workload or program is more than five times slower than the loop by hand, and what is planned."""

from __future__ import annotations

CAUSES: dict[str, tuple[str, str]] = {}
