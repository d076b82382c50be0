"""Store a database of the present version for later ones to open: `python tests/release/publish.py`, once a release.

It writes `published/VERSION.sql`, a database with something of everything, and `published/VERSION.jsonl`, its export.
"""

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

from agentcore import AgentHostBuilder
from agentcore.domain.access import Right
from agentcore.domain.scope import Scope
from agentcore.stores.sql import FILE_NAME
from agentcore.testing import ManualClock
from dream.interfaces.exchange.export import export_scope

PUBLISHED = Path(__file__).parent / "published"
DAY = "Ben plays the trombone in the Lisbon harbour orchestra on"


async def fill(folder: Path) -> bytes:
    """Fill a database, and return the export of its default scope."""
    clock = ManualClock(datetime(2026, 11, 24, 9, tzinfo=UTC))
    builder = AgentHostBuilder(folder, clock=clock).with_memory().with_conversation_log().with_feedback()
    async with builder.with_skills().with_dreaming(in_background=False).build() as host:
        await host.conversation.append(session_id="s1", role="user", content="I live in Lisbon.", speaker="Ana")
        for text in ("Ana likes green tea", "Ana lives in Lisbon", f"{DAY} Fridays", f"{DAY} Mondays"):
            await host.memory.remember(text, category="people", tags=["known"], subject_time="2025-05")
            clock.advance(timedelta(minutes=1))
        gone = await host.memory.remember("Ana has a secret")
        await host.memory.forget(gone.id)
        await host.for_scope("acme/agent/ben").memory.remember("Ben likes coffee")
        await host.skills.save("kitchen/tea", summary="Brew tea", content="Boil water.")
        await host.feedback.append(session_id="s1", kind="thumbs_up", summary="Good.")
        await host.off_limits.add("my health")
        await host.tokens.create("laptop", scopes=["acme/*/*"], rights=[Right.READ])
        await host.dreams.run()
        await host.dreams.plan()
        lines: list[bytes] = []
        await export_scope(host.storage, Scope.default(), lines.append)
        return b"".join(lines)


def main() -> None:
    """Write both files."""
    name = version("agentcore-dream")
    with tempfile.TemporaryDirectory() as made:
        exported = asyncio.run(fill(Path(made)))
        with closing(sqlite3.connect(Path(made) / FILE_NAME)) as database:
            dump = "\n".join(database.iterdump())
    PUBLISHED.mkdir(exist_ok=True)
    (PUBLISHED / f"{name}.sql").write_text(f"{dump}\n", encoding="utf-8")
    (PUBLISHED / f"{name}.jsonl").write_bytes(exported)


if __name__ == "__main__":
    main()
