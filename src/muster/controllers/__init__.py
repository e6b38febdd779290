"""What Muster does about Jobs and their gangs, on top of the machinery in `runtime`."""
