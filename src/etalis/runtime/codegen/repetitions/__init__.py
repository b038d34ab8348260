"""Repetitions in generated code: what an element does after left sides, or alone."""
