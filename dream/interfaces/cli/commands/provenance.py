"""why, restore."""

from agentcore.errors import UnknownRecordError
from dream.cycle.dreams import Dreams
from dream.cycle.history import History
from dream.interfaces.cli.commands.outcomes import told
from dream.interfaces.cli.render.entries import restored_lines
from dream.interfaces.cli.render.history import history_lines
from dream.interfaces.cli.session import Access, CliSession


async def why(entry: str, /, *, session: CliSession) -> None:
    """Show why an entry is as it is: what happened to it, and where it came from, down to the turn.

    Args:
        entry: Its id, or the beginning of it.
        session: Whose memory.
    """
    async with session.host(Access.LOOK) as host:
        dreams = host.for_scope(session.scope).dreams
        try:
            entry_id = await host.storage.read(session.scope, lambda view: view.entries.resolve(entry))
        except UnknownRecordError as unknown:
            history = await _history_of_the_gone(dreams, entry, unknown)
        else:
            history = await dreams.why(entry_id)
    session.screen.show(history.to_json, lambda: history_lines(history, session.screen.width))


async def _history_of_the_gone(dreams: Dreams, entry_id: str, unknown: UnknownRecordError) -> History:
    """Return what the journal still holds of an entry that was purged or forgotten; its whole id is needed."""
    history = await dreams.why(entry_id)
    if not (history.rows or history.descendants):
        raise unknown
    return history


async def restore(entry: str, /, *, session: CliSession) -> int:
    """Bring a retired entry back; no dream retires it for the same reason again.

    Args:
        entry: Its id, or the beginning of it.
        session: Whose memory.
    """
    async with session.host(Access.CHANGE) as host:
        scope = session.scope
        entry_id = await host.storage.read(scope, lambda view: view.entries.resolve(entry))
        report = await host.for_scope(scope).dreams.restore(entry_id)
        restored = await host.storage.read(scope, lambda view: view.entries.get(entry_id))
    return told(session, report, report.to_json, lambda: restored_lines(session, report, restored))
