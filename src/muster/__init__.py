"""Muster: gang scheduling for Kubernetes Jobs. The whole gang starts or nothing does."""

__version__ = "0.1.0"
