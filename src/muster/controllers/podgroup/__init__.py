"""Does for the PodGroups of Muster's CRDs what the built-in controllers do for the built-in API."""
