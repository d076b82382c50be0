"""Interfaces: the plugin, the command line, and the exchange of files."""
