"""The watch streams. Only this package imports kopf, and the other packages work without it."""
