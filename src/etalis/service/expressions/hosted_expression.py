"""One registered expression in the service: whose it is, what detects it, what its evaluators said last."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Self

from etalis.snoop import Registration
from etalis.snoop.expression import name_path, read_path

MOST_REASONS = 20


@dataclass
class Provided:
    """A leaf that an evaluator feeds: its cursor, and its id at a remote provider."""

    cursor: str | None = None
    provider_id: str | None = None


@dataclass
class HostedExpression:
    """An expression of a client. What changes it runs in the worker's thread, in the order of the log."""

    number: int
    client: str
    registration: Registration
    callback: str | None = None
    form: str = "json"
    registered: int = 0  # microseconds, by the clock
    provided: dict[str, Provided] = field(default_factory=dict)  # by the path of the leaf
    discarded: Counter[str] = field(default_factory=Counter)  # instances, by reason
    dropped: int = 0  # what came for it after its end
    notices: int = 0  # results and failures so far
    is_changed: bool = True  # since its last snapshot

    @property
    def unit(self) -> str:
        """What the log calls it."""
        return f"expression:{self.number}"

    @property
    def is_active(self) -> bool:
        return bool(self.registration.state == "active")

    def discard(self, reason: str) -> None:
        """Count an instance that was none of a leaf."""
        if reason in self.discarded or len(self.discarded) < MOST_REASONS:
            self.discarded[reason] += 1
        else:
            self.discarded["other reasons"] += 1

    def leaf_at(self, path: str) -> Provided:
        """Return what is known of the evaluator of a leaf."""
        return self.provided.setdefault(path, Provided())

    def has_leaf(self, path: str) -> bool:
        """Tell whether there is a leaf at a path."""
        return self.registration.leaf(read_path(path)) is not None

    def paths(self) -> list[str]:
        """Return the paths of all leaves."""
        return [name_path(leaf.path) for leaf in self.registration.leaves]

    def snapshot(self) -> bytes:
        """Return all of it as bytes."""
        head: dict[str, Any] = {
            "number": self.number,
            "client": self.client,
            "callback": self.callback,
            "form": self.form,
            "registered": self.registered,
            "provided": {path: [p.cursor, p.provider_id] for path, p in self.provided.items()},
            "discarded": dict(self.discarded),
            "dropped": self.dropped,
            "notices": self.notices,
        }
        return json.dumps(head).encode() + b"\n" + self.registration.snapshot()

    @classmethod
    def restore(cls, data: bytes) -> Self:
        """Return the expression of a snapshot."""
        head, _, body = data.partition(b"\n")
        told = json.loads(head)
        told["provided"] = {path: Provided(*pair) for path, pair in told["provided"].items()}
        told["discarded"] = Counter(told["discarded"])
        return cls(registration=Registration.restore(body), is_changed=False, **told)
