"""What the checker of justifications reads by itself: the text of rules, and what occurred."""
