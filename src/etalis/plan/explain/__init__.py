"""Plans for people: as text, SVG and Graphviz."""
