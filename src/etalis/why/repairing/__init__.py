"""Repairs: a smallest change of the input by which an event would have occurred, verified by running it."""
