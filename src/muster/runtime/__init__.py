"""The effects: queue, cache, observation, writes, events, health. Decisions are made in `core`."""
