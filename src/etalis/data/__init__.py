"""What everything above reads: files by their addresses, encodings of text, scalars of other libraries."""
