"""The compiled loops, and how they are compiled and kept."""
