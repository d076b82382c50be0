"""remember, recall, memories, forget."""

from typing import Annotated, Literal

from cyclopts import Parameter

from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import Status
from agentcore.domain.text import clean_category, clean_content, clean_tags
from agentcore.hosting.observation import Observation, Particulars
from dream.cycle.history import entry_json
from dream.interfaces.cli.render.entries import (
    OUT_OF_REACH,
    entry_list_lines,
    forgotten_lines,
    hit_lines,
    remembered_lines,
)
from dream.interfaces.cli.session import Access, CliSession

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
    session: CliSession,
) -> None:
    """Remember a text; one that is known already is reinforced.

    Args:
        text: What to remember.
        category: Slash path such as people/ana; else general.
        tags: A tag; give the option once for each.
        importance: From 0 to 1.
        subject_time: The time it is about, such as 2025-05 or 1995..2003.
        pinned: Keep it whatever happens.
        session: Whose memory.
    """
    said = Particulars(
        category=category,
        tags=tags or (),
        importance=importance,
        subject_time=subject_time,
        pinned=pinned,
    )
    # Checked before the memory is opened, so that a mistake makes no data directory.
    clean_content(text)
    Observation.of(said)
    async with session.host(Access.CREATE) as host:
        entry = await host.for_scope(session.scope).memory.remember(text, **said)
    session.screen.show(lambda: entry_json(entry), lambda: remembered_lines(entry, session.screen.width))


async def recall(query: str, /, *, k: Annotated[int, Parameter(name=["-k", "--k"])] = 10, session: CliSession) -> None:
    """Find the entries that answer a question best.

    Args:
        query: What is asked.
        k: How many at most.
        session: Whose memory.
    """
    async with session.host(Access.LOOK) as host:
        hits = await host.for_scope(session.scope).memory.recall(query, k=k)
    session.screen.show(
        lambda: {
            "query": query,
            "hits": [{"score": round(hit.score, 6), "entry": entry_json(hit.entry)} for hit in hits],
        },
        lambda: hit_lines(query, hits, session.screen.width),
    )


async def memories(
    *,
    category: str | None = None,
    tags: Tags = None,
    status: Literal["active", "superseded", "archived", "all"] = "active",
    limit: int = 50,
    session: CliSession,
) -> None:
    """List entries, the latest seen first.

    Args:
        category: Only this category and everything below it.
        tags: Only entries with this tag; give the option once for each.
        status: Only entries in this state.
        limit: How many at most.
        session: Whose memory.
    """
    state = None if status == "all" else Status(status)
    where = EntryFilter(
        statuses=frozenset() if state is None else frozenset({state}),
        category=None if category is None else clean_category(category),
        tags=clean_tags(tags or ()),
    )
    async with session.host(Access.LOOK) as host:
        memory = host.for_scope(session.scope).memory
        entries = await memory.list(category=category, tags=tags or (), status=state, limit=limit)
        total = await host.storage.read(session.scope, lambda view: view.entries.count(where))
    session.screen.show(
        lambda: {"total": total, "entries": [entry_json(entry) for entry in entries]},
        lambda: entry_list_lines(entries, total, session.screen.width),
    )


async def forget(entry: str, /, *, session: CliSession) -> None:
    """Remove an entry for good, with its equal texts and all that was derived from it alone.

    Nobody is asked: no undo brings it back.

    Args:
        entry: Its id, or the beginning of it.
        session: Whose memory.
    """
    async with session.host(Access.CHANGE) as host:
        storage, scope = host.storage, session.scope
        entry_id = await storage.read(scope, lambda view: view.entries.resolve(entry))
        done = await host.for_scope(scope).memory.forget(entry_id)
        restored = await storage.read(scope, lambda view: view.entries.get_many(done.restored))
    session.screen.show(
        lambda: {"removed": list(done.removed), "restored": list(done.restored), "untouched": list(OUT_OF_REACH)},
        lambda: forgotten_lines(done.removed, restored, session.screen.width),
    )
