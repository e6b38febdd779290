"""The API client: the only package that sends requests to the API server."""
