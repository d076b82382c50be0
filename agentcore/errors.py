"""The error tree of agentcore.

    AgentcoreError
    ├── InvalidInputError           what was handed in cannot be taken
    │   ├── InvalidScopeError
    │   ├── InvalidContentError
    │   ├── InvalidSubjectTimeError
    │   ├── InvalidOptionsError
    │   ├── FrozenOptionsError
    │   ├── InvalidLanguageError
    │   ├── ForgottenSourceError
    │   ├── InvalidBackupError
    │   ├── TakenNameError
    │   ├── RetiredEntryError
    │   ├── ForbiddenTransitionError
    │   └── UnknownRecordError
    ├── HostError                   the host cannot do this now
    │   ├── HostNotStartedError
    │   └── ServiceMissingError
    └── StorageError                the database cannot do this now
        ├── StorageUnavailableError     locked, full, read-only
        │   └── StorageUnreachableError     its server is gone, or restarts
        ├── StorageCorruptError
        ├── StorageInUseError
        ├── StorageTooNewError
        ├── StorageTooOldError
        ├── StaleVersionError
        └── LeaseLostError

Each error takes values and builds its own sentence, which tells the person what to do next.
"""

from collections.abc import Iterable
from datetime import timedelta

# Nothing was released before the migrations up to schema 0009 became one: a commit is the only name of that version.
_LAST_WITH_OLD_MIGRATIONS = "e0de29d6ee6b (2026-11-22)"


class AgentcoreError(Exception):
    """Something went wrong in agentcore; `str(error)` is one sentence for a person."""


class InvalidInputError(AgentcoreError, ValueError):
    """What was handed in cannot be taken; nothing was written."""


class InvalidScopeError(InvalidInputError):
    """A scope could not be read."""

    def __init__(self, *, part: str, value: str) -> None:
        super().__init__(
            f"{value[:80]!r} is not a valid {part}: write WORKSPACE/OBSERVER/OBSERVED, "
            "each 1 to 128 printable characters without a slash.",
        )


class InvalidContentError(InvalidInputError):
    """A record's field cannot be stored."""

    def __init__(self, *, field: str, problem: str) -> None:
        super().__init__(f"The {field} cannot be stored: {problem}.")


class InvalidSubjectTimeError(InvalidInputError):
    """A subject time could not be read."""

    def __init__(self, *, value: str) -> None:
        super().__init__(
            f"{value[:80]!r} is not a subject time: write 2019, 2019-06, 2019-06-14, 2019-06-14T09:30, "
            "or a range such as 1995..2003, 2020..? or ?..2003.",
        )


class InvalidOptionsError(InvalidInputError):
    """Options were refused when the host was built."""

    def __init__(self, *, field: str, value: object, allowed: str) -> None:
        # `0:00:30` is what a file or a variable is about; the constructor's call is not.
        shown = str(value) if isinstance(value, timedelta) else repr(value)
        super().__init__(f"Option {field} = {shown} is not possible: {allowed}.")


class FrozenOptionsError(InvalidInputError):
    """An option was set on options that exist."""

    def __init__(self, *, options: str, field: str, value: object) -> None:
        super().__init__(
            f"{options} is frozen: write `options = options.replace({field}={value!r})`, and give that to the builder."
        )


class InvalidLanguageError(InvalidInputError):
    """The file of a language's words could not be read."""

    def __init__(self, *, code: str, problem: str) -> None:
        super().__init__(f"The words of the language {code!r} cannot be read: {problem}.")


class ForgottenSourceError(InvalidInputError):
    """What was handed in rests on something that a person had forgotten."""

    def __init__(self, *, source: str) -> None:
        super().__init__(
            f"It rests on {source}, which a person had forgotten: "
            "leave that source out if somebody has said it anew since.",
        )


class SecretError(InvalidInputError):
    """A text to be remembered seems to hold a secret."""

    def __init__(self, *, kind: str, remedy: str = "leave it out, and say where it is kept") -> None:
        super().__init__(f"The text seems to hold a {kind}, and secrets are not remembered: {remedy}.")


class TakenNameError(InvalidInputError):
    """A token was to be called as another one that holds."""

    def __init__(self, *, name: str) -> None:
        super().__init__(f"There is a token {name!r} already: choose another name, or revoke it first.")


