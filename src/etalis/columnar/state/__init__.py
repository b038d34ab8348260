"""State between an engine and its operators over columns, in both directions."""
