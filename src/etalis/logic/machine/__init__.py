"""The machine that runs goals: clauses compiled to closures, resolution on explicit stacks, the library."""
