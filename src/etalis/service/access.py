"""Who a client is, and what it may do."""

from __future__ import annotations

from dataclasses import dataclass

SCOPES = ("read", "signal", "write", "admin")


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks: a name, and what it may do."""

    name: str
    scopes: frozenset[str]

    def may(self, scope: str) -> bool:
        """Tell whether it has a scope; who administrates may do all."""
        return scope in self.scopes or "admin" in self.scopes


LOCAL = Client("local", frozenset(SCOPES))  # whoever is on this machine, where there are no tokens
