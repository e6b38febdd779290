"""A temporary Kubernetes control plane on this machine: etcd, API server, controllers, scheduler and KWOK nodes."""
