"""Counts how the texts of a skill did: uses of each, and how many of these were in sessions that failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcore.domain.skill import Skill
from agentcore.domain.temporal import to_text
from agentcore.errors import UnknownRecordError
from dream.passes.skills.failed_sessions import MOST_SIGNALS, tells_failure
from dream.stores import dream_stores

if TYPE_CHECKING:
    from datetime import datetime

    from agentcore.stores.storage import ReadView


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillVersion:
    """A text that a skill had, and how it did.

    Args:
        content: The text.
        since: From when on; None for the first that is known.
        until: Until when; None for the present one.
        uses: How often the skill was used then.
        failed: How many of these uses were in sessions that a correction, a thumb down or a bad rating tells of.
    """

    content: str
    since: datetime | None
    until: datetime | None
    uses: int
    failed: int

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        since, until = (None if one is None else to_text(one) for one in (self.since, self.until))
        return {"content": self.content, "since": since, "until": until, "uses": self.uses, "failed": self.failed}


def read_skill_versions(view: ReadView, name: str) -> tuple[SkillVersion, ...]:
    """Return the texts of the active skill of a name, the oldest first, as far as runs rewrote it.

    The newest uses and signals are counted alone, as many as the pass looks at that mends skills.

    Raises:
        UnknownRecordError: no active skill has the name.
    """
    skill = view.skills.named(name)
    if skill is None:
        raise UnknownRecordError(kind="skill", value=name)
    texts = _texts(view, skill)
    uses = [one for one in view.skill_uses.newest(limit=MOST_SIGNALS) if one.skill_name == name]
    failed = {one.session_id for one in view.feedback.newest(limit=MOST_SIGNALS) if tells_failure(one)}
    found: list[SkillVersion] = []
    for place, (content, since) in enumerate(texts):
        until = texts[place + 1][1] if place + 1 < len(texts) else None
        mine = [
            one
            for one in uses
            if (since is None or one.occurred_at >= since) and (until is None or one.occurred_at < until)
        ]
        bad = sum(one.session_id in failed for one in mine)
        found.append(SkillVersion(content=content, since=since, until=until, uses=len(mine), failed=bad))
    return tuple(found)


def _texts(view: ReadView, skill: Skill) -> list[tuple[str, datetime | None]]:
    """Return each text with the instant from which on it was in force, the oldest first."""
    texts: list[tuple[str, datetime | None]] = []
    for row in dream_stores(view).journal.of_records({skill.id}):
        before, after = row.record_before, row.record_after
        if not isinstance(before, Skill) or not isinstance(after, Skill) or before.content == after.content:
            continue
        if not texts or texts[-1][0] != before.content:
            texts.append((before.content, before.updated_at if texts else None))
        texts.append((after.content, row.recorded_at))
    if not texts or texts[-1][0] != skill.content:
        texts.append((skill.content, skill.updated_at if texts else None))
    return texts
