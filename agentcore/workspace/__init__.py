"""The files an agent and its people share: documents whose items have an identity, and their safe way to the disk."""
