"""Stores: the contracts (`protocols`) and their SQL implementation (`sql`)."""
