"""Machinery that knows no gang: queue, workers, supervisor, leader election, events, metrics, health."""
