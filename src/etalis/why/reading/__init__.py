"""Ropes read along the text of their rules: parts of a match, what they bind, and the tests that they passed."""
