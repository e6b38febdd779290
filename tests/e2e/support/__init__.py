"""What the end-to-end tests are written with: a cluster, an API client of its own, Muster as a real process."""
