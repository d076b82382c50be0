"""Takes what a person has forgotten out of skills: the lines that say it, in every version that is stored."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlalchemy import ColumnElement, or_, select

from agentcore.domain.records import RecordKind
from agentcore.domain.skill import Skill
from agentcore.domain.text import normalise
from agentcore.stores.sql.schema import journal, skills
from agentcore.stores.sql.scrub import REMOVED_TEXT, scrub_rows
from agentcore.stores.sql.skills import SqlSkillStore
from agentcore.stores.sql.stored_texts import is_telling
from agentcore.stores.sql.transaction import Transaction, chunks, contains

SENTENCE: Final = re.compile(r"[^\r\n]*?[.!?…。\uff01\uff1f।]+(?=\s|$)|[^\r\n]+")
_TOGETHER: Final = 50


def forget_in_skills(
    transaction: Transaction, texts: Collection[str], chosen: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Take sentences out of skills; return the ids of those that lost one.

    A skill of which nothing is left but its name is deleted. No undo brings a sentence back: images lose their text.

    Args:
        transaction: The forget's own.
        texts: Forgotten texts; a sentence that holds one that is long enough to be searched for goes.
        chosen: Sentences that were found in skills and chosen, by the id of the skill.
    """
    telling = sorted({bare for text in texts if is_telling(bare := text.rstrip(".。"))})
    store, redacted = SqlSkillStore(transaction), set[str]()
    ids = {*chosen, *_saying(transaction, telling)}
    for skill in store.get_many(ids):
        gone = [normalise(one) for text in (*telling, *chosen.get(skill.id, ())) for one in SENTENCE.findall(text)]
        after = _without(skill, [one for one in gone if one])
        if after == skill:
            continue
        redacted.add(skill.id)
        if after.content.strip():
            store.replace(skill, after)
        else:
            store.delete((skill.id,))
    for chunk in chunks(sorted(redacted), _TOGETHER):
        mine = (journal.c.scope_id == transaction.scope_id) & (journal.c.record_kind == RecordKind.SKILL.value)
        rows = select(journal.c.pk).where(mine, journal.c.record_id.in_(chunk))
        scrub_rows(transaction, set(transaction.connection.execute(rows).scalars()))
    return tuple(sorted(redacted))


def _saying(transaction: Transaction, telling: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for chunk in chunks(telling, _TOGETHER):
        held: list[ColumnElement[bool]] = []
        for text in chunk:
            held += [contains(skills.c.content, text), contains(skills.c.summary, text)]
        mine = select(skills.c.id).where(skills.c.scope_id == transaction.scope_id, or_(*held))
        found.update(transaction.connection.execute(mine).scalars())
    return found


def _without(skill: Skill, gone: Collection[str]) -> Skill:
    summary = _cut(skill.summary, gone).strip() or REMOVED_TEXT
    return replace(skill, content=_cut(skill.content, gone), summary=summary)


def _cut(text: str, gone: Collection[str]) -> str:
    """Return *text* without the sentences that hold one of these, and without the lines that held nothing else."""
    lines: list[str] = []

    def kept(sentence: re.Match[str]) -> str:
        said = normalise(sentence.group())
        return "" if any(one in said for one in gone) else sentence.group()

    for line in text.splitlines(keepends=True):
        left = SENTENCE.sub(kept, line)
        if left == line or left.strip(" \t\r\n-*+#>0123456789.)"):
            lines.append(left)
    return "".join(lines)
