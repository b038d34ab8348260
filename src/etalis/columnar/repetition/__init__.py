"""Repetition over batches: counted, or as chains."""
