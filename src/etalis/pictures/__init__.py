"""Pictures: one scene of lanes, bars, marks and links, painted in the terminal, as SVG and as HTML."""
