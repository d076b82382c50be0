"""Stores what admins changed of options, scope by scope."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from agentcore.domain.scope import Scope
from agentcore.stores.sql.hosts import looking_engine
from agentcore.stores.sql.schema import scopes, settings
from agentcore.stores.sql.settings import SqlSettingsStore
from dream.domain.edited_options import EditedOptions, read_values
from dream.domain.storage_names import EDITED_OPTIONS, OPTION_EDITS

if TYPE_CHECKING:
    from agentcore.stores.sql.transaction import Transaction

EVERYWHERE: Final = (
    select(scopes.c.workspace, scopes.c.observer, scopes.c.observed, settings.c.value)
    .join_from(settings, scopes, scopes.c.pk == settings.c.scope_id)
    .where(settings.c.name == EDITED_OPTIONS)
)


class EditedOptionsStore:
    """What was edited, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._settings = SqlSettingsStore(transaction)

    def mine(self) -> EditedOptions:
        """Return what was edited in the scope."""
        return EditedOptions.of(self._settings.get(EDITED_OPTIONS), self._settings.get(OPTION_EDITS))

    def save(self, edited: EditedOptions) -> None:
        """Write down what was edited in the scope."""
        values, edits = edited.to_texts()
        self._settings.put(EDITED_OPTIONS, values if edited.values else None)
        self._settings.put(OPTION_EDITS, edits if edited.edits else None)

    def everywhere(self) -> dict[Scope, dict[str, object]]:
        """Return the values of every scope in which some are edited."""
        return values_by_scope(self._transaction.connection.execute(EVERYWHERE))


def values_by_scope(rows: Any) -> dict[Scope, dict[str, object]]:
    """Read the rows of `EVERYWHERE`."""
    return {Scope(*names): read_values(text) for *names, text in rows}


def edited_in(place: Path | str) -> dict[Scope, dict[str, object]]:
    """Return what admins edited in a database that nobody has opened here; nothing if it cannot be read."""
    if isinstance(place, Path) and not place.is_file():
        return {}
    engine = looking_engine(place)
    try:
        with engine.connect() as connection:
            return values_by_scope(connection.execute(EVERYWHERE))
    except DBAPIError:
        return {}
    finally:
        engine.dispose()
