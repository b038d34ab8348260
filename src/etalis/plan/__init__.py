"""The plan that every back end executes: nodes, keys, types, stages."""
