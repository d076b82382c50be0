"""Reads what the dreams of a scope left behind: runs, changes, histories, costs, and what waits for a person."""

from __future__ import annotations

import asyncio
from datetime import UTC
from typing import TYPE_CHECKING

from agentcore.domain.actor import HOST
from agentcore.domain.hypothesis import HypothesisState
from agentcore.errors import InvalidOptionsError
from agentcore.hosting.checks import clean_instant
from dream.cycle.history import read_entry_history, read_skill_history
from dream.domain.session import DREAMS, DreamSession, session_key
from dream.domain.storage_names import DREAM_LEASE
from dream.domain.usage import EVERYTHING, HostDay, UsageRow, summed
from dream.errors import UnknownPassError, UnknownRunError
from dream.stores import dream_stores
from dream.stores.memory_health import MemoryHealth, health_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence
    from datetime import datetime

    from agentcore.domain.scope import Scope
    from agentcore.hosting.services import HostServices
    from agentcore.stores.storage import ReadView
    from dream.cycle.history import EntryHistory, SkillHistory
    from dream.cycle.skill_versions import SkillVersion
    from dream.domain.candidate import PromotionStanding
    from dream.domain.change import JournalRow
    from dream.domain.refused import RefusedText
    from dream.domain.report import RunReport
    from dream.domain.session import ModelCall
    from dream.domain.usage import UsageKey
    from dream.domain.waiting import WaitingProposal
    from dream.options import DreamOptions
    from dream.stores import DreamStores


def read_sessions(view: ReadView, *, prefix: str, limit: int) -> list[DreamSession]:
    """Return the newest dream sessions whose key begins with *prefix*, the newest first."""
    books = dream_stores(view)
    return _sessions(view, books, [run_id for run_id, _ in books.sessions.keys(prefix)[:limit]])


def read_session(view: ReadView, run_id: str) -> DreamSession | None:
    """Return the session that a run is; None if it is none, as an undo."""
    found = _sessions(view, dream_stores(view), [run_id])
    return found[0] if found else None


def _sessions(view: ReadView, books: DreamStores, run_ids: Sequence[str]) -> list[DreamSession]:
    usage, documents = books.sessions.usage(run_ids), books.sessions.documents(run_ids)
    is_held = view.leases.holder(DREAM_LEASE) is not None
    under_way = [run.run_id for run in books.runs.unfinished()][-1:] if is_held else []
    reports = [report for run_id in run_ids if (report := books.runs.report(run_id)) is not None]
    return [
        _session(
            report,
            usage.get(report.run_id, []),
            changes=report.changes if report.finished_at else books.sessions.changed(report.run_id),
            documents=documents.get(report.run_id, []),
            is_running=report.run_id in under_way,
        )
        for report in reports
        if report.kind in DREAMS
    ]


def _session(
    report: RunReport, usage: Sequence[UsageRow], *, changes: int, documents: Sequence[str], is_running: bool
) -> DreamSession:
    total = next(iter(summed(usage)), UsageRow())
    return DreamSession(
        session=session_key(report.scope, report.started_at),
        run_id=report.run_id,
        kind=report.kind,
        trigger=report.trigger,
        outcome=report.outcome if report.finished_at else None,
        is_running=is_running,
        started_at=report.started_at,
        finished_at=report.finished_at,
        models=tuple(sorted({row.model for row in usage if row.model})),
        calls=total.calls,
        failed=total.failed,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        changes=changes,
        purged=report.purged,
        documents=tuple(documents),
    )


