"""Explanations: why an event occurred, why it did not, what would make it occur, and what is awaited."""

from etalis.why import forms

__all__ = ["forms"]  # enter themselves as prints of explanations
