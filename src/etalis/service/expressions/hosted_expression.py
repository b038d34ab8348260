"""One registered expression in the service: whose it is, what detects it, what its evaluators said last."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from etalis.snoop import Registration
from etalis.snoop.expression import name_path, read_path

MOST_REASONS = 20


@dataclass(slots=True)
class ProvidedLeaf:
    """A leaf that an evaluator feeds: its cursor, and its id at a remote provider."""

    cursor: str | None = None
    provider_id: str | None = None


@dataclass(slots=True)
class HostedExpression:
    """An expression of a client. What changes it runs in the worker's thread, in the order of the log."""

    number: int
    client: str
    registration: Registration
    callback: str | None = None
    form: str = "json"
    registered: int = 0  # microseconds, by the clock
    provided: dict[str, ProvidedLeaf] = field(default_factory=dict)  # by the path of the leaf
    discarded: Counter[str] = field(default_factory=Counter)  # instances, by reason
    notices: int = 0  # results and failures so far
    changes: int = 0  # beside those of its registration

    @property
    def unit(self) -> str:
        """What the log calls it."""
        return f"expression:{self.number}"

    @property
    def is_active(self) -> bool:
        return self.registration.state == "active"

    @property
    def version(self) -> int:
        """A number that grows with every change."""
        return self.changes + self.registration.changes

    def discard(self, reasons: Iterable[str]) -> None:
        """Count instances that were none of a leaf."""
        for reason in reasons:
            known = reason in self.discarded or len(self.discarded) < MOST_REASONS
            self.discarded[reason if known else "other reasons"] += 1
            self.changes += 1

    def leaf_at(self, path: str) -> ProvidedLeaf:
        """Return what is known of the evaluator of a leaf."""
        return self.provided.setdefault(path, ProvidedLeaf())

    def has_leaf(self, path: str) -> bool:
        """Tell whether there is a leaf at a path."""
        return self.registration.leaf(read_path(path)) is not None

    def paths(self) -> list[str]:
        """Return the paths of all leaves."""
        return [name_path(leaf.path) for leaf in self.registration.leaves]

    def snapshot(self, held: list[Any]) -> bytes:
        """Return all of it as bytes, with what is held for it until its time comes."""
        head: dict[str, Any] = {
            "number": self.number,
            "client": self.client,
            "callback": self.callback,
            "form": self.form,
            "registered": self.registered,
            "provided": {path: [leaf.cursor, leaf.provider_id] for path, leaf in self.provided.items()},
            "discarded": dict(self.discarded),
            "notices": self.notices,
        }
        return json.dumps([head, held]).encode() + b"\n" + self.registration.snapshot()

    @classmethod
    def restore(cls, data: bytes) -> tuple[Self, list[Any]]:
        """Return the expression of a snapshot, and what is held for it."""
        head, _, body = data.partition(b"\n")
        told, held = json.loads(head)
        told["provided"] = {path: ProvidedLeaf(*pair) for path, pair in told["provided"].items()}
        told["discarded"] = Counter(told["discarded"])
        return cls(registration=Registration.restore(body), **told), held
