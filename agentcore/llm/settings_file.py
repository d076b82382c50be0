"""Reads the settings file of a data directory: one table for each part that is configured without code."""

import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from agentcore.errors import InvalidOptionsError

FILE_NAME = "agentcore.toml"
"""The settings file in a data directory."""


def read_section(path: Path, name: str) -> dict[str, object]:
    """Return a table of a settings file; empty without the file or the table.

    Raises:
        InvalidOptionsError: the file cannot be read, or that is no table.
    """
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except UnicodeDecodeError:
        problem = "it is not UTF-8; save it as UTF-8"
    except tomllib.TOMLDecodeError as error:
        # The parser tells the place and never quotes the line, which may hold a key.
        problem = f"it is not TOML: {error}"
    except OSError as error:
        problem = f"it cannot be read: {error.strerror}"
    else:
        section: object = document.get(name, {})
        meant = "" if name in document else _misspelt(name, document)
        if meant:
            problem = f"there is no table [{meant}]; write [{name}]"
        elif isinstance(section, dict):
            return cast("dict[str, object]", section)
        else:
            problem = f"write a table [{name}]"
    raise InvalidOptionsError(field="settings file", value=str(path), allowed=problem)


def is_told(data_dir: Path, section: str, variables: Iterable[str]) -> bool:
    """Tell whether the settings file of a folder has a table with something in it, or one of *variables* is set.

    Raises:
        InvalidOptionsError: the file cannot be read, or that is no table.
    """
    wanted = frozenset(variables)
    # Variables are read in either case, as pydantic-settings reads them.
    return bool(read_section(data_dir.expanduser() / FILE_NAME, section)) or any(
        name.upper() in wanted for name in os.environ
    )


def _misspelt(name: str, written: Iterable[str]) -> str:
    """Return what somebody wrote who meant *name*; empty if nobody did."""
    from difflib import get_close_matches  # noqa: PLC0415 - seldom wanted

    return next(iter(get_close_matches(name, list(written), n=1, cutoff=0.8)), "")
