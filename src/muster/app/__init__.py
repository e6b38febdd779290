"""The running process: wiring, startup and shutdown."""
