"""The wire: the only package that sends a request to the API server."""
