"""Forms the gangs of Jobs: observe, decide, execute, report."""
