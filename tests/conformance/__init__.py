"""The in-tree controller's own test catalogue (reference/in-tree.md 6), row by row, against Muster."""
