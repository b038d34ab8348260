"""From bodies to engines: content types become rows, rows become pieces of work, and what they cause is counted."""
