"""Promotion: what recall proved useful goes to MEMORY.md, by arithmetic alone."""
