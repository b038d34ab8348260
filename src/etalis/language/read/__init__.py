"""Program text to the syntax tree: tokens, terms, patterns, clauses, files that import each other."""
