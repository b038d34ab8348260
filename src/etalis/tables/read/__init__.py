"""Tables in: sources, batches, rows that cannot be taken."""
