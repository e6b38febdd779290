"""What only the end-to-end tests need: disturbances, load, and Muster with a mistake in it."""
