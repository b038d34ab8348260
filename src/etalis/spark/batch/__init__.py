"""A batch DataFrame through the shards of each stage, rows that are rejected included."""
