"""Plain data as JSON that every reader takes."""

from __future__ import annotations

import json
import math
from datetime import date

import pytest

from etalis.temporal.json_values import to_text


def test_numbers_without_end_are_json() -> None:
    text = to_text({"a": [math.inf, 1.5], "b": -math.inf, "c": math.nan, "\ud800": "\ud800"})
    assert text == '{"a": [1e999, 1.5], "b": -1e999, "c": null, "\\ud800": "\\ud800"}'
    assert json.loads(text, parse_constant=pytest.fail)["a"] == [math.inf, 1.5]


def test_what_is_not_plain_is_made_so() -> None:
    assert to_text([date(2026, 1, 2), math.inf], str) == '["2026-01-02", 1e999]'
    with pytest.raises(TypeError):
        to_text([date(2026, 1, 2), math.inf])


def test_what_cannot_be_written_is_an_error() -> None:
    with pytest.raises(ValueError, match="digits"):
        to_text([10**5000])
