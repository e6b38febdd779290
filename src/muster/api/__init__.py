"""The nouns: what Muster reads and writes, parsed once at the border and trusted inside."""
