"""A short demo: kube-scheduler starts the gangs that Muster forms, and the demo checks each promise."""
