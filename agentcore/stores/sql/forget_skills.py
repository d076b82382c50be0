"""Takes what a person has forgotten out of skills: the lines that say it, in every version that is stored."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
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

SENTENCE: Final = re.compile(r"[^\r\n]*?(?:[.!?…؟।]+(?=\s|$)|[。\uff01\uff1f]+)|[^\r\n]+")
_MARK: Final = re.compile(r"\s*(?:[-*+>]\s+)?(?:\d{1,3}|[^\W\d_])[.)]\s+")
"""What a line of a list begins with: the number is no sentence, and stays where another sentence of its line does."""
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
        picked = {normalise(one) for text in chosen.get(skill.id, ()) for one in _sentences(text)}
        after = _without(skill, [normalise(one) for one in telling], picked - {""})
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


def _sentences(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from SENTENCE.findall(line, _after_mark(line))


def _after_mark(line: str) -> int:
    return mark.end() if (mark := _MARK.match(line)) else 0


def _without(skill: Skill, held: Collection[str], picked: Collection[str]) -> Skill:
    summary = _cut(skill.summary, held, picked).strip() or REMOVED_TEXT
    return replace(skill, content=_cut(skill.content, held, picked), summary=summary)


def _cut(text: str, held: Collection[str], picked: Collection[str]) -> str:
    """Return *text* without sentences that are *picked* or hold one of *held*, and without lines of nothing else."""
    lines: list[str] = []

    def kept(sentence: re.Match[str]) -> str:
        said = normalise(sentence.group())
        return "" if said in picked or any(one in said for one in held) else sentence.group()

    for line in text.splitlines(keepends=True):
        start = _after_mark(line)
        left = line[:start] + SENTENCE.sub(kept, line[start:]).removeprefix(" " * bool(start))
        if left == line or left.strip(" \t\r\n-*+#>0123456789.)"):
            lines.append(left)
    return "".join(lines)
