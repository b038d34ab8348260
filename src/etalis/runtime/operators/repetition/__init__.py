"""Repetition: runs of an element, after each left side or alone (definition 13.1 to 13.22)."""
