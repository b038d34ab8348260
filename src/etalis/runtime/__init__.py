"""The engine, event at a time: compiled programs, the run loop, inputs and delivery."""
