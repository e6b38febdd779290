"""The settings of Muster, as one type."""
