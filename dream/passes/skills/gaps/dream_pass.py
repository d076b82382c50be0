"""Runs the pass skill-gaps: writes skills for what users ask for again and again and no skill covers."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentcore.domain.conversation import Turn
from agentcore.llm.chat import ChatRequest, estimate_tokens
from agentcore.stores.storage import ReadView
from agentcore.stores.values import TurnMaterial
from dream.domain.built_in_passes import SKILL_GAPS
from dream.domain.change import ChangeSet
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, NextRound, Round
from dream.domain.step import Batch, Packing
from dream.passes.conversation.turn_pass import SessionExcerpt
from dream.passes.declared import DeclaredPass
from dream.passes.exchange_state import Item
from dream.passes.prompts import ReaderPart
from dream.passes.protocol import ModelContext, RunMemo
from dream.passes.skills.answers import NewSkillDraft, read_skills
from dream.passes.skills.gaps.judging import NewSkill, SkillRules, change_set, judge
from dream.passes.skills.gaps.packing import PromptRoom, packed, with_openings
from dream.passes.skills.gaps.prompt import Catalogue, Openings, OpeningTurn, frame, opening_turns, part, question
from dream.passes.skills.skill_names import clean_skill_name
from dream.passes.terms import CUTTER
from dream.passes.verified_exchange import VerifiedExchange

_LIST = "toSave"
_ROLES = frozenset({"user", "assistant"})
_SHARE = 5
"""A fifth of a prompt at most goes to the first messages of other sessions, another to the catalogue."""
_TERM_TOKENS = 24


@dataclass(frozen=True, slots=True)
class _Background:
    """What every question of a run stands before: how sessions began, and the skills there are."""

    openings: Openings
    catalogue: Catalogue


class SkillGaps(DeclaredPass, declaration=SKILL_GAPS):
    """Reads what was said since it last looked, beside how earlier sessions began, and has missing skills written.

    Lives as long as the process, for all scopes; of the latest runs it remembers how sessions began, and the catalogue.
    """

    def __init__(self) -> None:
        self._background = RunMemo[_Background]()

    async def has_work(self, context: ModelContext) -> Work:
        """Every turn that nobody has consumed and that it has not read is work."""
        return Work(await _pending(context))

    async def pack(self, context: ModelContext) -> Packing:
        """Take the oldest new turns, by session, and what other sessions began with."""
        material, turns, gone = await context.read(lambda view: _next_material(view, context))
        sessions = _sessions(material, turns)
        openings = (await self._background.of(context, lambda: _background(context))).openings
        batches, refused = await asyncio.to_thread(packed, sessions, openings, _room(context))
        asked = {turn_id for batch in batches for turn_id in batch.member_ids}
        return Packing(
            batches=batches,
            cursor=max([context.cursor, *(item.position for item in material)]),
            looked_at=tuple(sorted(gone | (turns.keys() - asked))),
            refused=refused,
            backlog=max(0, await _pending(context) - len(material)),
            notes={"turns": sum(map(len, sessions)), "sessions": len(sessions)},
        )

    def finds_work(self, said: Sequence[Turn]) -> bool:
        """Tell whether an assistant and somebody who asks it for something speak in these turns."""
        return {"user", "assistant"} <= {turn.role for turn in said}

    async def surround(
        self, context: ModelContext, batches: Sequence[Batch], sessions: Sequence[SessionExcerpt], room: int
    ) -> Sequence[Batch]:
        """Return those batches in which something recurs, with how sessions like theirs began."""
        said = {turn.id: turn for session in sessions for turn in session.turns}
        openings = (await self._background.of(context, lambda: _background(context))).openings
        terms = PromptRoom(new=0, earlier=room, most_earlier=context.options.skill_gaps.earlier)

        def found() -> list[Batch]:
            return [
                one
                for batch in batches
                if (one := with_openings(batch, [said[key] for key in batch.member_ids], openings, terms)) is not None
            ]

        return await asyncio.to_thread(found)

    async def part(self, context: ModelContext, batch: Batch) -> ReaderPart | None:
        """Return what it adds to a question that readers share."""
        shown = await _shown(context, batch)
        if not any(one.is_new for one in shown):
            return None
        known = await self._background.of(context, lambda: _background(context))
        return await asyncio.to_thread(self._part, context, shown, known)

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask for the skills that a batch of sessions misses, have them read a second time, and repaired."""
        return await self.exchange(context, batch).next_round(rounds)

    def exchange(self, context: ModelContext, batch: Batch) -> VerifiedExchange[NewSkill]:
        """Return what leads the exchange about a batch."""

        async def question(cited: frozenset[str] | None) -> ChatRequest | None:
            shown = await _shown(context, batch)
            if not any(one.is_new for one in shown):
                return None
            known = await self._background.of(context, lambda: _background(context))
            wanted = [one for one in shown if cited is None or one.handle in cited]
            return await asyncio.to_thread(self._worded, context, wanted or shown, known)

        async def judged(answer: Answer) -> tuple[Sequence[Item[NewSkill]], Sequence[Refusal]]:
            return await self._judged(context, batch, answer)

        return VerifiedExchange(context=context, batch=batch, name=_LIST, question=question, judge=judged)

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Write the skills that hold; each refusal stands for itself."""
        outcome = await self.exchange(context, batch).outcome(rounds)
        if outcome.waits or any(refusal.code == Refused.BROKEN_ANSWER for refusal in outcome.refused):
            return Proposal(refused=outcome.refused, waits=outcome.waits)
        present = {one.turn.id for one in await _shown(context, batch)}
        return Proposal(
            change_sets=tuple(change_set(one.value) for one in outcome.settled),
            for_review=tuple(change_set(one.value) for one in outcome.for_review),
            refused=(*outcome.refused, *outcome.unread),
            notes=outcome.notes,
            # Of a turn that is gone nothing is left to read.
            looked_at=await _settled(context, batch, present),
        )

    async def _judged(
        self, context: ModelContext, batch: Batch, answer: Answer
    ) -> tuple[Sequence[Item[NewSkill]], Sequence[Refusal]]:
        read = read_skills(answer, NewSkillDraft)
        if isinstance(read, Refusal):
            return [], [read]
        shown = await _shown(context, batch)
        names = {clean_skill_name(draft.name) for draft in read.saves} | {draft.name.strip() for draft in read.saves}
        known = await self._background.of(context, lambda: _background(context))
        taken = await context.read(lambda view: view.skills.taken(names))
        terms = SkillRules(
            shown={one.handle: one for one in shown},
            handles=frozenset(f"t{place}" for place in range(1, len(batch.record_ids) + 1)),
            taken=known.catalogue.names | {name.casefold() for name in taken},
            vocabulary=context.vocabulary,
            as_of=context.as_of,
            new_id=context.new_id,
        )
        items, refused = await asyncio.to_thread(judge, read.saves, terms)
        return items, [*read.refused, *refused]

    def made(self, change_sets: Sequence[ChangeSet]) -> Notes:
        """Count the skills that were written."""
        return {"written": len(change_sets)}

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over packing and batches."""
        return summed(notes, "turns", "sessions", "written", "repairs", "repaired")

    def _worded(self, context: ModelContext, shown: Sequence[OpeningTurn], known: "_Background") -> ChatRequest:
        beside = _beside(context, shown, known)
        return question(context, shown, **beside, directives=self.instructions, purpose=self.name)

    def _part(self, context: ModelContext, shown: Sequence[OpeningTurn], known: "_Background") -> ReaderPart:
        beside = _beside(context, shown, known)
        return part(context, **beside, directives=self.instructions, reader=self.name)


