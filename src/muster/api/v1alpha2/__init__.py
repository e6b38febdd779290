"""Workload and PodGroup of Kubernetes 1.36, built in or as Muster's CRDs."""
