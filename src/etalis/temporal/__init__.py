"""Time and events: intervals, durations, temporal relations, policies and aggregates as data."""
