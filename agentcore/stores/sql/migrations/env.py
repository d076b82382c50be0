"""Alembic's entry: migrate over the connection that `agentcore.stores.sql.migrate` hands in.

Imported by anything else it does nothing, so that every module of the package can be imported.
"""

from alembic import context

from agentcore.stores.sql.schema import metadata

_config = getattr(context, "config", None)
if _config is not None:
    context.configure(connection=_config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()
