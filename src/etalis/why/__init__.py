"""Explanations: why an event occurred, why it did not, what would make it occur, and what is awaited."""
