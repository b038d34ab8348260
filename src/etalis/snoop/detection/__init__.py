"""Detection of SNOOP-R: an expression becomes a program, which a registration runs; an index finds its readers."""
