"""Commands of the service and of its clients: `serve` runs it, `shell` and `send` talk to it."""
