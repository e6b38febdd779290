"""Muster's CustomResourceDefinitions: generated from the models, and installed where a server can serve them."""
