"""Documents of the workspace: their delivery to files, the commit that ends it, and edits by people."""
