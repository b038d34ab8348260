"""Reactions: what is done when their patterns have occurred, in which order, and as a transaction each."""
