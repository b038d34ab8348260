"""Tables out: the columns of matches, their types and rows."""
