"""Cells of a table as Python objects, and what is said of rows that name an event nobody may send."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from etalis.errors import InputError
from etalis.formats.terms import read_cell_term
from etalis.logic.knowledge.arrow_columns import to_list
from etalis.tables.sorting import refuse_row
from etalis.temporal.time_columns import is_text


def cells_of(array: Any, kind: str) -> list[Any]:
    """Return cells as Python objects; of text that is declared `term`, each different one is read once."""
    values = to_list(array)
    if kind != "term" or not (is_text(array.type) or pa.types.is_dictionary(array.type)):
        return values
    known = {text: text if text is None else read_cell_term(text) for text in set(values)}
    return [known[text] for text in values]


def undeclared(tag: str) -> InputError:
    """Return the refusal of rows of an event that only rules make."""
    return refuse_row(*reason_undeclared(tag))


def reason_undeclared(tag: str) -> tuple[str, str]:
    """Say that rows name an event that only rules make, and what to do."""
    hint = f"rules derive {tag}; to receive it as well, declare it: `:- event({tag}(attribute: type, ...)).`"
    return f"rows name the event {tag}, which is not declared", hint
