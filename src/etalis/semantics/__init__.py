"""The meaning of programs, executable: `model` is the declarative one, `steps` makes matches in order."""
