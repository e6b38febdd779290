"""The implementation of `muster leave`: removes everything that would block the cluster once Muster is gone."""
