"""A model that answers with the preferences a test wrote down."""

from datetime import datetime
from typing import Any

import orjson
from dreaming import World
from talking import answering

from agentcore.domain import EntryFilter, Feedback, FeedbackKind, MemoryEntry
from dream.domain import PassReport
from dream.passes.preferences import PreferenceInference

SHORT = "Ana prefers shorter answers."


def a_preference(content: str, *sources: str, quote: str, **fields: Any) -> dict[str, Any]:
    """A preference as a model writes it."""
    usual = {"sentiment": "irritated", "tags": [], "requiresUserPermission": False}
    return {"content": content, "sourceIds": list(sources or ("t1",)), "quote": quote, **(usual | fields)}


def shorter(*sources: str, quote: str = "shorter answers", **fields: Any) -> dict[str, Any]:
    return a_preference(SHORT, *sources, quote=quote, **fields)


def answer(*preferences: Any, **more: Any) -> str:
    return orjson.dumps({"toSave": list(preferences), **more}).decode()


async def infer(world: World, *preferences: Any, **options: Any) -> PassReport:
    """Run the pass once, the model answering with these preferences, whatever is refused of them."""
    return (await answering(world, *[answer(*preferences)] * 2, **options).run_passes(PreferenceInference())).passes[0]


async def wanted(world: World) -> list[MemoryEntry]:
    """The active preferences, by id."""
    where = EntryFilter(category="user-preferences")
    found = await world.storage.read(world.scope, lambda view: view.entries.select(where))
    return sorted(found, key=lambda entry: entry.id)


async def signal(world: World, kind: FeedbackKind, summary: str, *, at: datetime | None = None, **fields: Any) -> None:
    """Store feedback."""
    when = at or world.clock.now()
    given = {"session_id": "elsewhere", "occurred_at": when, "recorded_at": when, **fields}
    one = Feedback(id=world.ids.new(), scope=world.scope, kind=kind, summary=summary, **given)
    await world.write(lambda unit: unit.feedback.append([one]))
