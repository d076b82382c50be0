"""Keeps and finds the procedures an agent can look up."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TypeAlias

from agentcore.domain.memory import Trust
from agentcore.domain.scope import Scope
from agentcore.domain.skill import Skill, SkillUse
from agentcore.errors import UnknownRecordError
from agentcore.hosting.checks import clean_instant, clean_limit, clean_name, clean_query, clean_text, clean_trust
from agentcore.hosting.options import SkillOptions
from agentcore.ids import IdFactory
from agentcore.recall.recall import Recall
from agentcore.recall.skills import SkillHit
from agentcore.stores.storage import Storage, UnitOfWork

Catalogue: TypeAlias = list[Skill]
SkillHits: TypeAlias = list[SkillHit]


class Skills:
    """One scope's skills; keeps nothing itself, so it may be made anew at any time.

    Args:
        scope: Whose skills they are.
        storage: Where they are kept.
        recall: Finds them.
        ids: Names new records.
        options: How far a skill is trusted.
    """

    def __init__(
        self,
        scope: Scope,
        *,
        storage: Storage,
        recall: Recall,
        ids: IdFactory,
        options: SkillOptions | None = None,
    ) -> None:
        self._scope = scope
        self._storage = storage
        self._recall = recall
        self._ids = ids
        self._options = options or SkillOptions()

    @property
    def scope(self) -> Scope:
        """Whose skills they are."""
        return self._scope

    async def save(
        self,
        name: str,
        *,
        summary: str,
        content: str,
        see_also: Iterable[str] = (),
        trust: Trust | None = None,
    ) -> Skill:
        """Write a skill; an active one of that name is rewritten and keeps its id and its dates.

        Args:
            name: Slash path such as `mcp/email`.
            summary: One line for the catalogue.
            content: The procedure in Markdown.
            see_also: Names of related skills.
            trust: How far its origin is trusted; None is what the options say.

        Returns:
            The skill as it is now stored.

        Raises:
            InvalidContentError: something cannot be stored; nothing was.
        """
        draft = partial(
            Skill,
            scope=self._scope,
            name=clean_name("skill name", name),
            summary=clean_name("summary", summary),
            content=clean_text("content", content),
            see_also=tuple(sorted({clean_name("related skill", other) for other in see_also})),
            trust=self._options.trust if trust is None else clean_trust(trust),
        )
        return await self._storage.write(self._scope, partial(self._save, draft))

    async def get(self, name: str) -> Skill | None:
        """Return the active skill of that name, or None."""
        return await self._storage.read(self._scope, lambda view: view.skills.named(name))

    async def use(self, name: str, *, session_id: str, occurred_at: datetime | None = None) -> Skill:
        """Return the active skill of that name and note that it was used.

        Args:
            name: Which one.
            session_id: The conversation in which it is used.
            occurred_at: When, aware; None is now.

        Raises:
            UnknownRecordError: no active skill has this name.
        """
        session, used_at = clean_name("session id", session_id), clean_instant(occurred_at)

        def work(unit: UnitOfWork) -> Skill:
            skill = unit.skills.named(name)
            if skill is None:
                raise UnknownRecordError(kind="skill", value=name)
            at = used_at or unit.now
            use = SkillUse(
                id=self._ids.new(),
                scope=self._scope,
                skill_name=skill.name,
                session_id=session,
                occurred_at=at,
                recorded_at=unit.now,
            )
            unit.skill_uses.append([use])
            unit.skills.replace(skill, replace(skill, last_used_at=max(skill.last_used_at or at, at)))
            return unit.skills.named(name) or skill

        return await self._storage.write(self._scope, work)

    async def recall(self, query: str, k: int = 5) -> SkillHits:
        """Return the *k* active skills that answer *query* best, best first.

        A word of a skill's name counts three times, one of its summary twice, one of its content once.

        Args:
            query: What is to be done; one without a word finds nothing.
            k: How many at most, 1 or more.

        Raises:
            InvalidOptionsError: *k* is below 1, or the query is no text.
        """
        return await self._recall.skills.search(self._scope, clean_query(query), k=clean_limit(k))

    async def list(self, *, prefix: str = "") -> Catalogue:
        """Return the active skills whose name starts with *prefix*, by name."""
        return await self._storage.read(self._scope, lambda view: view.skills.catalogue(prefix=prefix))

    def _save(self, draft: partial[Skill], unit: UnitOfWork) -> Skill:
        new = draft(id=self._ids.new(), created_at=unit.now)
        known = unit.skills.named(new.name)
        if known is None:
            unit.skills.add(new)
            return unit.skills.named(new.name) or new
        rewritten = replace(
            known,
            summary=new.summary,
            content=new.content,
            see_also=new.see_also,
            trust=new.trust,
        )
        if rewritten != known:
            unit.skills.replace(known, replace(rewritten, updated_at=unit.now))
        return unit.skills.named(known.name) or known
