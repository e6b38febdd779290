"""Builds all files of a release: `hack/release --help`."""