def _beside(context: ModelContext, shown: Sequence[OpeningTurn], known: _Background) -> dict[str, Any]:
    """Return what a question shows beside the turns, as arguments of `question`."""
    new = {one.turn.session_id for one in shown if one.is_new}
    texts = [one.turn.content for one in shown if one.turn.role == "user"]
    openings = known.openings.with_turns(one.turn for one in shown)
    listed = known.catalogue.shown(texts, room=context.options.model.prompt_tokens // _SHARE)
    return {
        "recurring": openings.recurring(new, most=context.options.skill_gaps.terms),
        "openings": openings,
        "skills": listed,
        "hidden": len(known.catalogue.skills) - len(listed),
    }


async def _background(context: ModelContext) -> _Background:
    most = context.options.skill_gaps.sessions
    said, skills = await context.read(lambda view: (view.turns.openings(limit=most), view.skills.catalogue()))
    # Thousands of first messages and skills are cut into words.
    return await asyncio.to_thread(lambda: _Background(Openings.of(said, CUTTER), Catalogue(skills)))


def _room(context: ModelContext) -> PromptRoom:
    terms, prompt = context.options.skill_gaps, context.options.model.prompt_tokens
    share = prompt // _SHARE
    taken = estimate_tokens(frame(context.marker)) + terms.terms * _TERM_TOKENS + 2 * share
    return PromptRoom(new=max(0, prompt - taken), earlier=share, most_earlier=terms.earlier)


async def _pending(context: ModelContext) -> int:
    return await context.read(lambda view: view.turns.count_material(after=context.cursor, also=context.reopened))


def _next_material(view: ReadView, context: ModelContext) -> tuple[list[TurnMaterial], dict[str, Turn], set[str]]:
    """Return what to read, those turns, and reopened ids of which nothing is left to read."""
    limit = context.options.skill_gaps.max_turns
    material = view.turns.material(after=context.cursor, also=context.reopened, limit=limit)
    turns = {turn.id: turn for turn in view.turns.get_many([item.id for item in material])}
    reopened = {turn.id: turn for turn in view.turns.get_many(context.reopened)}
    gone = {one for one in context.reopened if one not in reopened or reopened[one].consumed_at is not None}
    return material, turns, gone


def _sessions(material: Sequence[TurnMaterial], turns: Mapping[str, Turn]) -> list[list[Turn]]:
    """Group what was said by session, in the order it was said; sessions in the order of their first arrival."""
    groups: dict[str, list[Turn]] = {}
    for item in material:
        turn = turns[item.id]
        if turn.role in _ROLES and not turn.generated:
            groups.setdefault(item.session_id, []).append(turn)
    return [sorted(group, key=lambda turn: turn.occurred_at) for group in groups.values()]


async def _shown(context: ModelContext, batch: Batch) -> list[OpeningTurn]:
    stored = await context.read(lambda view: view.turns.get_many(batch.record_ids))
    return opening_turns(batch, {turn.id: turn for turn in stored})


async def _settled(context: ModelContext, batch: Batch, present: set[str]) -> tuple[str, ...]:
    """Return the members that need no second look: a turn that changed meanwhile does."""
    stored = await context.read(lambda view: {turn.id for turn in view.turns.get_many(batch.member_ids)})
    return tuple(one for one in batch.member_ids if one in present or one not in stored)


__all__ = ["SkillGaps"]
