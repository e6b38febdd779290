"""What the tests on kind share."""
