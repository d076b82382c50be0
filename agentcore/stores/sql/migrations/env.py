"""Alembic's entry: migrate over the connection that `agentcore.stores.sql.migrate` hands in; nothing if imported."""

from alembic import context

from agentcore.stores.sql.schema import metadata

# Alembic gives its context a configuration while it runs this file.
if hasattr(context, "config"):
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        render_as_batch=True,
    )
    with context.begin_transaction():
        context.run_migrations()
