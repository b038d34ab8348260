"""Patterns of which one part may be missing: which conditions tell a partner, and in which order absences are known."""
