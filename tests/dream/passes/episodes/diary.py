"""A model that answers with the episodes a test wrote down."""

from typing import Any

import orjson
from dreaming import World
from talking import answering

from agentcore.domain import EntryFilter, MemoryEntry
from dream.domain import PassReport
from dream.passes.episodes import EpisodeExtraction


def an_episode(content: str, *turns: str, quote: str, **fields: Any) -> dict[str, Any]:
    """An episode as a model writes it."""
    usual = {"eventType": "decision", "actor": "Ana", "tags": []}
    return {"content": content, "sourceTurns": list(turns or ("t1",)), "quote": quote, **(usual | fields)}


def again(handle: str, *turns: str, quote: str) -> dict[str, Any]:
    """An episode met again."""
    return {"existing": handle, "sourceTurns": list(turns or ("t1",)), "quote": quote}


def answer(*episodes: Any) -> str:
    return orjson.dumps({"toSave": list(episodes)}).decode()


async def tell(world: World, *episodes: Any, **options: Any) -> PassReport:
    """Run the pass once, the model answering with these episodes, whatever is refused of them."""
    return (await answering(world, *[answer(*episodes)] * 2, **options).run_passes(EpisodeExtraction())).passes[0]


async def diary(world: World) -> list[MemoryEntry]:
    """The active episodes, by id."""
    found = await world.storage.read(world.scope, lambda view: view.entries.select(EntryFilter(category="episodes")))
    return sorted(found, key=lambda entry: entry.id)
