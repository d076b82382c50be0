"""What `SqlStorage` asks of a database: all that is not the same on each."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection

from agentcore.domain.scope import Scope
from agentcore.errors import StorageError

if TYPE_CHECKING:
    from agentcore.stores.sql.engines.row_security import ScopeBounds


class Database(Protocol):
    """One database, opened and closed by the storage; its methods are called on the storage's threads.

    Implementations: `SqliteDatabase`, `PostgresDatabase`.
    """

    @property
    def name(self) -> str:
        """What errors call it; no password stands in it."""
        ...

    @property
    def file(self) -> Path | None:
        """The file it is; None if it is none."""
        ...

    @property
    def no_backup(self) -> str:
        """What to do where it is no file, and so has no backup."""
        ...

    @property
    def has_clock(self) -> bool:
        """Whether processes of several machines share its clock."""
        ...

    @property
    def writers(self) -> int:
        """How many threads write side by side."""
        ...

    @property
    def readers(self) -> int:
        """How many threads read beside the writers; none if everything takes turns on one connection."""
        ...

    @property
    def refusal(self) -> StorageError | None:
        """Why nothing can be written, where it is opened to be read alone."""
        ...

    def open(self) -> None:
        """Open it, creating or migrating the schema."""
        ...

    def close(self) -> None:
        """Close every connection."""
        ...

    def tries_again(self, error: StorageError, failures: int) -> bool:
        """Tell whether a transaction is tried again, after as long a wait as may help.

        Args:
            error: How it failed; nothing of it was written.
            failures: How often it has failed so far.
        """
        ...

    def reading(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that sees one state of the database and cannot write."""
        ...

    def writing(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that writes; what is raised in it rolls it back, errors of the driver translated."""
        ...

    def own_scope(self, connection: Connection, scope: Scope, known: int | None) -> int:
        """Return the key of the scope that a transaction writes to, made if there is none, with no other writer there.

        Args:
            connection: The writing transaction.
            scope: The scope.
            known: Its key, if it was ever asked for.
        """
        ...

    def bounds(self, connection: Connection) -> "ScopeBounds | None":
        """Return what keeps a transaction within its scope, whatever its statements say; None if nothing does."""
        ...

    def prepare_prompt_reader(self) -> None:
        """Make ready what answers `revision_now`; on a worker's thread."""
        ...

    def revision_now(self, scope_id: int) -> int | None:
        """Return the last revision of a scope where nobody has to be waited for; else None."""
        ...

    def after_write(self, *, forgot: bool) -> None:
        """Do what follows a commit; after a forget, have the database's files hold nothing of it any longer."""
        ...
