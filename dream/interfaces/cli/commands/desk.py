"""Runs what a person does to the memory by hand: `dream edit`, `merge`, `questions`, `answer` and their neighbours."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from cyclopts import Parameter

from agentcore.errors import InvalidOptionsError
from agentcore.hosting.amend import MemoryChanges
from agentcore.hosting.host import Host
from dream.cycle.desk import Desk
from dream.domain.report import RunReport
from dream.interfaces.cli.commands.memory import Tags
from dream.interfaces.cli.commands.outcomes import told
from dream.interfaces.cli.errors import MissingSettingError
from dream.interfaces.cli.render.desk import done_lines, question_lines
from dream.interfaces.cli.session import Access, CliSession, CommandSession

Why = Annotated[str | None, Parameter(name="--why")]
Work = Callable[[Desk, list[str]], Awaitable[RunReport]]


async def questions(
    *,
    state: Literal["open", "resolved", "dismissed"] = "open",
    cause: Literal["near_duplicate", "close_call", "contradiction"] | None = None,
    session: CliSession,
) -> None:
    """List the questions that only you can answer, with the texts that they are about.

    Args:
        state: Only questions in this state.
        cause: Only questions that were asked for this cause.
        session: Whose memory.
    """
    from agentcore.domain.question import QuestionCause, QuestionState  # noqa: PLC0415 - most commands ask none

    async with session.host(Access.LOOK) as host:
        asked = None if cause is None else QuestionCause(cause)
        found = await host.for_scope(session.scope).desk.questions(state=QuestionState(state), cause=asked)
    session.screen.show(
        lambda: {"questions": [one.to_json() for one in found]},
        lambda: question_lines(session, found, f"No question is {state}."),
    )


async def duplicates(*, session: CliSession) -> None:
    """List entries that may say the same, the most alike first; dreams find them, you judge them.

    Args:
        session: Whose memory.
    """
    async with session.host(Access.LOOK) as host:
        found = await host.for_scope(session.scope).desk.duplicates()
    session.screen.show(
        lambda: {"questions": [one.to_json() for one in found]},
        lambda: question_lines(session, found, "No near-duplicates wait for you; a dream looks for them."),
    )


async def answer(
    question: str,
    how: Literal["keep", "text", "distinct", "dismiss"],
    value: str | None = None,
    /,
    *,
    why: Why = None,
    session: CliSession,
) -> int:
    """Answer a question: `keep ENTRY`, `text "..."`, `distinct` or `dismiss`.

    `keep` lets one entry take the place of the others, `text` a text of yours; `distinct` says that all of them
    hold and say different things; `dismiss` decides nothing.

    Args:
        question: Its id, or the beginning of it.
        how: How you answer.
        value: The entry that holds, or the text.
        why: Your reason, kept with the answer.
        session: Whose memory.

    Raises:
        MissingSettingError: `keep` or `text` has no value.
        InvalidOptionsError: another answer has one.
    """
    if how in {"keep", "text"} and value is None:
        raise MissingSettingError(what="value", remedy=f"say it after {how}: an entry to keep, or a text in quotes")
    if how in {"distinct", "dismiss"} and value is not None:
        raise InvalidOptionsError(field="VALUE", value=value, allowed=f"{how} takes none; give a reason with --why")

    async def work(desk: Desk, _: list[str]) -> RunReport:
        return await desk.answer(
            question,
            keep=value if how == "keep" else None,
            text=value if how == "text" else None,
            distinct=how == "distinct",
            dismiss=how == "dismiss",
            why=why,
        )

    return await _do(session, work)


async def edit(
    entry: str,
    text: str | None = None,
    /,
    *,
    category: str | None = None,
    tags: Tags = None,
    importance: float | None = None,
    subject_time: str | None = None,
    why: Why = None,
    session: CliSession,
) -> int:
    """Change an entry: its text, or where it is filed.

    Args:
        entry: Its id, or the beginning of it.
        text: Its new text.
        category: Slash path such as people/ana.
        tags: A tag; give the option once for each, they replace the ones it has.
        importance: From 0 to 1, as of now.
        subject_time: The time it is about, such as 2025-05 or 1995..2003.
        why: Your reason, kept in its history.
        session: Whose memory.

    Raises:
        MissingSettingError: nothing is changed.
        InvalidOptionsError: the category is empty.
    """
    changes = MemoryChanges()
    if text is not None:
        changes["content"] = text
    if category is not None:
        if not category.strip():
            allowed = "write a path such as people/ana, or general for none"
            raise InvalidOptionsError(field="--category", value=category, allowed=allowed)
        changes["category"] = category
    if tags is not None:
        changes["tags"] = tags
    if importance is not None:
        changes["importance"] = importance
    if subject_time is not None:
        changes["subject_time"] = subject_time
    if not changes:
        raise MissingSettingError(what="change", remedy="give a new text, or --category, --tag, --importance")
    return await _do(session, lambda desk, ids: desk.edit(ids[0], why=why, **changes), entry)


async def pin(entry: str, /, *, why: Why = None, session: CliSession) -> int:
    """Pin an entry: no dream retires it, and it never fades.

    Args:
        entry: Its id, or the beginning of it.
        why: Your reason, kept in its history.
        session: Whose memory.
    """
    return await _do(session, lambda desk, ids: desk.pin(ids[0], why=why), entry)


async def unpin(entry: str, /, *, why: Why = None, session: CliSession) -> int:
    """Take the pin of an entry away.

    Args:
        entry: Its id, or the beginning of it.
        why: Your reason, kept in its history.
        session: Whose memory.
    """
    return await _do(session, lambda desk, ids: desk.pin(ids[0], pinned=False, why=why), entry)


async def archive(entry: str, /, *, why: Why = None, session: CliSession) -> int:
    """Set an entry aside: nobody recalls it, `restore` brings it back.

    Args:
        entry: Its id, or the beginning of it.
        why: Your reason, kept in its history.
        session: Whose memory.
    """
    return await _do(session, lambda desk, ids: desk.archive(ids[0], why=why), entry)


async def confirm(entry: str, /, *, why: Why = None, session: CliSession) -> int:
    """Vouch for an entry: where entries contradict each other, dreams believe it first.

    Args:
        entry: Its id, or the beginning of it.
        why: Your reason, kept in its history.
        session: Whose memory.
    """
    return await _do(session, lambda desk, ids: desk.confirm(ids[0], why=why), entry)


async def merge(
    entry: str, other: str, /, *more: str, text: str | None = None, why: Why = None, session: CliSession
) -> int:
    """Make one entry of several that say the same: the first takes over the others.

    Args:
        entry: Id of the entry that stays, or the beginning of it.
        other: Id of an entry that it takes over.
        more: Ids of further ones.
        text: A new text that takes the place of all of them instead.
        why: Your reason, kept in their history.
        session: Whose memory.
    """
    return await _do(session, lambda desk, ids: desk.merge(*ids, text=text, why=why), entry, other, *more)


async def distinct(entry: str, other: str, /, *more: str, why: Why = None, session: CliSession) -> int:
    """Say that entries say different things, so that no dream puts them together.

    Args:
        entry: Id of an entry, or the beginning of it.
        other: Id of an entry that is not the same.
        more: Ids of further ones.
        why: Your reason.
        session: Whose memory.
    """
    return await _do(session, lambda desk, ids: desk.distinct(*ids, why=why), entry, other, *more)


async def _do(session: CommandSession, work: Work, *entries: str) -> int:
    """Do it, and show what became of it."""
    async with session.host(Access.CHANGE) as host:
        ids = await _resolved(host, session, entries)
        here = host.for_scope(session.scope)
        report = await work(here.desk, ids)
        rows = await here.dreams.diff(report.run_id) if report.run_id else []
    return told(session, report, report.to_json, lambda: done_lines(session, report, rows))


async def _resolved(host: Host, session: CommandSession, entries: tuple[str, ...]) -> list[str]:
    return await host.storage.read(session.scope, lambda view: [view.entries.resolve(one) for one in entries])
