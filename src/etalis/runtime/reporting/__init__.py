"""Reports on a run: what was not read, why a rule never fired, warnings, inspection of state."""
