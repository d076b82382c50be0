"""Records and pure functions: no I/O, no async."""
