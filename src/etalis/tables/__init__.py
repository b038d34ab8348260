"""Tables of events: which column plays which part, rows in the order of time, complex events as rows."""
