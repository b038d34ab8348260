"""Rules that are alike but for constants, over columns: one set of operators for all of them."""
