"""Pictures: scenes of time lines and diagrams, painted in the terminal, as SVG and as HTML pages."""
