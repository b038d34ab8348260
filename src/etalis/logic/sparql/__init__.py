"""The expressions of SPARQL 1.1 over RDF terms in the exact naming."""
