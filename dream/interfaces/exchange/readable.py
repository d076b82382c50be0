"""Writes all that is kept about a peer as a page that they can read: for requests of access.

Every record of every scope that observes the peer is on it, with all its fields, under the names of the export format.
Books of dreams are no records, and are left out.
"""

import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from agentcore.domain.records import RECORD_TYPES, Record, RecordKind, kind_of, text_of, to_image
from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.domain.text import without_hidden
from agentcore.errors import StorageUnavailableError, UnknownRecordError
from agentcore.stores.storage import ReadView, Storage
from dream.errors import UnwritableFileError
from dream.interfaces.exchange.export import note_export
from dream.interfaces.exchange.files import replacing

_HEADS: Final = ("content", "words", "summary", "description", "skill_name", "tool_name", "id")
"""Fields of which the first that a record has comes before all others."""


async def readable_pages(storage: Storage, peer: str, *, within: ScopePattern | None = None) -> AsyncGenerator[str]:
    """Yield the page, scope by scope, as Markdown.

    Args:
        storage: Where all is kept.
        peer: The name of the peer, as scopes have it in their third part.
        within: Of these scopes alone; by default of all.

    Raises:
        UnknownRecordError: no scope is about such a peer.
    """
    about = await scopes_about(storage, peer, within=within)
    if not about:
        raise UnknownRecordError(kind="peer", value=peer)
    yield f"# What is kept about {_one_line(peer)}\n"
    for scope in about:
        yield await storage.read(scope, lambda view, scope=scope: "\n".join(_scope_lines(view, scope)) + "\n")


async def export_readable_file(storage: Storage, peer: str, path: Path, *, within: ScopePattern | None = None) -> None:
    """Write all that is kept about a peer to a page that people read, which appears whole or not at all.

    Raises:
        UnknownRecordError: no scope is about such a peer.
        UnwritableFileError: the file cannot be written; what stood there before is untouched.
    """
    pages = [page async for page in readable_pages(storage, peer, within=within)]
    try:
        with replacing(path) as file:
            file.write("".join(pages).encode("utf-8", "replace"))
    except OSError as error:
        raise UnwritableFileError(path=str(path), problem=os.strerror(error.errno or 0)) from error
    for scope in await scopes_about(storage, peer, within=within):
        with suppress(StorageUnavailableError):
            await storage.write(scope, partial(note_export, path=path, kind="readable export"))


async def scopes_about(storage: Storage, peer: str, *, within: ScopePattern | None = None) -> list[Scope]:
    """Return the scopes that are about a peer: of all, or of those that fit a pattern."""
    return [one for one in await storage.scopes() if one.observed == peer and (within is None or within.matches(one))]


def _scope_lines(view: ReadView, scope: Scope) -> Iterator[str]:
    yield f"\n## {_one_line(str(scope))}"
    last: RecordKind | None = None
    for record in view.records():
        kind = kind_of(record)
        if kind is not last:
            yield f"\n### {RECORD_TYPES[kind].plural.capitalize()}\n"
        last = kind
        yield from _record_lines(record)
    if last is None:
        yield "\nNothing."


def _record_lines(record: Record) -> Iterator[str]:
    image = to_image(record)
    head = next(name for name in _HEADS if image.get(name))
    yield f"- {_one_line(text_of(record) or str(image[head]))}"
    for name, value in image.items():
        if name != head and value not in ("", [], {}):
            yield f"  - {name.replace('_', ' ')}: {_one_line(_told(value))}"


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_told(part)}" for name, part in cast("dict[str, Any]", value).items())
    if isinstance(value, list):
        return "; ".join(map(_told, cast("list[Any]", value)))
    return str(value)


def _one_line(text: str) -> str:
    """Return a text on one line, with nothing in it that is not seen."""
    return without_hidden(" ".join(text.split()))
