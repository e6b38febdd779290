"""Which API profile a replica works with: all replicas agree on one."""
