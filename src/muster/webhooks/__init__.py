"""The webhook configurations: what they say, and who keeps them right."""
