"""What a run tells about itself: reports, why a rule never fired, warnings, inspection of state."""
