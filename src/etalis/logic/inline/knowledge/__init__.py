"""What goals in line ask of the knowledge: facts, look-ups, clauses written out, answers that are kept."""
