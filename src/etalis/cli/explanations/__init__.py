"""Commands that explain a run: why an event occurred, and why one did not."""
