"""The door: flags in, one clear sentence out."""
