"""State: facts that only actions change, whose changes can be taken back."""
