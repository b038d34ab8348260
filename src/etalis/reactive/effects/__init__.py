"""Effects: what reactions do outside, by which key, and how it is compensated."""
