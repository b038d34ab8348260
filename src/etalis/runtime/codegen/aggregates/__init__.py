"""Aggregates as generated code."""
