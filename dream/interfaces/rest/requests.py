"""Reads what requests have in common: who asks of whose memory, cursors, versions, and keys of requests."""

import base64
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, cast

import orjson
from fastapi import Depends, Header, Path, Query, Request

from agentcore.domain.access import Right
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.errors import InvalidContentError, StaleVersionError, UnknownRecordError
from agentcore.hosting.host import Host
from agentcore.stores.storage import UnitOfWork
from agentcore.stores.values import PagePlace
from dream.interfaces.serving.caller import SCOPE_KEY, Caller
from dream.interfaces.serving.problems import Problem
from dream.interfaces.serving.run_desk import RunDesk
from dream.interfaces.serving.scoped_call import ScopedCall

PREFIX: Final = "/api/v1"
_CURSOR: Final = "The `next_cursor` of the page before."
Limit = Annotated[int, Query(ge=1, le=500, description="How many at most.")]
Cursor = Annotated[str | None, Query(max_length=300, json_schema_extra={"format": "cursor"}, description=_CURSOR)]
RecordId = Annotated[str, Path(min_length=1, max_length=64, description="The id of the record.")]
ScopeName = Annotated[
    str | None,
    Query(
        alias="scope",
        max_length=386,
        json_schema_extra={"format": "scope"},
        description="Whose memory, as WORKSPACE/OBSERVER/OBSERVED; else the one that the token names, or the default.",
    ),
]
_KEY: Final = "The client's name for this request: sent again within a day it is carried out once."
IdempotencyKey = Annotated[
    str | None,
    Header(alias="Idempotency-Key", max_length=255, json_schema_extra={"format": "idempotency-key"}, description=_KEY),
]
_TAG: Final = "The ETag that the record must still have."
IfMatch = Annotated[
    str | None, Header(alias="If-Match", max_length=100, json_schema_extra={"format": "etag"}, description=_TAG)
]


def host_of(request: Request) -> Host:
    """Return the host that the app serves."""
    return cast("Host", request.app.state.host)


async def run_desk_of(request: Request) -> RunDesk:
    """Return what runs dreams for clients."""
    return cast("RunDesk", request.app.state.run_desk)


RunDeskOf = Annotated[RunDesk, Depends(run_desk_of)]


def _with(right: Right) -> Callable[..., Awaitable[ScopedCall]]:
    # Asynchronous, though it awaits nothing: FastAPI sends plain functions to threads, which then fight for the GIL.
    async def call_of(request: Request, scope: ScopeName = None) -> ScopedCall:
        caller = cast("Caller", request.scope[SCOPE_KEY])
        caller.require(right)
        return ScopedCall.of(host_of(request), caller, scope)

    return call_of


Reading = Annotated[ScopedCall, Depends(_with(Right.READ))]
Writing = Annotated[ScopedCall, Depends(_with(Right.WRITE))]
Reviewing = Annotated[ScopedCall, Depends(_with(Right.REVIEW))]
Administering = Annotated[ScopedCall, Depends(_with(Right.ADMIN))]


def place_of(cursor: str | None) -> PagePlace | None:
    """Read a cursor.

    Raises:
        Problem: it is none.
    """
    if cursor is None:
        return None
    try:
        instant, record_id = orjson.loads(base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
        return PagePlace(from_micros(int(instant)), str(record_id))
    except (ValueError, TypeError, OverflowError):
        detail = "The cursor cannot be read: give the next_cursor of the page before, unchanged."
        raise Problem(status=422, code="invalid_cursor", detail=detail) from None


def cursor_of(recorded_at: datetime, record_id: str) -> str:
    """Write a cursor.

    Example:
        >>> from datetime import UTC
        >>> place_of(cursor_of(datetime(2025, 6, 14, tzinfo=UTC), "e1")).record_id
        'e1'
    """
    told = orjson.dumps([to_micros(recorded_at), record_id])
    return base64.urlsafe_b64encode(told).decode().rstrip("=")


def etag(version: int) -> str:
    """Return the ETag of a version."""
    return f'"{version}"'


def aware(instant: datetime | None, field: str) -> datetime | None:
    """Refuse an instant without a zone: nobody knows when it is.

    Raises:
        InvalidContentError: it has none.
    """
    if instant is not None and instant.tzinfo is None:
        raise InvalidContentError(field=field, problem="it has no time zone; write it as in 2025-06-14T09:00:00Z")
    return instant


@dataclass(slots=True)
class UnchangedRecord:
    """Refuses to write over a record that is no longer what the client saw; lives as long as the request.

    Args:
        entry_id: The entry.
        tag: The ETag that it must have, or `*` for any.
        present: The one that it has, where that is another.
    """

    entry_id: str
    tag: str
    present: str | None = None
    is_checked: bool = False

    def __call__(self, unit: UnitOfWork) -> None:
        """Compare, in the transaction that writes, once.

        Raises:
            StaleVersionError: it has another version.
            UnknownRecordError: it is gone.
        """
        if self.is_checked:
            return
        entry = unit.entries.get(self.entry_id)
        if entry is None:
            raise UnknownRecordError(kind="entry", value=self.entry_id)
        if self.tag not in {"*", etag(entry.version)}:
            self.present = etag(entry.version)
            raise StaleVersionError(kind="entry", record_id=self.entry_id)
        self.is_checked = True


def unchanged(memory_id: str, tag: str | None) -> UnchangedRecord | None:
    """Return what refuses to write over a memory that has another ETag by now; None if no tag was sent."""
    return None if tag is None else UnchangedRecord(memory_id, tag.removeprefix("W/"))


async def digest_of(request: Request) -> str:
    """Return a hash of all that a request asks for."""
    asked = hashlib.sha256(f"{request.method} {request.url.path}?{request.url.query}\0".encode())
    asked.update(await request.body())
    return asked.hexdigest()
