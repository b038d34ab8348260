"""Truth values over columns, in batches with and without rows of their event."""

from __future__ import annotations

from decimal import Decimal
from unittest.mock import patch

import pyarrow as pa

import etalis
from etalis import detect


def test_a_batch_may_have_no_row_of_an_event() -> None:
    prices = pa.array([Decimal(1)] * 4, pa.decimal128(20, 0))
    rows = {"event": ["a", "a", "a", "b"], "at": [1, 2, 3, 4], "x": [True, None, False, True], "y": prices}
    with patch.object(detect, "SMALL", 0):
        found = etalis.compile("m(X) <- a(X, Y).").detect(pa.table(rows), time="at", event="event", batch=3)
    assert found["X"].to_pylist() == [True, None, False]
