"""Recursive rules over batches: a compiled machine that runs tables of numbers."""
