"""The command line: flags in, one clear sentence out."""
