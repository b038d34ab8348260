"""Arithmetic: evaluation of expressions, functions on integers, rationals and floats."""
