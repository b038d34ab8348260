"""Generated code that sets timers, and what it does when they fall due."""
