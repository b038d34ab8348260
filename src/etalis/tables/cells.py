"""What is said of rows that name an event nobody may send."""

from __future__ import annotations

from etalis.errors import InputError
from etalis.tables.sorting import refuse_row


def undeclared(tag: str) -> InputError:
    """Return the refusal of rows of an event that only rules make."""
    return refuse_row(*reason_undeclared(tag))


def reason_undeclared(tag: str) -> tuple[str, str]:
    """Say that rows name an event that only rules make, and what to do."""
    hint = f"rules make {tag}; to receive it as well, declare it: `:- event({tag}(attribute: type, ...)).`"
    return f"rows name the event {tag}, which is not declared", hint
