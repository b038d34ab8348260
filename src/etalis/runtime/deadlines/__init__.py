"""What happens when time passes, without an event: timers, and what waits for its deadline."""
