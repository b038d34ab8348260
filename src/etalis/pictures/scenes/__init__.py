"""Scenes: a stream, a justification, a why-not answer and a plan as lanes and marks, or as boxes and links."""
