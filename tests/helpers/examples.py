"""How many examples a law is tried on: as many as the profile says, or a part of them by day where each takes long."""

from __future__ import annotations

from hypothesis import settings

AT_NIGHT = settings.get_profile("nightly").max_examples
IS_NIGHT = settings.default.max_examples >= AT_NIGHT


def by_day(part: int) -> settings:
    """Divide the number of examples, but not at night."""
    most = settings.default.max_examples
    return settings(max_examples=most if IS_NIGHT else most // part)
