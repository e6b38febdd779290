"""Measures Muster beside the in-tree Job controller, in one run on one machine."""
