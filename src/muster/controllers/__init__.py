"""The controllers for Jobs, PodGroups and gang status. They use the machinery in `runtime`."""
