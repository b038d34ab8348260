"""Painters: a scene as text of a terminal, as SVG, as a page of HTML, as Graphviz."""
