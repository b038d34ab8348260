"""Corrections after the fact: the history, its replay, and the changelog of matches."""
