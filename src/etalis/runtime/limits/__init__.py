"""Limits on what an engine keeps and what a goal may cost."""
