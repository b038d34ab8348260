"""The nodes of a plan over batches: joins, aggregates, deadlines, isolation."""
