"""Runs `dream remember`, `recall` and `memories`."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

from cyclopts import Parameter

from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import MemoryEntry, Status
from agentcore.domain.records import entry_json
from agentcore.domain.signals import Purpose
from agentcore.domain.text import clean_category, clean_content, clean_tags
from agentcore.errors import InvalidOptionsError, SecretError
from agentcore.hosting.memory import Memory
from agentcore.hosting.recall_filters import RecallFilters, recall_filter
from agentcore.hosting.remember import MemoryFields, Observation
from agentcore.recall.related_hypotheses import MOST_RELATED
from agentcore.recall.results import RelatedHypothesis
from agentcore.secrets import secret_in
from agentcore.stores.storage import ReadView
from dream.interfaces.cli.errors import MissingSettingError
from dream.interfaces.cli.render.entries import (
    entry_list_lines,
    hit_lines,
    remembered_lines,
)
from dream.interfaces.cli.render.hypotheses import related_lines
from dream.interfaces.cli.session import Access, CliSession
from dream.interfaces.documents import hit_json
from dream.interfaces.dream_shapes import related_json

Tags = Annotated[list[str] | None, Parameter(name=["--tags", "--tag"], negative="")]


async def remember(
    text: str,
    /,
    *,
    category: str | None = None,
    tags: Tags = None,
    importance: float = 0.5,
    subject_time: str | None = None,
    pinned: Annotated[bool, Parameter(negative="")] = False,
    allow_secret: Annotated[bool, Parameter(negative="")] = False,
    session: CliSession,
) -> None:
    """Remember a text; one that is known already is reinforced.

    Args:
        text: What to remember; - reads it from stdin.
        category: Slash path such as people/ana; else general.
        tags: A tag; give the option once for each.
        importance: From 0 to 1.
        subject_time: The time it is about, such as 2025-05 or 1995..2003.
        pinned: Keep it whatever happens.
        allow_secret: Keep it even if it seems to hold a password, a key or the like.
        session: Whose memory.
    """
    said = MemoryFields(
        category=category,
        tags=tags or (),
        importance=importance,
        subject_time=subject_time,
        pinned=pinned,
    )
    if text == "-":
        text = sys.stdin.read()
    # Checked before the memory is opened, so that a mistake makes no data directory.
    clean_content(text)
    Observation.of(said)
    kind = None if allow_secret else secret_in(text)
    if kind is not None:
        raise SecretError(kind=kind, remedy="leave it out, or give `--allow-secret` to keep it all the same")
    async with session.host(Access.CREATE) as host:
        entry = await host.for_scope(session.scope).memory.remember(text, **said)
    session.screen.show(lambda: entry_json(entry), lambda: remembered_lines(entry, session.screen.width))


async def recall(
    query: str,
    /,
    *,
    k: Annotated[int, Parameter(name=["-k", "--k"])] = 10,
    category: str | None = None,
    tags: Tags = None,
    any_tags: Annotated[list[str] | None, Parameter(name=["--any-tags", "--any-tag"], negative="")] = None,
    level: Literal["explicit", "derived", "deductive", "inductive"] | None = None,
    pattern: Literal["preference", "behavior", "personality", "tendency", "correlation"] | None = None,
    confidence: Literal["low", "medium", "high"] | None = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    seen_after: datetime | None = None,
    seen_before: datetime | None = None,
    about: str | None = None,
    related_dreams: int = 0,
    explain: Annotated[bool, Parameter(negative="")] = False,
    session: CliSession,
) -> None:
    """Find the entries that answer a question best. Looking something up here does not count as use.

    Args:
        query: What is asked.
        k: How many at most.
        category: Only this category and everything below it.
        tags: Only entries with this tag; give the option once for each.
        any_tags: Only entries with one of these tags; give the option once for each.
        level: Only entries known in this way.
        pattern: Only conclusions of this sort of pattern.
        confidence: Only patterns that are so sure.
        created_after: Only what was first said at this time or later, UTC.
        created_before: Only what was first said before this time, UTC.
        seen_after: Only what was last seen at this time or later, UTC.
        seen_before: Only what was last seen before this time, UTC.
        about: Only what is about a time that overlaps this one, such as 2025-05 or 1995..2003, or held then although
            something else took its place since.
        related_dreams: How many hypotheses to name beside them, at most 20; they are unproven.
        explain: Show how each score came about.
        session: Whose memory.

    Raises:
        MissingSettingError: nothing is asked.
        InvalidOptionsError: more hypotheses are asked for than there can be.
    """
    if not query.strip():
        raise MissingSettingError(what="question", remedy="say in words what you want to know")
    conditions = RecallFilters(
        category=category, tags=tags or (), any_tags=any_tags or (),
        level=level, pattern=pattern, confidence=confidence,
        created_after=_in_utc(created_after), created_before=_in_utc(created_before),
        seen_after=_in_utc(seen_after), seen_before=_in_utc(seen_before), about=about,
    )  # fmt: skip
    recall_filter(conditions)
    async with session.host(Access.LOOK, embedder=session.embedder(), dreams=False) as host:
        here = host.for_scope(session.scope)
        hits = await here.memory.explain(query, k=k, **conditions)
        turns = 0 if hits else await here.conversation.count()
        beside = await _related(here.memory, query, related_dreams, k, conditions)
        dreams = await related_json(host.storage, beside)
    shown, width = [(hit, why if explain else None) for hit, why in hits], session.screen.width
    session.screen.show(
        lambda: {"query": query, "hits": [hit_json(*one) for one in shown], "related_dreams": dreams},
        lambda: [*hit_lines(query, shown, width, turns), *related_lines(beside, width)],
    )


async def _related(
    memory: Memory, query: str, limit: int, k: int, conditions: RecallFilters
) -> Sequence[RelatedHypothesis]:
    if limit == 0:
        return ()
    if not 0 < limit <= MOST_RELATED:
        raise InvalidOptionsError(field="related_dreams", value=limit, allowed=f"give 0 to {MOST_RELATED}")
    found = await memory.recall(query, k=k, purpose=Purpose.PREVIEW, related_dreams=limit, **conditions)
    return found.related_dreams


def _in_utc(instant: datetime | None) -> datetime | None:
    return None if instant is None else instant.replace(tzinfo=instant.tzinfo or UTC)


async def memories(
    *,
    category: str | None = None,
    tags: Tags = None,
    status: Literal["active", "superseded", "archived", "all"] = "active",
    sort: Literal["seen", "said", "importance"] = "seen",
    since: str | None = None,
    limit: int = 50,
    session: CliSession,
) -> None:
    """List entries with their dates in local time, the latest seen first.

    Args:
        category: Only this category and everything below it.
        tags: Only entries with this tag; give the option once for each.
        status: Only entries in this state.
        sort: By when an entry was last seen, when it was first said, or how much it matters now.
        since: Only entries last seen at this date or later (first said, with --sort said); local time.
        limit: How many at most.
        session: Whose memory.

    Raises:
        InvalidOptionsError: the date cannot be read, or the limit is below 0.
    """
    if limit < 0:
        raise InvalidOptionsError(field="limit", value=limit, allowed="give 0 or more")
    begin = None if since is None else _local_instant(since)
    state = None if status == "all" else Status(status)
    where = EntryFilter(
        statuses=frozenset() if state is None else frozenset({state}),
        category=None if category is None else clean_category(category),
        tags=clean_tags(tags or ()),
    )
    async with session.host(Access.LOOK, dreams=False) as host:
        entries, total = await host.storage.read(
            session.scope, lambda view: _listed(view, where, sort=sort, since=begin, limit=limit)
        )
    session.screen.show(
        lambda: {"total": total, "entries": [entry_json(entry) for entry in entries]},
        lambda: entry_list_lines(entries, total, session.screen.width, said=sort == "said"),
    )


def _listed(
    view: ReadView, where: EntryFilter, *, sort: str, since: datetime | None, limit: int
) -> tuple[list[MemoryEntry], int]:
    """Return the first entries in this order, and how many there are."""
    if sort == "seen" and since is None:
        return view.entries.select(where, limit=limit), view.entries.count(where)
    found = view.entries.select(where)
    if since is not None:
        found = [one for one in found if (one.created_at if sort == "said" else one.last_seen_at) >= since]
    if sort != "seen":
        found.sort(key=lambda one: one.created_at.timestamp() if sort == "said" else one.importance, reverse=True)
    return found[:limit], len(found)


def _local_instant(text: str) -> datetime:
    """Read a date or an instant of this machine's time zone."""
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError):
        allowed = "write a date such as 2025-10-12, or 2025-10-12T20:00"
        raise InvalidOptionsError(field="--since", value=text[:80], allowed=allowed) from None
