"""Simple goals as Python expressions, for generated code."""
