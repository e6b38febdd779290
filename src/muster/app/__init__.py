"""The running process: its parts, wired together, and how it starts and ends."""
