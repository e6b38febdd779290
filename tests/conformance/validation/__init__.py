"""Valid and invalid Workloads and PodGroups: one table for every server that has them."""
