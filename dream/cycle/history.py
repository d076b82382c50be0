"""Explains why an entry or a skill is as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcore.domain.memory import SourceKind, Status
from agentcore.domain.records import RecordKind, entry_json, to_image
from agentcore.errors import UnknownRecordError
from dream.stores import dream_stores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentcore.domain.conversation import Turn
    from agentcore.domain.memory import MemoryEntry
    from agentcore.domain.skill import Skill
    from agentcore.stores.storage import ReadView
    from agentcore.stores.values import RecordWrite
    from dream.domain.change import JournalRow

_DEPTH = 32
"""Hops that provenance is followed; chains of merges stay far below."""


@dataclass(frozen=True, slots=True)
class EntryHistory:
    """Why an entry is as it is.

    Args:
        entry_id: The entry.
        entry: As it is now, with the sentences it rests on; None if it was purged or forgotten.
        writes: Who wrote it without a run, the earliest first.
        rows: What runs did to it, oldest first.
        asked_by: Who asked for each of these runs, as far as it is known.
        ancestors: Entries it was made of, nearest first, in whatever state.
        turns: The turns it goes back to, in the order they were said.
        descendants: Entries made of it.
    """

    entry_id: str
    entry: MemoryEntry | None
    writes: tuple[RecordWrite, ...]
    rows: tuple[JournalRow, ...]
    asked_by: Mapping[str, str]
    ancestors: tuple[MemoryEntry, ...]
    turns: tuple[Turn, ...]
    descendants: tuple[MemoryEntry, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the document that `dream why --json` prints."""
        return {
            "id": self.entry_id,
            "entry": None if self.entry is None else entry_json(self.entry),
            "verdict": None if self.entry is None else self.entry.verdict.value,
            "writes": [write.to_json() for write in self.writes],
            "history": _history(self.rows),
            "asked_by": dict(sorted(self.asked_by.items())),
            "ancestors": [to_image(entry) for entry in self.ancestors],
            "turns": [to_image(turn) for turn in self.turns],
            "descendants": [to_image(entry) for entry in self.descendants],
        }


def read_entry_history(view: ReadView, entry_id: str) -> EntryHistory:
    """Return the history of the entry *entry_id*, or what the journal holds of one that is gone.

    Raises:
        UnknownRecordError: there is no such entry, and nothing is known of one.
    """
    entry = view.entries.get(entry_id)
    ancestors = _ancestors(view, entry) if entry else []
    family = [entry, *ancestors] if entry else []
    turn_ids = {ref.id for member in family for ref in member.sources if ref.kind is SourceKind.TURN}
    turns = sorted(view.turns.get_many(turn_ids), key=lambda turn: (turn.occurred_at, turn.id))
    rows = tuple(dream_stores(view).journal.of_record(entry_id))
    descendants = tuple(view.entries.derived_from(SourceKind.ENTRY.value, entry_id))
    if entry is None and not (rows or descendants):
        raise UnknownRecordError(kind="entry", value=entry_id)
    return EntryHistory(
        entry_id=entry_id,
        entry=entry,
        writes=tuple(view.authorship.of_record(RecordKind.ENTRY, entry_id)),
        rows=rows,
        asked_by=dream_stores(view).runs.actors({row.run_id for row in rows}),
        ancestors=tuple(ancestors),
        turns=tuple(turns),
        descendants=descendants,
    )


def _ancestors(view: ReadView, entry: MemoryEntry) -> list[MemoryEntry]:
    found: dict[str, MemoryEntry] = {}
    front = [entry]
    for _ in range(_DEPTH):
        ids = {ref.id for member in front for ref in member.sources if ref.kind is SourceKind.ENTRY}
        ids |= {absorbed for member in front for absorbed, _ in member.absorbed}
        front = view.entries.get_many(ids - set(found) - {entry.id})
        if not front:
            break
        found.update({member.id: member for member in front})
    return list(found.values())


def _history(rows: Sequence[JournalRow]) -> list[dict[str, Any]]:
    return [{**row.to_json(), "run_id": row.run_id, "actor": row.actor} for row in rows]


@dataclass(frozen=True, slots=True)
class SkillHistory:
    """Why a skill is as it is.

    Args:
        name: The skill.
        skill: The active one of that name; None if it is retired.
        former: The retired ones of that name, texts that a rewrite kept among them, in the order they were written.
        writes: Who wrote it without a run, the earliest first.
        rows: The changes in which it had a part, whole, oldest first.
        asked_by: Who asked for each of these runs, as far as it is known.
    """

    name: str
    skill: Skill | None
    former: tuple[Skill, ...]
    writes: tuple[RecordWrite, ...]
    rows: tuple[JournalRow, ...]
    asked_by: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return the document that `dream why --json` prints of a skill."""
        return {
            "name": self.name,
            "skill": None if self.skill is None else to_image(self.skill),
            "writes": [write.to_json() for write in self.writes],
            "history": _history(self.rows),
            "asked_by": dict(sorted(self.asked_by.items())),
            "former": [to_image(skill) for skill in self.former],
        }


def read_skill_history(view: ReadView, name_or_id: str) -> SkillHistory:
    """Return the history of a skill, by its name or the beginning of an id of it.

    Raises:
        UnknownRecordError: there is no such skill, and was none.
    """
    found = view.skills.ever_named(name_or_id)
    if not found:
        skill = view.skills.get(view.skills.resolve(name_or_id))
        if skill is None:
            raise UnknownRecordError(kind="skill", value=name_or_id)
        found = view.skills.ever_named(skill.name)
    journal = dream_stores(view).journal
    mine = journal.of_records([skill.id for skill in found])
    together = dict.fromkeys((row.run_id, row.number) for row in mine)
    rows = tuple(row for run_id, number in together for row in journal.of_run(run_id, number=number))
    return SkillHistory(
        name=found[0].name,
        skill=next((skill for skill in found if skill.status is Status.ACTIVE), None),
        former=tuple(skill for skill in found if skill.status is not Status.ACTIVE),
        writes=tuple(view.authorship.of_record(RecordKind.SKILL, *sorted(skill.id for skill in found))),
        rows=rows,
        asked_by=dream_stores(view).runs.actors({row.run_id for row in rows}),
    )