class RetiredEntryError(InvalidInputError):
    """An entry was to be changed that is archived or superseded."""

    def __init__(self, *, entry_id: str, status: str, successor: str | None = None) -> None:
        heir = f", and {successor} took its place" if successor else ""
        super().__init__(f"The entry {entry_id} is {status}{heir}; restore it first.")


class ForbiddenTransitionError(InvalidInputError):
    """A hypothesis or a claim was to go into a state that it does not go into from where it is."""

    def __init__(self, *, record_id: str, state: str, wanted: str) -> None:
        self.state = state
        super().__init__(f"{record_id} is {state} and cannot become {wanted}; undo the decision that made it {state}.")


class UnknownRecordError(InvalidInputError):
    """An id names no record of the scope, or more than one."""

    def __init__(self, *, kind: str, value: str, matches: int = 0) -> None:
        self.matches = matches
        what = "several: give more characters" if matches > 1 else "none in this scope: check it and the scope"
        super().__init__(f"The {kind} id {value[:80]!r} fits {what}.")


class InvalidBackupError(InvalidInputError):
    """A file is no backup that can be restored."""

    def __init__(self, *, path: str, problem: str) -> None:
        super().__init__(f"The backup {path} cannot be used: {problem}.")


class HostError(AgentcoreError):
    """The host cannot do this in its present state."""


class HostNotStartedError(HostError):
    """A service was used outside `async with host`."""

    def __init__(self, *, service: str) -> None:
        super().__init__(f"The {service} is not open: use it inside `async with host:`.")


class ServiceMissingError(HostError):
    """A service was asked for that the host was built without."""

    def __init__(self, *, service: str, method: str) -> None:
        super().__init__(f"This host has no {service}: add .{method}() to its AgentHostBuilder.")


class StorageError(AgentcoreError):
    """The database cannot do this now; what was committed before is safe."""


class StorageUnavailableError(StorageError):
    """The database is locked, full, read-only or out of reach."""

    def __init__(self, *, path: str, problem: str, remedy: str) -> None:
        super().__init__(f"The database {path} {problem}: {remedy}.")


class StorageUnreachableError(StorageUnavailableError):
    """The server of the database is out of reach, restarts, or broke the connection: nobody's work has failed."""


class StorageCorruptError(StorageError):
    """The file is not a healthy database."""

    def __init__(self, *, path: str) -> None:
        super().__init__(
            f"The file {path} is not a readable database (damaged, or another program's): "
            "restore it from a backup or an export, or choose another data directory.",
        )


class StorageTooNewError(StorageError):
    """The schema comes from a later version."""

    def __init__(self, *, path: str, found: str) -> None:
        super().__init__(
            f"The database {path} has schema {found}, which this version does not know: upgrade agentcore-dream.",
        )


class StorageInUseError(StorageError):
    """The schema has to be upgraded, and another process, of an earlier version, works with the database."""

    def __init__(self, *, path: str, found: str, hosts: Iterable[tuple[str, int]]) -> None:
        named = ", ".join(f"process {pid} on {host}" for host, pid in hosts) or "another process"
        super().__init__(
            f"The database {path} is in use by {named}, and this version would upgrade it from schema {found}, "
            "which that one could not work with any more: stop it, then run again.",
        )


class StorageTooOldError(StorageError):
    """The schema comes from before the first release, and its migrations are gone."""

    def __init__(self, *, path: str, found: str) -> None:
        super().__init__(
            f"The database {path} has schema {found}, from before the first release: "
            f"open it once with agentcore-dream 0.1.0 at commit {_LAST_WITH_OLD_MIGRATIONS}, then with this version.",
        )


class StaleVersionError(StorageError):
    """A record changed between reading and writing."""

    def __init__(self, *, kind: str, record_id: str) -> None:
        super().__init__(f"The {kind} {record_id} changed meanwhile: read it again and repeat.")


class LeaseLostError(StorageError):
    """A lease ran out or was taken over while its holder was still working."""

    def __init__(self, *, name: str) -> None:
        super().__init__(f"The lease {name!r} was lost to another process: nothing more was written; run again.")
