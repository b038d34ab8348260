"""Case files: a program, events and the matches they make, as text; what runs of them came to."""
