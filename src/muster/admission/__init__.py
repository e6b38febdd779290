"""The webhook handlers and their HTTP server. They use `core`, and keep working when watches fail."""
