"""Runs `dream why` and `restore`."""

from agentcore.domain.scope import Scope
from agentcore.errors import UnknownRecordError
from agentcore.stores.storage import ReadView, Storage
from dream.cycle.dreams import Dreams
from dream.cycle.history import EntryHistory, SkillHistory
from dream.interfaces.cli.commands.outcomes import told
from dream.interfaces.cli.render.entries import history_lines, restored_lines, skill_history_lines
from dream.interfaces.cli.session import Access, CliSession


async def why(record: str, /, *, session: CliSession) -> None:
    """Show why an entry or a skill is as it is: what happened to it, and where it came from, down to the turn.

    Args:
        record: The entry's id, or the beginning of it; or the skill's name, or the beginning of its id.
        session: Whose memory.
    """
    async with session.host(Access.LOOK) as host:
        found = await _history(host.for_scope(session.scope).dreams, host.storage, session.scope, record)
    width = session.screen.width
    if isinstance(found, SkillHistory):
        session.screen.show(found.to_json, lambda: skill_history_lines(found, width))
    else:
        session.screen.show(found.to_json, lambda: history_lines(found, width))


async def _history(dreams: Dreams, storage: Storage, scope: Scope, record: str) -> EntryHistory | SkillHistory:
    """Return the history of what is meant: a skill by its name, an entry, a skill by its id, or what is gone."""
    if await storage.read(scope, lambda view: view.skills.ever_named(record)):
        return await dreams.why_skill(record)
    try:
        return await dreams.why(await storage.read(scope, lambda view: view.entries.resolve(record)))
    except UnknownRecordError as unknown:
        try:
            return await dreams.why_skill(record)
        except UnknownRecordError:
            return await _history_of_the_gone(dreams, record, unknown)


async def _history_of_the_gone(dreams: Dreams, record_id: str, unknown: UnknownRecordError) -> EntryHistory:
    """Return what the journal still holds of a record that was purged or forgotten; its whole id is needed."""
    try:
        return await dreams.why(record_id)
    except UnknownRecordError:
        raise unknown if unknown.matches else UnknownRecordError(kind="entry or skill", value=record_id) from None


async def restore(entry: str, /, *, session: CliSession) -> int:
    """Bring a retired entry back; no dream retires it for the same reason again.

    Args:
        entry: Its id, or the beginning of it.
        session: Whose memory.
    """
    async with session.host(Access.AMEND) as host:
        scope = session.scope
        entry_id = await host.storage.read(scope, lambda view: _resolved(view, entry))
        report = await host.for_scope(scope).dreams.restore(entry_id)
        restored = await host.storage.read(scope, lambda view: view.entries.get(entry_id))
    return told(session, report, report.to_json, lambda: restored_lines(session, report, restored))


def _resolved(view: ReadView, entry: str) -> str:
    """Return the id of an entry; what fits none may be that of a forgotten one, which a restore tells."""
    try:
        return view.entries.resolve(entry)
    except UnknownRecordError as unknown:
        if unknown.matches:
            raise
        return entry
