"""Benchmarks: `python -m tests.bench` measures, and prints a table of figures and targets."""
