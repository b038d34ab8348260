"""Knowledge from outside: tables as facts, Python functions as predicates, old versions of a database."""
