"""Fact mining."""
