"""The keys of joins in generated code: shared variables, numbers that are computed, partners by facts."""
