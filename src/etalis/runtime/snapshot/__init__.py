"""Snapshots: the state of an engine as bytes, and back."""
