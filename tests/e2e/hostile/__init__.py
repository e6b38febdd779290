"""Hostile inputs: what a user of one namespace can send, each under a sentence that says what it is."""
