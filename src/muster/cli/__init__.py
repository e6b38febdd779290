"""The command line. It reports each error as one clear sentence."""
