"""Retention: the only pass that removes anything for good, and only what its time has run out for."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from agentcore.domain.conversation import Turn
from agentcore.domain.filters import EntryFilter
from agentcore.domain.records import SIGNALS, RecordKind
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import RETENTION
from dream.domain.proposal import HistoryKind, Notes, Proposal, PurgeHistory, PurgeRecords, PurgeSignals, Work, summed
from dream.options import RetentionOptions
from dream.passes.declared import DeclaredPass
from dream.passes.protocol import DreamContext, PassView

_LEAPT: Final = "clock_leapt"
_HISTORY_PER_CHANGE = 10
"""Rows of bookkeeping removed in the time that one change of a record takes."""


@dataclass(frozen=True, slots=True)
class _DueRecords:
    """Something whose time has run out: how many, and the step that removes the next of them."""

    pending: int
    proposal: Proposal


_Find = Callable[[ReadView, RetentionOptions, datetime, int], "_DueRecords | None"]


class Retention(DeclaredPass, declaration=RETENTION):
    """Purges retired entries, turns, signals and bookkeeping whose window has passed, within the protections."""

    async def has_work(self, context: DreamContext) -> Work:
        """Anything whose window has passed as of the run is due."""

        def look(view: PassView) -> Work:
            due = [*(find(view, *_terms(context)) for find in _FINDERS), _history(view, context)]
            pending = sum(item.pending for item in due if item is not None)
            if pending and _has_leapt(view, context):
                return Work(0, reports=True)
            return Work(pending, at=_next_date(view, context.options.retention))

        return await context.read(look)

    async def propose(self, context: DreamContext) -> Proposal:
        """Remove the next of what is due."""

        def look(view: PassView) -> Proposal:
            if _has_leapt(view, context):
                return Proposal(notes={_LEAPT: 1})
            due = _first_due(view, context) or _history(view, context)
            return Proposal() if due is None else due.proposal

        return await context.read(look)

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over the steps; unread turns that had to go are counted per session."""
        unread: Counter[str] = Counter()
        for note in notes:
            unread.update(note.get("unread_turns_dropped", {}))
        return {
            **summed(notes, *sorted({name for note in notes for name in note if name != "unread_turns_dropped"})),
            **({"unread_turns_dropped": dict(sorted(unread.items()))} if unread else {}),
        }


def _has_leapt(view: PassView, context: DreamContext) -> bool:
    """Tell whether the clock may have leapt, and what is due has to wait for a second dream, or for a person.

    A clock that is years ahead makes everything due at once, and nothing brings back what is removed. So a dream long
    after the one before, or after what was stored last where there was none, removes nothing; nor does one before which
    the clock was set back, since what was stored by the clock of then looks older than it is. The next dream removes
    it, as does one that a person asks for.
    """
    before = next(view.books.history.dreams(), None)
    since = _last_stored(view) if before is None else before.started_at
    leap = context.options.retention.leap
    due = context.as_of - context.options.retention.turns
    if since is None or not (view.now - since > leap or view.turns.is_set_back(recorded_before=due, by=leap)):
        return False
    waited = before is not None and any(
        one.name == context.pass_name and one.notes.get(_LEAPT) for one in before.passes
    )
    return not waited and not view.books.history.is_a_persons(context.run_id)


def _last_stored(view: ReadView) -> datetime | None:
    """Return when a turn or an entry was stored last, by the clock of then."""
    stored = [entry.recorded_at for entry in view.entries.select(EntryFilter(), limit=1)]
    newest = view.turns.newest_recorded()
    return max(stored if newest is None else [*stored, newest], default=None)


def _next_date(view: ReadView, terms: RetentionOptions) -> datetime | None:
    """Return when the first entry, turn or signal has been kept for as long as it is.

    History is swept whenever something else makes a run.
    """
    retired = view.entries.next_retirement(floor=terms.protect_importance, reinforced=terms.protect_reinforced)
    kept = [(retired, terms.archived), (view.turns.oldest_recorded(), terms.turns)]
    kept += [(view.signals(kind).oldest_recorded(), terms.signals) for kind in SIGNALS]
    return min((since + length for since, length in kept if since is not None), default=None)


