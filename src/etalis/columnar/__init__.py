"""The plan over columns: whole batches of events at a time, with compiled kernels; needs `etalis[columnar]`."""
