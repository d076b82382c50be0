"""Looks once, at a forget, for what else says the forgotten fact: in turns, entries, feedback and skills."""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Final, cast

import orjson

from agentcore.domain.conversation import Turn
from agentcore.domain.evidence import SourceKind
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.records import RecordKind
from agentcore.domain.scope import Scope
from agentcore.domain.text import normalise
from agentcore.errors import UnknownRecordError
from agentcore.llm.chat import ChatClient, ChatMessage, ChatRequest, ChatRole, estimate_tokens
from agentcore.llm.errors import ChatError
from agentcore.llm.extraction import Unreadable, extract_object
from agentcore.recall.recall import Recall
from agentcore.recall.restatements import ALIKE, StatedFact, sentences
from agentcore.stores.forgetting import SaysIt
from agentcore.stores.storage import ReadView, Storage

_log = logging.getLogger(__name__)

_TURNS: Final = 100
"""Turns that are looked at for each wording of the fact."""
_ENTRIES: Final = 50
_FEEDBACK: Final = 500
_SKILLS: Final = 20
_LONGEST: Final = 400
"""Characters of a text that the model is shown, and of a cited turn that is a wording of the fact."""
_ANSWER: Final = 1_000
_TOKENS: Final = 6_000
"""What the question to the model takes at most."""


