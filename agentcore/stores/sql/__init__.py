"""One SQLAlchemy Core schema on SQLite today, PostgreSQL by the same code later."""
