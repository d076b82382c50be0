"""Keeps the log of what was said, as the host uses it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from textwrap import shorten
from typing import Final, TypeAlias

from agentcore.domain.conversation import ConversationSession, Turn
from agentcore.domain.filters import TurnFilter
from agentcore.domain.memory import Trust
from agentcore.domain.scope import Scope
from agentcore.domain.signals import Feedback, FeedbackKind
from agentcore.domain.text import MAX_TURN
from agentcore.errors import InvalidOptionsError
from agentcore.hosting.checks import (
    clean_instant,
    clean_limit,
    clean_member,
    clean_name,
    clean_query,
    clean_text,
    clean_trust,
    optional_name,
)
from agentcore.hosting.correction_detector import CorrectionDetector
from agentcore.hosting.forget_hooks import ForgetHooks, clear_files, preview
from agentcore.hosting.options import ConversationOptions, FeedbackOptions
from agentcore.ids import IdFactory
from agentcore.recall.recall import Recall
from agentcore.recall.turns import TurnHit
from agentcore.stores.forgetting import Forgotten
from agentcore.stores.storage import Storage, UnitOfWork
from agentcore.stores.values import PagePlace

Turns: TypeAlias = list[Turn]
TurnHits: TypeAlias = list[TurnHit]
Sessions: TypeAlias = list[ConversationSession]

_BEFORE: Final = 4
"""Turns before a correction among which the assistant has spoken."""
_SUMMARY: Final = 200


class Role(StrEnum):
    """Who speaks a turn."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


def role_trusts(options: ConversationOptions | None) -> Mapping[Role, Trust]:
    """Return how far a turn is trusted by who speaks it."""
    trusts = options or ConversationOptions()
    return {
        Role.USER: trusts.user_trust,
        Role.ASSISTANT: trusts.assistant_trust,
        Role.SYSTEM: trusts.system_trust,
        Role.TOOL: trusts.tool_trust,
    }


