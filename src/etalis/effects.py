"""Effects as hosts have them: requests of HTTP, and runs that make none.

`program.effect(name, function)` says what makes an effect; this module has functions and modes to give.
"""

from __future__ import annotations

from etalis.reactive.effects.http import HttpClient, StandardClient, http
from etalis.reactive.effects.rehearsal import dry, recording

__all__ = ["HttpClient", "StandardClient", "dry", "http", "recording"]
