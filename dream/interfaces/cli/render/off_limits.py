"""Shows off-limits topics."""

from collections.abc import Sequence

from agentcore.domain.off_limits import OffLimitsTopic
from dream.interfaces.cli.render.text import Line, Lines, Tone, one_line, paragraph, when


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
