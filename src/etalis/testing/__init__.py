"""Tests of rules: `assert_matches` in any test, `.case` files with `etalis test` or pytest (docs/testing.md)."""

from typing import TYPE_CHECKING

from etalis.lazy import import_lazily

if TYPE_CHECKING:
    from etalis.cases.case_file import Case, find_cases, read_cases
    from etalis.testing.assertions import assert_matches, check_case
else:  # pytest imports the plugin of every package that is installed: it is not to wait for this one
    __getattr__, __dir__ = import_lazily(
        __name__,
        {
            "etalis.cases.case_file": ("Case", "find_cases", "read_cases"),
            "etalis.testing.assertions": ("assert_matches", "check_case"),
        },
    )

__all__ = ["Case", "assert_matches", "check_case", "find_cases", "read_cases"]
