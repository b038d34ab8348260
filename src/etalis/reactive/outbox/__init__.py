"""Outboxes: the state of an engine, its position and its effects in one database, and what delivers the effects."""
