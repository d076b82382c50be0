"""The recall index beside other engines: the same documents, tokens and queries for all."""
