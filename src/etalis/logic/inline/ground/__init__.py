"""Built-in predicates over ground values, as Python functions for generated code."""
