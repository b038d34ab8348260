"""Detection of SNOOP-R: an expression becomes a program, a registration runs it, an index finds whom a signal concerns."""
