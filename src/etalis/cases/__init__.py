"""Case files: a program, events and the expected matches, as text; and the results of running them."""

from etalis.cases.case_file import Case, find_cases, read_cases

__all__ = ["Case", "find_cases", "read_cases"]
