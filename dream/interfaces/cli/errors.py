"""Defines the errors that only the command line can make, below dream's.

DreamError
├── UnknownScopeError           (also InvalidInputError)
├── NoCommandError              (also InvalidInputError)
├── ConflictingOptionsError     (also InvalidInputError)
├── MissingSettingError         (also InvalidInputError)
├── MissingExtraError           (also InvalidInputError)
├── UnusableAddressError        (also InvalidInputError)
├── UnprotectedServerError      (also InvalidInputError)
├── LaterOptionsError           (also InvalidInputError)
├── OccupiedFolderError         (also InvalidInputError)
├── OccupiedFileError           (also InvalidInputError)
├── EmptyFolderError            (also InvalidInputError)
├── MissingFolderError          (also InvalidInputError)
└── MissingExamplesError
"""

from collections.abc import Iterable

from agentcore.errors import InvalidInputError
from dream.errors import DreamError

_MAX_NAMED = 10


class UnknownScopeError(DreamError, InvalidInputError):
    """A scope was named in which nothing was ever stored, or a pattern that none fits."""

    def __init__(self, *, scope: str, known: Iterable[str], is_pattern: bool = False) -> None:
        names = list(known)
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        remedy = (
            f"choose --scope among {', '.join(names[:_MAX_NAMED])}{more}"
            if names
            else "there is no scope yet, `dream --scope ... import` or `remember` makes one"
        )
        told = f"No scope fits {scope}" if is_pattern else f"Nothing was ever stored in the scope {scope}"
        super().__init__(f"{told}: {remedy}.")


class NoCommandError(DreamError, InvalidInputError):
    """A document was asked for, but no command that makes one."""

    def __init__(self) -> None:
        super().__init__("No command was named: `dream --help` lists them.")


class ConflictingOptionsError(DreamError, InvalidInputError):
    """Two options were given that exclude each other."""

    def __init__(self, *, first: str, second: str) -> None:
        super().__init__(f"The options {first} and {second} exclude each other: give one of them.")


class MissingSettingError(DreamError, InvalidInputError):
    """A command needs an option or a variable that was not given."""

    def __init__(self, *, what: str, remedy: str) -> None:
        super().__init__(f"The {what} is missing: {remedy}.")


class MissingExtraError(DreamError, InvalidInputError):
    """A command needs packages that the plain install does not bring."""

    def __init__(self, *, command: str, extra: str) -> None:
        super().__init__(f"`dream {command}` needs more packages: run `pip install 'agentcore-dream[{extra}]'`.")


class UnusableAddressError(DreamError, InvalidInputError):
    """The server cannot listen where it was told to."""

    def __init__(self, *, address: str, problem: str) -> None:
        super().__init__(f"The server cannot listen on {address} ({problem}): choose another --host or --port.")


class UnprotectedServerError(DreamError, InvalidInputError):
    """The server would be reached from other machines, and no token was made yet."""

    def __init__(self, *, host: str) -> None:
        remedy = "make a token with `dream token create NAME` first"
        super().__init__(f"On {host} other machines reach the server, and nobody has a token: {remedy}.")


class LaterOptionsError(DreamError, InvalidInputError):
    """A later version of the program left the options of the host."""

    def __init__(self, *, database: str) -> None:
        super().__init__(
            f"The options that a host left in {database} are of a later version: upgrade agentcore-dream, or give "
            "--options file to go by agentcore.toml and the environment alone."
        )


class OccupiedFolderError(DreamError, InvalidInputError):
    """The demo was pointed at a folder that holds a memory already."""

    def __init__(self, *, path: str) -> None:
        super().__init__(f"The folder {path} holds a memory already: leave out --data, or name a new folder.")


class OccupiedFileError(DreamError, InvalidInputError):
    """A file was to be made where there is one already."""

    def __init__(self, *, path: str) -> None:
        super().__init__(f"There is a {path} already: edit it, or give --force to have it replaced.")


class EmptyFolderError(DreamError, InvalidInputError):
    """A command works on what a data directory holds, and it holds no memory."""

    def __init__(self, *, path: str) -> None:
        super().__init__(
            f"There is no memory in the folder {path} yet: name another one with --data, or begin it with "
            "`dream remember` or `dream import`."
        )


class MissingFolderError(DreamError, InvalidInputError):
    """A data directory was named that does not exist, and the command begins no memory."""

    def __init__(self, *, path: str) -> None:
        super().__init__(
            f"There is no folder {path}: look for a mistake in its name, or begin a memory there with "
            "`dream remember` or `dream import`."
        )


class MissingExamplesError(DreamError):
    """The demo data came neither with the package nor with a source tree."""

    def __init__(self) -> None:
        super().__init__("The demo data is not installed: install agentcore-dream again, or run from its source tree.")
