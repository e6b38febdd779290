"""The same tests on each API profile: the built-in API, and Muster's CRDs in two groups."""
