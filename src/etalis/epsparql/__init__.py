"""EP-SPARQL: SPARQL over streams of RDF, whose graph patterns have an interval; it becomes rules."""
