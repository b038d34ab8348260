"""Case files: a program, events and the matches they make, as text; what runs of them came to."""

from etalis.cases.case_file import Case, find_cases, read_cases

__all__ = ["Case", "find_cases", "read_cases"]
