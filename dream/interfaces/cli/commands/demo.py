"""demo: one dream on a ready-made memory, in a folder of its own."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from agentcore.hosting.host import Host
from dream.interfaces.cli.commands.dreaming import clustered
from dream.interfaces.cli.commands.outcomes import told
from dream.interfaces.cli.errors import OccupiedFolderError
from dream.interfaces.cli.examples import copy_examples
from dream.interfaces.cli.render.demonstration import Demonstration, Look, demonstration_lines
from dream.interfaces.cli.session import Access, CliSession, Session
from dream.interfaces.exchange.importer import import_file
from dream.interfaces.exchange.report import ImportReport

AS_OF = datetime(2025, 10, 12, 20, tzinfo=UTC)
"""Sunday, 12 October 2025, 21:00 in Lisbon: two minutes after the last turn of the demo's conversation."""
_QUESTION = "what can Biscoito not eat?"
"""The memory holds three copies of the answer."""
_HITS = 3


async def demo(*, session: CliSession) -> int:
    """Dream once on six ready-made weeks of memory, and show before, diff, after and how to undo.

    Args:
        session: Whose memory; without --data a new temporary folder.
    """
    if session.is_data_given and session.database.exists():
        raise OccupiedFolderError(path=str(session.data_dir))
    folder = session.data_dir if session.is_data_given else Path(tempfile.mkdtemp(prefix="dream-demo-"))
    scope = session.given[session.given.index("--scope") :][:2] if "--scope" in session.given else ()
    here = replace(session, data_dir=folder, given=("--data", str(folder), *scope))
    files = await asyncio.to_thread(copy_examples, folder / "examples")
    async with here.host(Access.CREATE) as host:
        shown = await _demonstrate(here, host, files)
    return told(here, shown.report, shown.to_json, lambda: demonstration_lines(here, shown))


async def _demonstrate(session: Session, host: Host, files: Sequence[Path]) -> Demonstration:
    dreams = host.for_scope(session.scope).dreams
    imports = [await _imported(session, host, path) for path in files]
    before = await _look(session, host)
    report = await dreams.run(now=AS_OF)
    return Demonstration(
        folder=session.data_dir,
        as_of=AS_OF,
        question=_QUESTION,
        capabilities=host.capabilities,
        imports=imports,
        before=before,
        report=report,
        rows=await dreams.diff(report.run_id),
        clustered=await clustered(host, session, report),
        after=await _look(session, host),
    )


async def _imported(session: Session, host: Host, path: Path) -> ImportReport:
    return await import_file(host.storage, session.scope, path, clock=session.clock, ids=session.ids)


async def _look(session: Session, host: Host) -> Look:
    services = host.for_scope(session.scope)
    hits = await services.memory.recall(_QUESTION, k=_HITS)
    return Look(await services.dreams.status(), [hit.entry for hit in hits])
