"""Plans for people: in words. The pictures are in etalis/pictures."""
