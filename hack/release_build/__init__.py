"""Builds everything that a release consists of: `hack/release --help`."""
