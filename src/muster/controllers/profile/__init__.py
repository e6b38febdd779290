"""The API profile of this replica: all replicas agree on one."""
