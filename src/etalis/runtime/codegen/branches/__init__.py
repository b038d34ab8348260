"""Branches of rules: what each does with an event, written once for those of one shape, found by an index."""
