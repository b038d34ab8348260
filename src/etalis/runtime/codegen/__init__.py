"""From the plan to generated Python: one function per kind of event, `push` and `run`."""
