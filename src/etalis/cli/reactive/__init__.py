"""The command line of reactive rules: what an action would do, and where effects of a run go."""
