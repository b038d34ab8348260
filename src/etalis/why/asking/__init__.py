"""Other ways to ask: for all derivations of an event, and by the goals of the manual."""
