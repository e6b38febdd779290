"""Serving over TLS: the listener, its certificate, and how the replicas renew it together."""
