"""The background knowledge: a Prolog machine, its built-in predicates, facts from tables and RDF."""
