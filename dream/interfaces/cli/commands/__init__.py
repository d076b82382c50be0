"""The commands, one file per group; each imports what it needs when it runs."""
