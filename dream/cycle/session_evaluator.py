"""SessionEvaluator: a conversation that has come to rest is summed up and rated, once."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC
from hashlib import blake2b
from typing import Final

from agentcore.domain.conversation import Turn
from agentcore.domain.scope import Scope
from agentcore.domain.signals import Feedback, FeedbackKind, Rating
from agentcore.errors import AgentcoreError, StaleVersionError
from agentcore.hosting.lifecycle import BackgroundService, WorkerFailure
from agentcore.hosting.services import HostServices
from agentcore.llm import Unreadable, extract_object
from agentcore.llm.chat import ChatRequest, Completion, FinishReason, ResponseFormat, estimate_tokens
from agentcore.stores.storage import Origin, ReadView, UnitOfWork
from agentcore.stores.values import SwitchLevel
from dream.cycle.running.budget import Budget
from dream.cycle.running.context import ContextFactory
from dream.cycle.running.model_calls import ModelCalls
from dream.cycle.running.named_model import with_model
from dream.cycle.running.prompt_limits import PromptLimits
from dream.cycle.running.run_envelope import people_before
from dream.domain.rounds import NextRound
from dream.domain.storage_names import PAUSED_SETTING, SESSION_EVALUATOR
from dream.guards.names import builtin_vocabulary
from dream.guards.secrets import secret_in
from dream.options import DreamOptions
from dream.options.levels import OptionLevels
from dream.passes import library_of
from dream.passes.prompts import build_request, fenced, quoted
from dream.stores import dream_stores
from dream.stores.calls import CallKey, Forgets, Spent, StoredAnswer
from dream.triggers import winning_switch

_MOST_FEEDBACK: Final = 50_000
_MOST_SILENT: Final = 50_000
_MOST_SESSIONS: Final = 50
"""Conversations evaluated in one look."""
_LONGEST: Final = 1_000

_CONTRACT: Final = 'Answer with {"rating": "poor", "fair", "good" or "excellent", "summary": two sentences at most}.'
_FORM: Final = ResponseFormat(
    name="session_summary",
    schema={
        "type": "object",
        "properties": {"rating": {"type": "string", "enum": list(Rating)}, "summary": {"type": "string"}},
        "required": ["rating", "summary"],
        "additionalProperties": False,
    },
)
_log = logging.getLogger(__name__)


class SessionEvaluator(BackgroundService):
    """Looks for conversations at rest every few minutes; lives as long as the host.

    Each gets one summary with a rating, as feedback. Which ones have theirs is read from the feedback, and the answer
    is kept like any other, so a restart neither repeats a summary nor pays for one twice. People go first: it asks only
    while nobody is served. Its calls count toward the tokens of the day.

    Args:
        parts: What the host offers.
        levels: The options of each scope.
    """

    def __init__(self, parts: HostServices, levels: OptionLevels) -> None:
        super().__init__(name=SESSION_EVALUATOR, on_failure=WorkerFailure.KEEP_RUNNING)
        self._parts = parts
        self._levels = levels
        self._hopeless: set[tuple[Scope, str]] = set()

    async def run(self) -> None:
        """Look again and again."""
        while True:
            await self._parts.clock.sleep(self._levels.host.sessions.every)
            try:
                await self.evaluate()
            except (AgentcoreError, OSError) as error:
                _log.warning("sessions_not_evaluated", extra={"error": type(error).__name__})

    async def evaluate(self) -> int:
        """Evaluate what is at rest now, in every scope; return how many conversations got their summary.

        Raises:
            ChatError: the model cannot be asked.
            StorageError: the database failed.
            InvalidDirectiveError: its directive cannot be used.
        """
        done = 0
        for scope in await self._parts.storage.scopes():
            sessions = await self._parts.storage.read(scope, lambda view, scope=scope: self._at_rest(view, scope))
            if sessions:
                async with people_before(self._parts, self._levels.of(scope), scope).watching():
                    done += await self._evaluate(scope, sessions)
        return done

    def _at_rest(self, view: ReadView, scope: Scope) -> list[str]:
        """Return the conversations without a summary that have been silent long enough, the longest first."""
        options, now = self._levels.of(scope), self._parts.clock.now()
        terms = options.sessions
        if view.settings.get(PAUSED_SETTING) or not options.is_on(SESSION_EVALUATOR):
            return []
        since = now - terms.look_back
        if not _learns(view, options):
            return []
        found = view.learnable.turns.silent(since=since, until=now - terms.idle, limit=_MOST_SILENT)
        if not found:
            return []
        rows = view.feedback.newest(limit=_MOST_FEEDBACK, since=since)
        done = {row.session_id for row in rows if row.kind is FeedbackKind.SESSION_SUMMARY}
        return [one for one in found if one not in done and (scope, one) not in self._hopeless][:_MOST_SESSIONS]

    async def _evaluate(self, scope: Scope, sessions: Sequence[str]) -> int:
        asking = await self._asking(scope)
        done = 0
        for session_id in sessions:
            request = await self._request(scope, session_id, asking.limits)
            mark = _mark(session_id)
            key = CallKey(run_id=mark, pass_name=SESSION_EVALUATOR, batch_key="1", round=1)
            outcome = None if request is None else await asking.ask(key, NextRound(request), ())
            if isinstance(asking.stopped, Exception):
                raise asking.stopped
            if outcome is None and asking.stopped is not None:
                return done  # the tokens of the day are spent
            summed_up = _read(outcome.completion) if isinstance(outcome, StoredAnswer) else None
            if summed_up is None:
                self._hopeless.add((scope, session_id))
                _log.warning("session_not_evaluated", extra={"call": mark})
            elif await self._keep(scope, session_id, *summed_up):
                done += 1
        return done

    async def _asking(self, scope: Scope) -> ModelCalls:
        today = self._parts.clock.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)

        options = self._levels.of(scope)
        parts = with_model(self._parts, options)

        def before(view: ReadView) -> tuple[Spent, Forgets, PromptLimits]:
            calls, limits = dream_stores(view).calls, PromptLimits.of(view, parts.chat)
            return calls.spent(since=today), calls.forgets(), limits

        day, forgets, limits = await self._parts.storage.read(scope, before)
        budget = Budget(parts.storage, scope, options.model, today, 0, day)
        people = people_before(self._parts, options, scope)
        return ModelCalls(
            parts=parts, people=people, scope=scope, budget=budget, in_flight=1, forgets=forgets, limits=limits
        )

    async def _request(self, scope: Scope, session_id: str, limits: PromptLimits) -> ChatRequest | None:
        options = self._levels.of(scope)
        library = library_of(self._parts.data_dir, options)
        texts = {
            name: found.text for name, found in (await asyncio.to_thread(library.read, [SESSION_EVALUATOR])).items()
        }
        turns = await self._parts.storage.read(scope, lambda view: view.learnable.turns.session(session_id))
        lines = _lines(turns, limits.applied(options, texts).model.prompt_tokens)
        if not lines:
            return None
        now = self._parts.clock.now()
        contexts = ContextFactory(
            parts=self._parts,
            scope=scope,
            options=options,
            pass_name=SESSION_EVALUATOR,
            # The fence of the prompt is made of it: nothing that was said can know it.
            run_id=self._parts.ids.new(),
            as_of=now,
        )
        context = await contexts.with_model(0, directives=texts, vocabulary=builtin_vocabulary())
        blocks = [fenced(context.marker, "Conversation:", lines), _CONTRACT]
        return build_request(
            context, directives=(SESSION_EVALUATOR,), blocks=blocks, answer=_FORM, purpose=SESSION_EVALUATOR
        )

    async def _keep(self, scope: Scope, session_id: str, rating: Rating, summary: str) -> bool:
        """Store a summary; False if somebody else did."""

        def work(unit: UnitOfWork) -> None:
            row = Feedback(
                id=_mark(session_id),
                scope=scope,
                session_id=session_id,
                kind=FeedbackKind.SESSION_SUMMARY,
                summary=summary,
                rating=rating,
                occurred_at=unit.now,
                recorded_at=unit.now,
            )
            unit.feedback.append([row])

        try:
            await self._parts.storage.write(scope, work, origin=Origin.DREAM)
        except StaleVersionError:
            self._hopeless.add((scope, session_id))
            return False
        return True


def _learns(view: ReadView, options: DreamOptions) -> bool:
    said = {switch.level: switch.learning for switch in view.switches.standing()}
    wide, own = said.get(SwitchLevel.WORKSPACE), said.get(SwitchLevel.SCOPE)
    return winning_switch(
        enabled=options.enabled, ignore_scope_switches=options.ignore_scope_switches, workspace=wide, scope=own
    ).on


def _mark(session_id: str) -> str:
    """Return the id of a conversation's one summary, and of the call it comes from."""
    return blake2b(f"{SESSION_EVALUATOR}\x1f{session_id}".encode(), digest_size=16).hexdigest()


def _lines(turns: Sequence[Turn], room: int) -> list[str]:
    """Return the newest turns that a prompt has room for, as lines of data, in the order they were said."""
    lines: list[str] = []
    used = 0
    for turn in reversed([turn for turn in turns if turn.role in {"user", "assistant"} and not turn.generated]):
        line = f"role={turn.role} {quoted(turn.content)}"
        used += estimate_tokens(f"[t0000] {line}\n")
        if used > room:
            break
        lines.append(line)
    return [f"[t{place}] {line}" for place, line in enumerate(reversed(lines), 1)]


def _read(completion: Completion) -> tuple[Rating, str] | None:
    """Return rating and summary; None if the answer cannot be used."""
    read = extract_object(completion.text) if completion.finish_reason is FinishReason.STOP else None
    if read is None or isinstance(read, Unreadable):
        return None
    rating, summary = read.get("rating"), read.get("summary")
    if not (isinstance(rating, str) and isinstance(summary, str)) or rating not in set(Rating):
        return None
    text = " ".join(summary.split())
    return (Rating(rating), text) if 0 < len(text) <= _LONGEST and secret_in(text) is None else None
