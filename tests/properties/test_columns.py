"""Columns give what programs mean, wherever the batches are cut."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import etalis
from etalis.columnar.events import find_types, gather
from etalis.columnar.run import ColumnRun
from etalis.errors import LimitError
from etalis.language import syntax as s
from etalis.language.printer import print_program
from etalis.temporal.event import Event
from properties.programs import policies, programs, streams
from properties.test_engine import MOST, meaning

pytestmark = pytest.mark.property


@settings(max_examples=settings.default.max_examples // 4)
@given(programs(), streams(), policies(), st.data())
def test_columns_give_the_meaning(tree: s.Program, stream: list[Event], policy: str, data: st.DataObject) -> None:
    text = print_program(tree)
    note(f"{policy}\n{text}\n{stream}")
    expected = meaning(text, stream, policy)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(stream) - 1)), max_size=3)))
    types = find_types(stream)
    try:
        run = ColumnRun(etalis.compile(text, max_derivations=MOST), types, policy=policy)
        found = [
            event
            for low, high in zip([0, *cuts], [*cuts, len(stream)], strict=True)
            for event in run.take(gather(stream[low:high], types))
        ]
        found.extend(run.close())
    except LimitError:
        assert expected is None
        return
    if expected is None:
        return
    if run.is_mixed:  # in which order two parts report one moment is left open
        assert Counter(found) == Counter(expected)
    else:
        assert found == expected
