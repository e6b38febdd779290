"""Reports the state of each gang in events on its Job."""
