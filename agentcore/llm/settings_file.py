"""Reads the settings file of a data directory: one table for each part that is configured without code."""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, cast

from agentcore.domain.scope_pattern import ScopePattern
from agentcore.errors import InvalidOptionsError

FILE_NAME = "agentcore.toml"
"""The settings file in a data directory."""
DREAMING: Final = "dreaming"
"""The table of the options of dreams, in the file and in a table about some scopes."""
WORKSPACE: Final = "workspace"
"""What names the folder of the documents, in the file and in a table about some scopes."""
SCOPES: Final = "scopes"
"""The table of what holds for some scopes alone, by pattern."""
TABLES: Final = (
    "context",
    "conversation",
    DREAMING,
    "embeddings",
    "feedback",
    "llm",
    "memory",
    SCOPES,
    "skills",
    "tool_calls",
    "wisps",
    WORKSPACE,
)
"""All tables that anything reads."""
_IN_PLACE_OF_A_TABLE: Final = {WORKSPACE: "folder"}
"""Tables in whose place a text may stand, which is the value of this key."""


def read_section(path: Path, name: str) -> dict[str, object]:
    """Return a table of a settings file; empty without the file or the table.

    Raises:
        InvalidOptionsError: the file cannot be read, has a table that nobody reads, or that is no table.
    """
    document = _document(path)
    for found in document:
        if found not in TABLES:
            raise _refused(path, f"there is no table [{found}]; {_meant(found, TABLES)}")
    section = document.get(name, {})
    if isinstance(section, str) and name in _IN_PLACE_OF_A_TABLE:
        return {_IN_PLACE_OF_A_TABLE[name]: section}
    if not isinstance(section, dict):
        raise _refused(path, f"write a table [{name}]")
    return dict(cast("dict[str, object]", section))


def scope_tables(path: Path) -> Iterator[tuple[ScopePattern, Mapping[str, object]]]:
    """Yield what a settings file says of some scopes: `dreaming` is a table, `workspace` a text.

    Raises:
        InvalidOptionsError: the file cannot be read, or says something else of scopes.
        InvalidScopeError: a pattern names no scopes.
    """
    for name, table in read_section(path, SCOPES).items():
        if not isinstance(table, dict):
            raise _refused(path, f'write a table [{SCOPES}."{name}"]')
        said = cast("dict[str, object]", table)
        for key, value in said.items():
            if key not in {DREAMING, WORKSPACE}:
                meant = _meant(key, (DREAMING, WORKSPACE))
                raise _refused(path, f'[{SCOPES}."{name}"] has no {key!r}, which holds for the whole host; {meant}')
            if not isinstance(value, str if key == WORKSPACE else dict):
                wanted = "a text, such as 'notes/{observer}'" if key == WORKSPACE else "a table"
                raise _refused(path, f'in [{SCOPES}."{name}"] {key} is {wanted}')
        yield ScopePattern.parse(name), said


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


def _document(path: Path) -> dict[str, object]:
    try:
        return _parsed(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except UnicodeDecodeError:
        problem = "it is not UTF-8; save it as UTF-8"
    except tomllib.TOMLDecodeError as error:
        # The parser tells the place and never quotes the line, which may hold a key.
        problem = f"it is not TOML: {error}"
    except OSError as error:
        problem = f"it cannot be read: {error.strerror}"
    raise _refused(path, problem)


@lru_cache(maxsize=8)
def _parsed(data: bytes) -> dict[str, object]:
    """Return what a file says; each part of a host reads its table of the same text."""
    return tomllib.loads(data.decode("utf-8").replace("\r\n", "\n"))


def _refused(path: Path, problem: str) -> InvalidOptionsError:
    return InvalidOptionsError(field="settings file", value=str(path), allowed=problem)


def _meant(name: str, known: Iterable[str]) -> str:
    """Return what to write in the place of a name that nobody reads."""
    from difflib import get_close_matches  # noqa: PLC0415 - seldom wanted

    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    return f"write [{near[0]}]" if near else f"there are {', '.join(names)}"
