"""Muster: the whole gang starts or nothing does."""

__version__ = "0.1.0"
