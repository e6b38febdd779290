"""The API types that Muster reads and writes. Every object is validated once, when it is parsed."""
