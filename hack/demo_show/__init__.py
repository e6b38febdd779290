"""A short demo in which kube-scheduler starts the gangs that Muster forms; each promise is checked in front of you."""
