"""What tests on a cluster are written with: clusters, Muster as a process, an API client that is not Muster's own."""
