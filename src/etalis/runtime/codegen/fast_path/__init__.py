"""The fast path of an engine: `push` and `run` as one generated function each."""
