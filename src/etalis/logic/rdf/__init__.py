"""RDF as facts: files, names, entailment."""
