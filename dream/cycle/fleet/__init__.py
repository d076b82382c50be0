"""A fleet: many workers that dream for the scopes of one PostgreSQL database."""
