"""Commands of the service: `serve` runs it."""
