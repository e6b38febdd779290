"""Tells what becomes of a gang, in events on its Job."""