class Likeness(StrEnum):
    """How another text says the fact."""

    EQUAL = "equal"
    NEAR = "near"
    """In much the same words."""
    ORIGIN = "origin"
    """It was learnt from the same sentence, or from the same turn where no sentence is known."""
    MODEL = "model"
    """In other words, as the model reads them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restatement:
    """Something else that says what a person wants forgotten.

    Args:
        kind: Whether it is a turn, an entry, feedback or a skill.
        id: Its id.
        text: What goes if it is chosen: of a turn or a skill the sentences that say it, all of an entry or feedback.
        speaker: Who said it, if that is known.
        name: The name of a skill.
        said_at: When a turn was said.
        likeness: How it says it.
        score: How alike the words are, 0 to 1.
    """

    kind: SourceKind | RecordKind
    id: str
    text: str
    speaker: str | None
    name: str | None = None
    said_at: datetime | None = None
    likeness: Likeness
    score: float


def says_it(found: Iterable[Restatement]) -> SaysIt:
    """Return what a forget takes of what was found."""
    chosen = list(found)
    return SaysIt(
        turns={one.id: (one.text,) for one in chosen if one.kind is SourceKind.TURN},
        entries=tuple(one.id for one in chosen if one.kind is SourceKind.ENTRY),
        feedback=tuple(one.id for one in chosen if one.kind is SourceKind.FEEDBACK),
        skills={one.id: (one.text,) for one in chosen if one.kind is RecordKind.SKILL},
    )


@dataclass(frozen=True, slots=True)
class _Said:
    kind: SourceKind | RecordKind
    id: str
    text: str
    speaker: str | None = None
    name: str | None = None
    said_at: datetime | None = None

    @property
    def is_cut(self) -> bool:
        """Whether the sentences alone go that say it."""
        return self.kind in {SourceKind.TURN, RecordKind.SKILL}


class RestatementFinder:
    """Finds what else says a fact; keeps nothing, lives as long as the host.

    Args:
        storage: Where the records are.
        recall: Finds those that may say it.
        chat: The model, asked once for each search; None leaves it to the words alone. Neither question nor answer is
            stored.
    """

    def __init__(self, storage: Storage, *, recall: Recall, chat: ChatClient | None = None) -> None:
        self._storage = storage
        self._recall = recall
        self._chat = chat

    async def find(self, scope: Scope, entry_id: str) -> tuple[Restatement, ...]:
        """Return what else says what an entry says, the most alike first.

        Turns that the entry cites are not among them: they go with it anyway.

        Raises:
            UnknownRecordError: no entry has this id.
        """
        entry, fact, cited, beside = await self._storage.read(scope, lambda view: _fact(view, entry_id))
        known = {entry.id, *cited, *(one.id for one in beside)}
        talk = [] if self._chat is None else await self._storage.read(scope, lambda view: _talk(view, cited))
        candidates = await self._candidates(scope, fact, talk, known)
        found = [_judged(fact, one) for one in candidates]
        near = [one for one in found if _says_it(one)]
        if self._chat is not None:
            # Whoever says a fact again in other words often does so in the same talk: that is shown after what is near.
            said = {turn.id for turn in talk}
            order = sorted(found, key=lambda one: (not _says_it(one), one.id not in said, -one.score))
            near = await self._asked(self._chat, fact, order, near)
        return tuple(sorted([*map(_of_same_origin, beside), *near], key=lambda one: (-one.score, one.kind, one.id)))

    async def _candidates(self, scope: Scope, fact: StatedFact, talk: Iterable[Turn], known: set[str]) -> list[_Said]:
        found = {turn.id: _of_turn(turn) for turn in talk}
        for text in fact.texts:
            for hit in await self._recall.turns.search(scope, text, k=_TURNS):
                found.setdefault(hit.turn.id, _of_turn(hit.turn))
            for match in await self._recall.search(scope, text, k=_ENTRIES):
                entry = match.entry
                found.setdefault(entry.id, _Said(SourceKind.ENTRY, entry.id, entry.content))
            for known_as in await self._recall.skills.search(scope, text, k=_SKILLS):
                skill = known_as.skill
                told = f"{skill.summary}\n{skill.content}"
                found.setdefault(skill.id, _Said(RecordKind.SKILL, skill.id, told, name=skill.name))
        noted = await self._storage.read(scope, lambda view: view.feedback.newest(limit=_FEEDBACK))
        for one in noted:
            text = f"{one.summary}\n{one.detail or ''}".strip()
            found.setdefault(one.id, _Said(SourceKind.FEEDBACK, one.id, text))
        return [one for one in found.values() if one.id not in known]

    async def _asked(
        self, chat: ChatClient, fact: StatedFact, found: Sequence[Restatement], near: list[Restatement]
    ) -> list[Restatement]:
        """Return what the model reads as saying the fact, and what is equal; what words alone find if it fails."""
        shown = _fitting(piece for one in found for piece in _pieces(one))
        lines = [
            orjson.dumps({"number": number, "speaker": one.speaker or "unknown", "text": one.text[:_LONGEST]}).decode()
            for number, one in enumerate(shown, start=1)
        ]
        told = f"The fact: {fact.texts[0]}\n\n<texts>\n" + "\n".join(lines) + "\n</texts>"
        messages = (ChatMessage(ChatRole.SYSTEM, _directive()), ChatMessage(ChatRole.USER, told))
        try:
            answer = await chat.complete(ChatRequest(messages=messages, max_output_tokens=_ANSWER, purpose="forget"))
        except ChatError as error:
            _log.warning("restatements_not_read", extra={"error": type(error).__name__})
            return near
        read = extract_object(answer.text)
        if isinstance(read, Unreadable) or not isinstance(read.get("says"), list):
            _log.warning("restatements_not_read", extra={"error": "unreadable"})
            return near
        numbers = set(cast("list[object]", read["says"]))
        said = [_by_model(one) for number, one in enumerate(shown, start=1) if number in numbers]
        unseen = [one for one in near if one not in shown or one.likeness is Likeness.EQUAL]
        return [*_joined(said), *(one for one in unseen if one.id not in {told.id for told in said})]


def _fact(view: ReadView, entry_id: str) -> tuple[MemoryEntry, StatedFact, set[str], list[MemoryEntry]]:
    entry = view.entries.get(entry_id)
    if entry is None:
        raise UnknownRecordError(kind="entry", value=entry_id)
    cited = {ref.id for ref in entry.sources if ref.kind is SourceKind.TURN}
    turns = view.turns.get_many(cited)
    said = [one.sentence for one in entry.evidence]
    said += [turn.content for turn in turns if not said and len(turn.content) <= _LONGEST]
    people = {turn.speaker for turn in turns if turn.speaker} | {one.speaker for one in entry.evidence if one.speaker}
    return (
        entry,
        StatedFact((entry.content, *dict.fromkeys(said)), tuple(sorted(people))),
        cited,
        _beside(view, entry, cited),
    )


def _beside(view: ReadView, entry: MemoryEntry, cited: Collection[str]) -> list[MemoryEntry]:
    """Return other entries that were learnt from the same sentences."""
    mine = {(one.source, one.sentence) for one in entry.evidence}
    found: list[MemoryEntry] = []
    for one in view.entries.derived_from(SourceKind.TURN.value, *sorted(cited)) if cited else ():
        rests_on = {(piece.source, piece.sentence) for piece in one.evidence}
        is_of_it = not mine.isdisjoint(rests_on) if mine and rests_on else {ref.id for ref in one.sources} <= {*cited}
        if one.id != entry.id and is_of_it:
            found.append(one)
    return found


def _of_same_origin(one: MemoryEntry) -> Restatement:
    return Restatement(
        kind=SourceKind.ENTRY, id=one.id, text=one.content, speaker=None, likeness=Likeness.ORIGIN, score=1.0
    )


def _judged(fact: StatedFact, one: _Said) -> Restatement:
    score, where = fact.likeness(one.text, one.speaker)
    wanted = {normalise(text) for text in fact.texts}
    is_equal = normalise(one.text) in wanted
    return Restatement(
        kind=one.kind,
        id=one.id,
        text=where if score >= ALIKE and not is_equal and one.is_cut else one.text,
        speaker=one.speaker,
        name=one.name,
        said_at=one.said_at,
        likeness=Likeness.EQUAL if is_equal else Likeness.NEAR,
        score=1.0 if is_equal else round(score, 3),
    )


def _says_it(one: Restatement) -> bool:
    return one.score >= ALIKE or one.likeness is Likeness.EQUAL


def _of_turn(turn: Turn) -> _Said:
    return _Said(SourceKind.TURN, turn.id, turn.content, turn.speaker, said_at=turn.occurred_at)


def _talk(view: ReadView, cited: Collection[str]) -> list[Turn]:
    """Return what was said in the sessions of these turns, up to a bound."""
    sessions = {turn.session_id for turn in view.turns.get_many(cited)}
    return [turn for one in sorted(sessions) for turn in view.turns.session(one, limit=_TURNS)]


def _by_model(one: Restatement) -> Restatement:
    if one.likeness is Likeness.EQUAL or one.score >= ALIKE:
        return one
    return replace(one, likeness=Likeness.MODEL)


def _pieces(one: Restatement) -> list[Restatement]:
    """Return the sentences of a skill that words do not find: the model reads each, and those that it names go."""
    if one.kind is not RecordKind.SKILL or _says_it(one):
        return [one]
    return [replace(one, text=sentence) for sentence in sentences(one.text)]


def _joined(said: Iterable[Restatement]) -> list[Restatement]:
    """Return what the model named, the sentences of one skill together."""
    found: dict[str, Restatement] = {}
    for one in said:
        before = found.get(one.id)
        found[one.id] = one if before is None else replace(before, text=f"{before.text}\n{one.text}")
    return list(found.values())


def _fitting(found: Iterable[Restatement]) -> list[Restatement]:
    left, shown = _TOKENS, list[Restatement]()
    for one in found:
        left -= estimate_tokens(one.text[:_LONGEST]) + 20
        if left < 0:
            break
        shown.append(one)
    return shown


@cache
def _directive() -> str:
    return files("agentcore.hosting").joinpath("says_it.md").read_text("utf-8")
