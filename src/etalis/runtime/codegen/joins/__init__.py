"""Joins in generated code: what waits on either side, and the search for partners of what arrives."""
