"""Values, events and matches as columns and batches."""
