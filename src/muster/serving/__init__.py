"""Serving over TLS: the listener, its certificate, and the renewal that the replicas share."""
