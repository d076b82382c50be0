"""A library of skills to dream on, with a model that answers what a test wishes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import orjson
from dreaming import World
from rereading import Denial, is_second_reading, nothing, reread

from agentcore.domain import Feedback, FeedbackKind, Rating, Skill, SkillUse, Status, Turn
from agentcore.llm import ChatRequest, ChatRequestRefusedError
from agentcore.testing import ScriptedChatClient
from dream.domain import PassReport
from dream.options import DreamOptions
from dream.passes.skills.consolidation import SkillConsolidation
from dream.passes.skills.gaps import SkillGaps
from dream.passes.skills.optimization import SkillOptimization

Reply = Mapping[str, Any] | str | Exception | Callable[[str], Any]

LONG = "1. Open the tool.\n2. Check what it says.\n" + "3. Write the outcome down with its date, for others.\n" * 6
"""A procedure that is not sparse."""
NOTHING: Mapping[str, Any] = {"toSave": [], "toDelete": []}


@dataclass
class Library:
    """Skills of a world, and a model beside it; the replies are given in turn, the last one for ever."""

    world: World
    replies: list[Reply] = field(default_factory=list[Reply])
    prompts: list[str] = field(default_factory=list[str])
    denies: Denial = nothing
    """What the second reading of the next run denies."""
    is_reading: bool = True
    """Whether there is anybody to read a second time."""
    reread: list[str] = field(default_factory=list[str])
    """The second readings of the latest run."""

    async def skill(self, name: str, content: str = LONG, **fields: Any) -> Skill:
        """Store a skill that is a month old, unless told otherwise."""
        given: dict[str, Any] = {"summary": f"How to do {name}", "created_at": self.now - timedelta(days=30)}
        made = Skill(id=self.world.ids.new(), scope=self.world.scope, name=name, content=content, **(given | fields))
        await self.world.write(lambda unit: unit.skills.add(made))
        return await self.get(made)

    async def get(self, skill: Skill | str) -> Skill:
        skill_id = skill if isinstance(skill, str) else skill.id
        found = await self.world.storage.read(self.world.scope, lambda view: view.skills.get(skill_id))
        assert found is not None
        return found

    async def named(self, name: str) -> Skill | None:
        return await self.world.storage.read(self.world.scope, lambda view: view.skills.named(name))

    async def names(self) -> list[str]:
        found = await self.world.storage.read(self.world.scope, lambda view: view.skills.catalogue())
        return [skill.name for skill in found]

    async def everything(self) -> list[Skill]:
        """Every skill in whatever state, by id."""

        def read(view: Any) -> list[Skill]:
            return [record for record in view.records() if isinstance(record, Skill)]

        return sorted(await self.world.storage.read(self.world.scope, read), key=lambda skill: skill.id)

    async def retired(self) -> list[Skill]:
        return [skill for skill in await self.everything() if skill.status is not Status.ACTIVE]

    async def used(self, name: str, *sessions: str, at: datetime | None = None) -> None:
        """Note a use of a skill in each session, a day ago unless told otherwise."""
        when = at or self.now - timedelta(days=1)
        uses = [
            SkillUse(
                id=self.world.ids.new(),
                scope=self.world.scope,
                skill_name=name,
                session_id=session,
                occurred_at=when,
                recorded_at=when,
            )
            for session in sessions
        ]
        await self.world.write(lambda unit: unit.skill_uses.append(uses))

    async def feedback(
        self,
        session: str,
        kind: FeedbackKind = FeedbackKind.CORRECTION,
        summary: str = "No, ask me first.",
        *,
        rating: Rating | None = None,
        at: datetime | None = None,
    ) -> None:
        when = at or self.now - timedelta(hours=1)
        row = Feedback(
            id=self.world.ids.new(),
            scope=self.world.scope,
            session_id=session,
            kind=kind,
            summary=summary,
            rating=rating,
            occurred_at=when,
            recorded_at=when,
        )
        await self.world.write(lambda unit: unit.feedback.append([row]))

    async def said(self, session: str, *contents: str, role: str = "user", **fields: Any) -> list[Turn]:
        """Log turns of a session, a second apart."""
        turns = [
            Turn(
                id=self.world.ids.new(),
                scope=self.world.scope,
                session_id=session,
                role=role,
                content=content,
                occurred_at=self.now + timedelta(seconds=place),
                recorded_at=self.now,
                **fields,
            )
            for place, content in enumerate(contents)
        ]
        await self.world.write(lambda unit: unit.turns.add(turns))
        return turns

    @property
    def now(self) -> datetime:
        return self.world.clock.now()

    async def pass_time(self, **time: float) -> None:
        self.world.clock.advance(timedelta(**time))

    async def gaps(self, *replies: Reply) -> PassReport:
        return await self.run(SkillGaps(), *replies)

    async def consolidate(self, *replies: Reply) -> PassReport:
        return await self.run(SkillConsolidation(), *replies)

    async def optimize(self, *replies: Reply) -> PassReport:
        return await self.run(SkillOptimization(), *replies)

    async def run(self, dream_pass: Any, *replies: Reply) -> PassReport:
        """Run one pass; what the model is asked is kept in `prompts`, of the latest run alone."""
        self.replies[:] = replies
        self.prompts.clear()
        self.reread.clear()
        world = replace(self.world, chat=ScriptedChatClient(self._script()))
        return (await world.run_passes(dream_pass)).passes[0]

    def _script(self) -> Iterable[Any]:
        place = 0

        def reply(request: ChatRequest) -> Any:
            nonlocal place
            question = request.messages[-1].content
            if is_second_reading(question):
                if not self.is_reading:
                    return ChatRequestRefusedError(model="m", status=400, code="")
                self.reread.append(question)
                return reread(question, self.denies)
            self.prompts.append(request.messages[-1].content)
            prompt = request.messages[1].content
            given = self.replies[min(place, len(self.replies) - 1)] if self.replies else NOTHING
            place += 1
            answer = given(prompt) if callable(given) else given
            return orjson.dumps(answer).decode() if isinstance(answer, Mapping) else answer

        while True:
            yield reply


def with_options(world: World, **options: Any) -> World:
    """A world with other options."""
    return replace(world, options=DreamOptions(**options))


def handle_of(prompt: str, name: str) -> str:
    """The handle under which a prompt shows a skill."""
    quoted = orjson.dumps(name).decode()
    return next(line[1 : line.index("]")] for line in prompt.splitlines() if f"] name={quoted}" in line)


def turn_of(prompt: str, text: str) -> str:
    """The handle under which a prompt shows a turn."""
    return next(line[1 : line.index("]")] for line in prompt.splitlines() if text in line and line.startswith("["))
