"""The webhook configurations: their content, and the reconciler that maintains them."""
