"""The built-in predicates, one module per subject; `table` lists them all."""
