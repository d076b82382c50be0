"""Conclusions for tests: a pass that draws what a test wishes, and what must hold of all of them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson
from dreaming import VerifyingChatClient, World

from agentcore.domain import (
    Capability,
    Confidence,
    Level,
    MemoryEntry,
    Pattern,
    Premise,
    SourceKind,
    SourceRef,
    Status,
    Trust,
)
from agentcore.domain.conclusion import confidence_of, footing_of
from agentcore.domain.text import fold_key
from dream.domain import Change, ChangeSet, Notes, Proposal, Work
from dream.passes import DreamContext
from dream.passes.inference_checks import true_conclusions


def premise_of(entry: MemoryEntry, **fields: Any) -> Premise:
    """Return what rests on an entry as it is, said in a session of its own."""
    return Premise(entry.id, fold_key(entry.content), entry.created_at, f"s-{entry.id}", **fields)


def concluded(world: World, content: str, premises: Sequence[Premise], **fields: Any) -> MemoryEntry:
    """Return a deduction from premises, or the pattern that *fields* say."""
    sources = tuple(sorted({SourceRef(SourceKind.ENTRY, one.entry_id) for one in premises}))
    resting = {"premises": tuple(sorted(premises)), "sources": sources, "trust": Trust.INFERRED}
    return world.entry(content, **({"level": Level.DEDUCTIVE} | resting | fields))


def pattern(world: World, content: str, premises: Sequence[Premise], **fields: Any) -> MemoryEntry:
    """Return a pattern over premises, as sure as these make it."""
    told = {"level": Level.INDUCTIVE, "pattern": Pattern.BEHAVIOR}
    sure = confidence_of(premises) or Confidence.LOW
    return concluded(world, content, premises, **(told | {"confidence": sure} | fields))


class InferringChatClient(VerifyingChatClient):
    """A scripted model that finds that what it concluded itself follows, and nothing else does."""

    def reading(self, prompt: str) -> str:
        if '"follows"' not in prompt:
            return super().reading(prompt)
        records = dict(re.findall(r'^\[(r\d+)\].*?("(?:[^"\\]|\\.)*")$', prompt, re.MULTILINE))
        asked = re.findall(r'^\[([s-z]\d+)\] ((?:r\d+ ?)+)[^"\n]*: ("(?:[^"\\]|\\.)*")$', prompt, re.MULTILINE)
        known = {*self._written, *map(plain, true_conclusions())}
        found = []
        for handle, cited, quoted in asked:
            text = plain(orjson.loads(quoted))
            follows = text in known or text.startswith("these cannot both be true")
            is_denied = any(plain(part) in text for part in self._denies)
            quotes = [orjson.loads(records[one]) for one in cited.split()]
            reading = "follows" if follows and not is_denied else "may"
            found.append({"id": handle, "reading": reading, "quotes": quotes})
        return orjson.dumps({"readings": found}).decode()


def plain(text: str) -> str:
    return " ".join(text.split()).casefold()


@dataclass
class Concluding:
    """Adds conclusions as a dream does."""

    new: Sequence[MemoryEntry]

    name: ClassVar[str] = "concluding"
    requires: ClassVar[frozenset[Capability]] = frozenset()

    async def has_work(self, _context: DreamContext) -> Work:
        return Work(1)

    async def propose(self, _context: DreamContext) -> Proposal:
        sets = [
            ChangeSet(operation="conclude", changes=(Change[MemoryEntry](before=None, after=one, reason="it follows"),))
            for one in self.new
        ]
        return Proposal(change_sets=tuple(sets))

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        return notes[-1]


async def expect_true(world: World) -> None:
    """Fail if a live conclusion rests on less than it needs, or one that lacks nothing is set aside."""
    entries = {entry.id: entry for entry in await world.entries()}

    def is_live(premise: Premise) -> bool:
        found = entries.get(premise.entry_id)
        if found is None or fold_key(found.content) != premise.text_key:
            return False
        for _ in range(9):
            if found is None:
                return False
            if found.is_active or (premise.past and found.valid_until is not None):
                return True
            found = _heir(entries, found, entries[premise.entry_id])
        return False

    for entry in entries.values():
        if entry.is_conclusion and (entry.is_active or entry.lost_premises):
            footing = footing_of(entry.premises, is_live, is_pattern=entry.level is Level.INDUCTIVE)
            assert entry.is_active is footing.stands, entry
            assert not entry.is_active or entry.confidence is footing.confidence, entry


def _heir(entries: Mapping[str, MemoryEntry], gone: MemoryEntry, first: MemoryEntry) -> MemoryEntry | None:
    """Return what an entry was folded or merged into, if that tells what the *first* one of the chain said."""
    heir = entries.get(gone.successor or "")
    if heir is None or fold_key(heir.content) == fold_key(first.content):
        return heir
    observed = {first.id} if first.own_count else {entry_id for entry_id, _ in first.absorbed}
    took_over = gone.status is Status.ARCHIVED and observed <= {entry_id for entry_id, _ in heir.absorbed}
    said = {(one.source, one.sentence) for one in first.evidence}
    kept = {(one.source, one.sentence) for one in heir.evidence}
    own = SourceRef(SourceKind.ENTRY, first.id)
    return heir if took_over and (said <= kept if said else own in {source for source, _ in kept}) else None
