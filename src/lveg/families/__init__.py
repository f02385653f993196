"""Grammar families: what a node of a forest stores, and how an edge combines it."""
