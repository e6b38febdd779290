"""The decision, pure: no I/O, no clock, no logging, no framework. Read `decide.py` first."""
