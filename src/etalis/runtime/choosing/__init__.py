"""`any` as an operator of its own: which instances of which constituents go together, and what they make."""
