"""Reactive rules in programs: how their clauses are written, and what is wrong with them."""
