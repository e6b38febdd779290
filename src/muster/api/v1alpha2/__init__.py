"""Workload and PodGroup as Kubernetes 1.36 has them, built in or as Muster's CRDs."""