class DreamRecords:
    """What can be read of the dreams of one scope; lives as long as the host.

    Args:
        parts: What the host offers.
        options: The host's options.
        scope: Whose memory.
        pass_names: The passes of a run, in order.
    """

    def __init__(self, parts: HostServices, options: DreamOptions, scope: Scope, pass_names: Sequence[str]) -> None:
        self._parts = parts
        self._options = options
        self._scope = scope
        self._pass_names = tuple(pass_names)

    @property
    def scope(self) -> Scope:
        """Whose memory these dreams tend."""
        return self._scope

    async def count_proposed_hypotheses(self) -> int:
        """Count the hypotheses that nobody looked at yet."""
        proposed = frozenset({HypothesisState.PROPOSED})
        return await self._parts.storage.read(self._scope, lambda view: view.hypotheses.count(proposed))

    async def asked_by(self, run_ids: Collection[str]) -> dict[str, str]:
        """Return who asked for these runs, such as `person` or `token:ana`, where that was not the host itself."""
        found = await self._parts.storage.read(self._scope, lambda view: dream_stores(view).runs.actors(run_ids))
        return {run_id: actor for run_id, actor in found.items() if actor != str(HOST)}

    async def growth(self) -> tuple[dict[str, int], list[int]]:
        """Return how many active entries came on each day, and how many are of each tenth of importance now."""

        def count(view: ReadView) -> tuple[dict[str, int], list[int]]:
            growth = dream_stores(view).growth
            return growth.by_day(), growth.by_importance()

        return await self._parts.storage.read(self._scope, count)

    async def reflect(self) -> MemoryHealth:
        """Return what is unwell in the memory: stale facts, claims and conflicts that wait, undecided hypotheses."""
        options, now = self._options.hypotheses, self._parts.clock.now()
        return await self._parts.storage.read(self._scope, lambda view: health_of(view, options, now))

    @property
    def pass_names(self) -> tuple[str, ...]:
        """The passes of a run, in order."""
        return self._pass_names

    async def usage(self, *, since: datetime | None = None, by: Collection[UsageKey] = EVERYTHING) -> list[UsageRow]:
        """Return what model calls cost, failed ones and those of plans included, as far back as calls are kept.

        Args:
            since: Only calls that ended at or after this instant; all by default.
            by: What it is told apart by: day, pass, model, or nothing for the sum alone.

        Raises:
            InvalidContentError: *since* has no time zone.
        """
        after = clean_instant(since)
        rows = await self._parts.storage.read(self._scope, lambda view: dream_stores(view).usage.rows(after))
        return summed(rows, by)

    async def tokens_left(self) -> int | None:
        """Return how many tokens the dreams of the scope may still cost today (UTC); None if there is no bound."""
        model = self._options.model
        today = self._parts.clock.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        spent = await self.usage(since=today, by=())
        left = [] if model.tokens_per_day is None else [model.tokens_per_day - sum(row.tokens for row in spent)]
        if model.host_tokens_per_day is not None:
            of_all = await self._parts.storage.read(
                self._scope, lambda view: dream_stores(view).calls.spent_by_all(today)
            )
            left.append(model.host_tokens_per_day - of_all.tokens)
        return max(0, min(left)) if left else None

    async def host_day(self) -> HostDay:
        """Return what the dreams of all scopes of the host cost today (UTC), and what they may."""
        model = self._options.model
        today = self._parts.clock.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        of_all = await self._parts.storage.read(self._scope, lambda view: dream_stores(view).calls.spent_by_all(today))
        return HostDay(
            calls=of_all.calls,
            tokens=of_all.tokens,
            most_calls=model.host_calls_per_day,
            most_tokens=model.host_tokens_per_day,
        )

    async def runs(self, *, limit: int = 20, before: str | None = None) -> list[RunReport]:
        """Return the newest runs, newest first; one that is under way or interrupted has no `finished_at`.

        Args:
            limit: How many at most.
            before: Only those that began before the run of this id.
        """
        return await self._parts.storage.read(
            self._scope, lambda view: dream_stores(view).runs.newest(limit=limit, before=before)
        )

    async def sessions(self, *, prefix: str = "", limit: int = 20) -> list[DreamSession]:
        """Return the dreams as sessions, the newest first: when they were, what they asked, whether they wrote.

        No conversation is among them, however it is called, and no dream among the conversations.

        Args:
            prefix: Only those whose key begins so; `dream:<scope>:2025-06` are those of a month.
            limit: How many at most, 1 or more.

        Raises:
            InvalidOptionsError: *limit* is below 1.
        """
        if limit < 1:
            raise InvalidOptionsError(field="limit", value=limit, allowed="give 1 or more")
        return await self._parts.storage.read(self._scope, lambda view: read_sessions(view, prefix=prefix, limit=limit))

    async def session(self, name: str) -> DreamSession | None:
        """Return the session that a run is, by its key, the run's id, or the beginning of either.

        Returns:
            The session; None if the run is none, as an undo.

        Raises:
            UnknownSessionError: no session's key begins so, or several do.
            UnknownRunError: no run's id begins so, or several do.
        """
        return await self._parts.storage.read(
            self._scope, lambda view: read_session(view, dream_stores(view).runs.resolve(name))
        )

    async def calls(self, name: str) -> list[ModelCall]:
        """Return every request of a run to a model, failed ones included, in the order they were over.

        Args:
            name: The key of its session, its id, or the beginning of either; errors as of `session`.
        """

        def find(view: ReadView) -> list[ModelCall]:
            books = dream_stores(view)
            return books.sessions.calls(books.runs.resolve(name))

        return await self._parts.storage.read(self._scope, find)

    async def report(self, run_id: str) -> RunReport:
        """Return the report of a run, by its id, the key of its session, or the beginning of either."""

        def find(view: ReadView) -> RunReport:
            runs = dream_stores(view).runs
            report = runs.report(runs.resolve(run_id))
            if report is None:
                raise UnknownRunError(value=run_id)
            return report

        return await self._parts.storage.read(self._scope, find)

    async def diff(
        self, run_id: str, *, pass_name: str | None = None, after: int = 0, limit: int | None = None
    ) -> list[JournalRow]:
        """Return what a run changed, in the order it did.

        Args:
            run_id: Its id, the key of its session, or the beginning of either.
            pass_name: Only what this pass changed.
            after: Only changes with a higher number.
            limit: How many at most; all by default.
        """

        def find(view: ReadView) -> list[JournalRow]:
            books = dream_stores(view)
            run = books.runs.resolve(run_id)
            return books.journal.of_run(run, pass_name=pass_name, after=after, limit=limit)

        return await self._parts.storage.read(self._scope, find)

    async def refused_texts(self, name: str) -> list[RefusedText]:
        """Return what models wrote in a run and was refused, whole, as far as it is kept (`retention.refused`).

        What looks like a secret, and what a person asked to forget, is not among it.

        Args:
            name: The key of its session, its id, or the beginning of either; errors as of `session`.
        """

        def find(view: ReadView) -> list[RefusedText]:
            books = dream_stores(view)
            return books.refused_texts.of_run(books.runs.resolve(name))

        return await self._parts.storage.read(self._scope, find)

    async def why(self, entry_id: str) -> EntryHistory:
        """Return an entry's history: what happened to it and why, and where it came from, down to the turn.

        Raises:
            UnknownRecordError: there is no such entry, and nothing is known of one.
        """
        return await self._parts.storage.read(self._scope, lambda view: read_entry_history(view, entry_id))

    async def promotion(self, entry_id: str | None = None, *, limit: int = 10) -> PromotionStanding:
        """Return why entries are promoted to MEMORY.md, or are not; nothing is changed.

        Args:
            entry_id: The one entry to tell about; None for the best.
            limit: How many of these.

        Raises:
            UnknownRecordError: there is no such entry.
        """
        now = self._parts.clock.now()
        tell = await asyncio.to_thread(_promotion_standing)
        return await tell(self._parts, self._options, self._scope, entry_id=entry_id, limit=limit, now=now)

    async def why_skill(self, name_or_id: str) -> SkillHistory:
        """Return a skill's history, by its name or the beginning of its id: its changes, and the texts it had before.

        Raises:
            UnknownRecordError: there is no such skill, and was none; or several ids begin so.
        """
        return await self._parts.storage.read(self._scope, lambda view: read_skill_history(view, name_or_id))

    async def skill_versions(self, name: str) -> tuple[SkillVersion, ...]:
        """Return the texts that an active skill had, the oldest first, each with its uses and how many of them failed.

        Raises:
            UnknownRecordError: no active skill has the name.
        """
        from dream.cycle.skill_versions import read_skill_versions  # noqa: PLC0415 - it brings the passes of skills

        return await self._parts.storage.read(self._scope, lambda view: read_skill_versions(view, name))

    async def proposals(self, *, pass_name: str | None = None) -> list[WaitingProposal]:
        """Return what waits for a person, in the order it was proposed.

        Args:
            pass_name: Only what this pass proposed.

        Raises:
            UnknownPassError: no such pass.
        """
        self._require(pass_name)
        return await self._parts.storage.read(self._scope, lambda view: dream_stores(view).proposals.waiting(pass_name))

    async def proposal(self, proposal_id: str) -> WaitingProposal:
        """Return one proposal that waits, by its id or the beginning of it.

        Raises:
            UnknownProposalError: none that waits, or several.
        """

        def find(view: ReadView) -> WaitingProposal:
            proposals = dream_stores(view).proposals
            return proposals.get_many([proposals.resolve(proposal_id)])[0]

        return await self._parts.storage.read(self._scope, find)

    def _require(self, pass_name: str | None) -> None:
        if pass_name is not None and pass_name not in self.pass_names:
            raise UnknownPassError(name=pass_name, known=self.pass_names)


def _promotion_standing() -> Callable[..., Awaitable[PromotionStanding]]:
    from dream.cycle.promotion_status import promotion_status  # noqa: PLC0415 - with NumPy a tenth of a second

    return promotion_status
