"""What `muster leave` does: Muster goes, and stands in nobody's way."""
