"""Reads the URL of a database, and tells whether its driver is there."""

from importlib.util import find_spec
from typing import Final

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from agentcore.errors import InvalidOptionsError

_DRIVER: Final = "postgresql+psycopg"
_SCHEMES: Final = {"postgresql", "postgres", _DRIVER}
_ESCAPED: Final = "write an @ in a password as %40"
_ALLOWED: Final = f"give a URL such as {_DRIVER}://user:password@host:5432/name"


def parsed_url(text: str) -> URL:
    """Read the URL of a PostgreSQL database.

    Raises:
        InvalidOptionsError: it is none; a password in it is not shown.

    Example:
        >>> parsed_url("postgresql://ana@db.example/memory").render_as_string()
        'postgresql+psycopg://ana@db.example/memory'
        >>> parsed_url("mysql://db")
        Traceback (most recent call last):
        ...
        agentcore.errors.InvalidOptionsError: Option database = 'mysql://db' is not possible: give a URL such as \
postgresql+psycopg://user:password@host:5432/name.
        >>> parsed_url("postgresql://ana:p@ss@db.example/memory")
        Traceback (most recent call last):
        ...
        agentcore.errors.InvalidOptionsError: Option database = '(not shown)' is not possible: write an @ in a \
password as %40.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        shown = "(no URL)" if "@" in text else text
        raise InvalidOptionsError(field="database", value=shown, allowed=_ALLOWED) from None
    if "@" in f"{url.host}{url.database}":
        # What stands behind the first @ of a password that holds one must not be shown as a host.
        raise InvalidOptionsError(field="database", value="(not shown)", allowed=_ESCAPED)
    if url.drivername not in _SCHEMES or not url.database:
        raise InvalidOptionsError(field="database", value=shown_url(url), allowed=_ALLOWED)
    return url.set(drivername=_DRIVER)


def shown_url(url: URL) -> str:
    """Return a URL without its password, wherever that stands in it."""
    kept = {name: value for name, value in url.query.items() if name != "password"}
    return url.set(query=kept).render_as_string(hide_password=True)


def require_driver(text: str) -> URL:
    """Read the URL of a database that this installation can reach.

    Raises:
        InvalidOptionsError: it is no such URL, or psycopg is not installed.
    """
    url = parsed_url(text)
    if find_spec("psycopg") is None:
        allowed = "install its driver: pip install 'agentcore-dream[postgres]'"
        raise InvalidOptionsError(field="database", value=shown_url(url), allowed=allowed)
    return url
