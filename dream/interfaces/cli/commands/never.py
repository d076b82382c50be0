"""Runs `dream never`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from agentcore.domain.off_limits import OffLimitsTopic
from agentcore.domain.records import to_image
from dream.interfaces.cli.errors import MissingSettingError
from dream.interfaces.cli.render.text import Line, Lines, Tone, one_line, paragraph, when
from dream.interfaces.cli.session import Access, CliSession

if TYPE_CHECKING:
    from agentcore.hosting.off_limits import OffLimits

_AGREED = "Keep these words, and send them to the model?"
_DECLINED = "Nothing was changed."


async def never(
    topic: str | None = None,
    /,
    *,
    instead_of: str | None = None,
    remove: str | None = None,
    yes: Annotated[bool, Parameter(negative="")] = False,
    session: CliSession,
) -> None:
    """Have dreams keep nothing about a topic, or show the topics.

    The words are kept, as they are, until they are removed, and stand as a rule in what models are sent; so the
    terminal is asked first.

    Args:
        topic: The topic in your words, such as "my health"; without it the topics are listed.
        instead_of: The topic whose words these take the place of: its id or its words.
        remove: The topic to allow again: its id or its words; they are deleted.
        yes: Ask nobody; scripts have to say it.
        session: Whose memory.

    Raises:
        MissingSettingError: a topic is to be reworded and no words are given, or there is too much at once.
    """
    if remove is not None and (topic is not None or instead_of is not None):
        raise MissingSettingError(what="single wish", remedy="name a topic, or --remove one, and not both")
    if instead_of is not None and topic is None:
        raise MissingSettingError(what="topic", remedy="give the new words before --instead-of")
    if topic is None and remove is None:
        return await _show(session)
    if topic is not None and not yes:
        lines = consent_lines(topic, session.screen.width)
        if not session.screen.confirm(lines, question=_AGREED, declined=_DECLINED):
            return None
    async with session.host(Access.CREATE if remove is None else Access.CHANGE, dreams=False) as host:
        off_limits = host.for_scope(session.scope).off_limits
        gone = None if remove is None else await off_limits.remove(remove)
        if topic is not None:
            await _put(off_limits, topic, instead_of)
        topics = await off_limits.all()
    if gone is not None:
        session.screen.show(lambda: _json(topics) | {"removed": to_image(gone)}, lambda: removed_topic_lines(gone))
    else:
        session.screen.show(lambda: _json(topics), lambda: topic_lines(topics, session.screen.width))
    return None


async def _put(off_limits: "OffLimits", topic: str, instead_of: str | None) -> None:
    if instead_of is None:
        await off_limits.add(topic)
    else:
        await off_limits.reword(instead_of, topic)


async def _show(session: CliSession) -> None:
    async with session.host(Access.LOOK, dreams=False) as host:
        topics = await host.for_scope(session.scope).off_limits.all()
    session.screen.show(lambda: _json(topics), lambda: topic_lines(topics, session.screen.width))


def _json(topics: list[OffLimitsTopic]) -> dict[str, Any]:
    return {"topics": [to_image(one) for one in topics]}


def consent_lines(topic: str, width: int) -> Lines:
    """Yield what happens to the words of a topic, for a person to agree to."""
    yield Line(f"Nothing is to be kept about: {one_line(topic)}", Tone.TITLE)
    yield from paragraph(
        "These words are kept as they are until you remove them, are part of exports and backups, and stand in the "
        "prompts of every dream from now on. What is stored already stays; `dream forget` removes it.",
        width,
    )


def topic_lines(topics: Sequence[OffLimitsTopic], width: int) -> Lines:
    """Yield the topics, each with when it was named."""
    if not topics:
        yield Line("No topic is off limits.", Tone.TITLE)
        return
    yield Line("Dreams keep nothing about:", Tone.TITLE)
    for topic in topics:
        yield Line(f"    {one_line(topic.words)}  ({when(topic.created_at)}, {one_line(topic.id)})")
    yield from paragraph(
        "Change one with --instead-of, allow it again with --remove. What was stored before stays: `dream forget`.",
        width,
        tone=Tone.FAINT,
    )


def removed_topic_lines(topic: OffLimitsTopic) -> Lines:
    """Yield what is allowed again."""
    yield Line(f"Allowed again, and the words deleted: {one_line(topic.words)}", Tone.TITLE)