class Conversation:
    """One scope's conversation log; keeps nothing itself, so it may be made anew at any time.

    Args:
        scope: Whose conversations they are.
        storage: Where they are kept.
        recall: Finds what was said.
        ids: Names new turns.
        options: How far turns are trusted.
        corrections: Finds users' turns that correct the assistant, which then are feedback too; None looks for none.
        feedback: What is kept of such feedback.
        aftermath: Who has to follow a forget.
    """

    def __init__(
        self,
        scope: Scope,
        *,
        storage: Storage,
        recall: Recall,
        ids: IdFactory,
        options: ConversationOptions | None = None,
        corrections: CorrectionDetector | None = None,
        feedback: FeedbackOptions | None = None,
        aftermath: ForgetHooks | None = None,
    ) -> None:
        self._aftermath = aftermath or ForgetHooks()
        self._scope = scope
        self._storage = storage
        self._recall = recall
        self._ids = ids
        self._corrects = corrections
        self._max_detail = (feedback or FeedbackOptions()).max_detail
        self._trust = role_trusts(options)

    @property
    def scope(self) -> Scope:
        """Whose conversations they are."""
        return self._scope

    async def append(
        self,
        *,
        session_id: str,
        role: str,
        content: str,
        occurred_at: datetime | None = None,
        speaker: str | None = None,
        trust: Trust | None = None,
        generated: bool = False,
    ) -> Turn:
        """Log one message.

        Args:
            session_id: The conversation it belongs to.
            role: `user`, `assistant`, `system` or `tool`.
            content: The text, at most 6,000,000 characters.
            occurred_at: When it was said, aware; None is now.
            speaker: The person's name, where it is known.
            trust: How far its origin is trusted; None is what the options say of the role.
            generated: Whether the host's own machinery wrote it; such text is never evidence.

        Raises:
            InvalidContentError: something cannot be stored; nothing was.
        """
        spoken_by = clean_member(Role, "role", role)
        session, text = clean_name("session id", session_id), clean_text("content", content, most=MAX_TURN)
        said_at, name = clean_instant(occurred_at), optional_name("speaker", speaker)
        trusted = self._trust[spoken_by] if trust is None else clean_trust(trust)

        def work(unit: UnitOfWork) -> Turn:
            turn = Turn(
                id=self._ids.new(),
                scope=self._scope,
                session_id=session,
                role=spoken_by.value,
                content=text,
                speaker=name,
                occurred_at=said_at or unit.now,
                recorded_at=unit.now,
                trust=trusted,
                generated=generated,
            )
            if self._is_correction(unit, turn):
                unit.feedback.append([self._correction(turn)])
            unit.turns.add([turn])
            return turn

        return await self._storage.write(self._scope, work)

    async def recall(
        self,
        query: str,
        k: int = 10,
        *,
        session_id: str | None = None,
        besides: str | None = None,
        said_after: datetime | None = None,
        said_before: datetime | None = None,
    ) -> TurnHits:
        """Return the *k* turns that answer *query* best, best first (see `agentcore.recall.turns`).

        A turn is found by its own words, date and speaker, by its neighbours' and by its session's. What the host's own
        machinery wrote, and its prompts, are never found.

        Args:
            query: What is asked; one without a word finds nothing.
            k: How many at most, 1 or more.
            session_id: Only this conversation.
            besides: Any conversation but this, such as the one the agent still sees.
            said_after: Only what was said at or after this instant, aware.
            said_before: Only what was said before this instant, aware.

        Raises:
            InvalidOptionsError: *k* is below 1, or the query is no text.
        """
        where = TurnFilter(
            session_id=None if session_id is None else clean_name("session id", session_id),
            besides=None if besides is None else clean_name("session id", besides),
            said_after=clean_instant(said_after),
            said_before=clean_instant(said_before),
        )
        everything = where == TurnFilter()
        return await self._recall.turns.search(
            self._scope, clean_query(query), k=clean_limit(k), where=None if everything else where
        )

    async def session(self, session_id: str, *, limit: int | None = None) -> Turns:
        """Return a conversation's turns in the order they were said; with *limit*, its newest."""
        session = clean_name("session id", session_id)
        return await self._storage.read(self._scope, lambda view: view.turns.session(session, limit=limit))

    async def page(self, *, session_id: str | None = None, limit: int = 100, after: PagePlace | None = None) -> Turns:
        """Return turns, the latest stored first, from *after* on; pages hold as those of `Memory.page` do.

        Args:
            session_id: Only this conversation.
            limit: How many at most, 1 or more.
            after: Where the last page ended; None for the first page.
        """
        most = clean_limit(limit)
        return await self._storage.read(self._scope, lambda view: view.pages.turns(session_id, after=after, limit=most))

    async def sessions(self, *, prefix: str = "", limit: int = 20) -> Sessions:
        """Return the conversations that were spoken in last, the newest first.

        A dream is none, however it is called: dreams have sessions of their own (`Dreams.sessions`).

        Args:
            prefix: Only those whose id begins so, letter by letter.
            limit: How many at most, 1 or more.

        Raises:
            InvalidOptionsError: *limit* is below 1.
        """
        if limit < 1:
            raise InvalidOptionsError(field="limit", value=limit, allowed="give 1 or more")
        return await self._storage.read(self._scope, lambda view: view.turns.sessions(prefix=prefix, limit=limit))

    async def get(self, turn_id: str) -> Turn | None:
        """Return the turn, or None."""
        return await self._storage.read(self._scope, lambda view: view.turns.get(turn_id))

    async def count(self) -> int:
        """Count turns."""
        return await self._storage.read(self._scope, lambda view: view.turns.count())

    async def forget(self, turn_id: str | None = None, *, session_id: str | None = None) -> Forgotten:
        """Redact one turn, or all turns of a session, and remove for good every entry that was learnt from them.

        The turns keep their id, session and time; their text is `[forgotten]` and nobody is told of them. No undo
        brings anything of it back. What is said afterwards in the same session is logged as ever.

        Args:
            turn_id: The turn.
            session_id: The conversation; give one of both.

        Raises:
            InvalidOptionsError: neither or both are given.
            UnknownRecordError: there is no such turn, or no turn of such a session.
        """
        if (turn_id is None) == (session_id is None):
            raise InvalidOptionsError(
                field="turn_id", value=turn_id, allowed="give a turn or a session id, one of both"
            )
        forgotten = await self._storage.write(
            self._scope, lambda unit: unit.forget_turns(turn_id=turn_id, session_id=session_id)
        )
        await clear_files(self._scope, self._storage, self._recall, self._aftermath)
        return forgotten

    async def preview_forget(self, turn_id: str | None = None, *, session_id: str | None = None) -> Forgotten:
        """Return what `forget` would do now; nothing is changed. Arguments and errors as there."""
        return await preview(self._storage, self._scope, _forgetting(turn_id, session_id))

    def _is_correction(self, unit: UnitOfWork, turn: Turn) -> bool:
        """Tell whether a user corrects what the assistant has just said."""
        if self._corrects is None or turn.role != Role.USER or turn.generated or not self._corrects(turn.content):
            return False
        before = unit.turns.session(turn.session_id, limit=_BEFORE)
        return any(one.role == Role.ASSISTANT for one in before)

    def _correction(self, turn: Turn) -> Feedback:
        return Feedback(
            id=self._ids.new(),
            scope=self._scope,
            session_id=turn.session_id,
            kind=FeedbackKind.CORRECTION,
            summary=shorten(turn.content, _SUMMARY, placeholder="..."),
            detail=turn.content[: self._max_detail] or None,
            occurred_at=turn.occurred_at,
            recorded_at=turn.recorded_at,
        )


def _forgetting(turn_id: str | None, session_id: str | None) -> Callable[[UnitOfWork], Forgotten]:
    if (turn_id is None) == (session_id is None):
        raise InvalidOptionsError(field="turn_id", value=turn_id, allowed="give a turn or a session, one of both")
    return lambda unit: unit.forget_turns(turn_id=turn_id, session_id=session_id)
