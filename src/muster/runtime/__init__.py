"""Generic machinery without gang logic: queue, workers, supervisor, leader election, events, metrics, health."""
