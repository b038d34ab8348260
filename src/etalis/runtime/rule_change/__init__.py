"""Rules that come and go while an engine runs, planned and compiled without those that they do not touch."""
