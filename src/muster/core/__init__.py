"""The decisions as pure functions: no I/O, no clock, no logging, no framework. Start with `decide.py`."""
