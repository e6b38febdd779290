"""The watch streams. The only package that imports kopf; nothing outside depends on it being alive."""
