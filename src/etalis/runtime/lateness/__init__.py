"""Events out of order: the watermark, dead letters, events from the future."""