def _terms(context: DreamContext) -> tuple[RetentionOptions, datetime, int]:
    return context.options.retention, context.as_of, context.options.step_size


def _first_due(view: ReadView, context: DreamContext) -> _DueRecords | None:
    for find in _FINDERS:
        due = find(view, *_terms(context))
        if due is not None:
            return due
    return None


def _retired_entries(view: ReadView, terms: RetentionOptions, as_of: datetime, limit: int) -> _DueRecords | None:
    found = view.entries.purgeable(
        archived_before=as_of - terms.archived,
        floor=terms.protect_importance,
        reinforced=terms.protect_reinforced,
        limit=limit,
    )
    if not found:
        return None
    reason = f"retired for more than {terms.archived.days} days"
    purge = PurgeRecords(RecordKind.ENTRY, tuple(found), reason)
    return _DueRecords(len(found), Proposal(purges=(purge,), notes={"entries": len(found)}, done=False))


def _expired_turns(view: ReadView, terms: RetentionOptions, as_of: datetime, limit: int) -> _DueRecords | None:
    found = view.turns.expired(recorded_before=as_of - terms.turns, limit=limit)
    return _turns(view, found, f"said more than {terms.turns.days} days ago")


def _surplus_turns(view: ReadView, terms: RetentionOptions, _as_of: datetime, limit: int) -> _DueRecords | None:
    found = view.turns.surplus(keep=terms.max_turns, limit=limit)
    return _turns(view, found, f"beyond the newest {terms.max_turns} turns")


def _turns(view: ReadView, found: Sequence[Turn], reason: str) -> _DueRecords | None:
    if not found:
        return None
    unread = {turn.id: turn.session_id for turn in found if turn.consumed_at is None}
    waiting = Counter(unread[turn_id] for turn_id in unread.keys() - view.withheld.turns(unread))
    notes: dict[str, Any] = {"turns": len(found), **({"unread_turns_dropped": dict(waiting)} if waiting else {})}
    purge = PurgeRecords(RecordKind.TURN, tuple(found), reason)
    return _DueRecords(len(found), Proposal(purges=(purge,), notes=notes, done=False))


def _signals(kind: RecordKind) -> _Find:
    def find(view: ReadView, terms: RetentionOptions, as_of: datetime, limit: int) -> _DueRecords | None:
        before = as_of - terms.signals
        count = view.signals(kind).count_expired(recorded_before=before, keep=terms.max_signals)
        if not count:
            return None
        reason = f"older than {terms.signals.days} days or beyond the newest {terms.max_signals}"
        purge = PurgeSignals(kind, before, terms.max_signals, limit, reason)
        return _DueRecords(count, Proposal(purges=(purge,), notes={f"{kind}s": min(count, limit)}, done=False))

    return find


def _history(view: PassView, context: DreamContext) -> _DueRecords | None:
    """Return the bookkeeping whose window has passed."""
    terms = context.options.retention
    for what in HistoryKind:
        length, reason = _HISTORY_TERMS[what](terms)
        before = context.as_of - length
        count = view.books.expiry.count(what, before)
        if count:
            limit = _HISTORY_PER_CHANGE * context.options.step_size
            purge = PurgeHistory(what, before, limit, reason)
            return _DueRecords(count, Proposal(purges=(purge,), notes={what.value: min(count, limit)}, done=False))
    return None


_HISTORY_TERMS: Mapping[HistoryKind, Callable[[RetentionOptions], tuple[timedelta, str]]] = {
    HistoryKind.RUNS: lambda terms: (terms.history, f"ended more than {terms.history.days} days ago"),
    HistoryKind.FEED: lambda terms: (terms.history, f"ended more than {terms.history.days} days ago"),
    # A proposal carries the date of its end itself.
    HistoryKind.PROPOSALS: lambda _: (timedelta(0), "nobody decided"),
    HistoryKind.REFUSED: lambda terms: (terms.refused, f"refused more than {terms.refused.days} days ago"),
}
_FINDERS: tuple[_Find, ...] = (
    _retired_entries,
    _expired_turns,
    _surplus_turns,
    *(_signals(kind) for kind in SIGNALS),
)
