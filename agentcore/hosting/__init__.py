"""The host: services that live together, and the builder that puts them together."""
