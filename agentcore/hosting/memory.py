"""Remembers, recalls, changes and forgets what the agent knows."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias, Unpack

from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import Level, MemoryEntry, Status
from agentcore.domain.scope import Scope
from agentcore.domain.signals import Purpose, RecallUse
from agentcore.domain.text import clean_category, clean_content, clean_tags, fold_key
from agentcore.errors import InvalidContentError, InvalidOptionsError, SecretError
from agentcore.hosting.amend import MemoryChanges, amend, checked, retire
from agentcore.hosting.checks import (
    clean_instant,
    clean_limit,
    clean_member,
    clean_query,
    clean_text,
    optional_name,
)
from agentcore.hosting.forget_hooks import ForgetHooks, clear_files, preview
from agentcore.hosting.off_limits import off_limits_topics
from agentcore.hosting.recall_filters import RecallFilters, recall_filter
from agentcore.hosting.remember import MemoryFields, MemoryWrites, Observation
from agentcore.hosting.representation import LEVELS, LOOKED_THROUGH, Representation, represent, within
from agentcore.hosting.restatements import Restatement, RestatementFinder, says_it as chosen
from agentcore.hosting.write_behind import RecallNotes
from agentcore.ids import IdFactory
from agentcore.recall.off_limits import named_topic
from agentcore.recall.recall import Recall
from agentcore.recall.results import Explanation, Hit, RelatedHypothesis
from agentcore.secrets import SecretPolicy, secret_in
from agentcore.stores.forgetting import Forgotten, SaysIt, TurnsChoice
from agentcore.stores.storage import ReadView, Storage, UnitOfWork
from agentcore.stores.values import PagePlace

Entries: TypeAlias = list[MemoryEntry]


class Recalled(list[Hit]):
    """Entries that answer a query, the best first, and what was asked for beside them.

    Args:
        hits: They.
        related_dreams: Hypotheses that have to do with query or entries, the best first: unproven, and no memory.
    """

    def __init__(self, hits: Iterable[Hit] = (), related_dreams: tuple[RelatedHypothesis, ...] = ()) -> None:
        super().__init__(hits)
        self.related_dreams = related_dreams


Hits: TypeAlias = Recalled
Explained: TypeAlias = list[tuple[Hit, Explanation]]

_TEXTS_AT_ONCE: Final = 1_000


class Memory:
    """One scope's memory; keeps nothing itself, so it may be made anew at any time.

    Whatever is said here was said by a person or by the host for one: a text that a person forgot earlier may be
    remembered again.

    Args:
        scope: Whose memory it is.
        storage: Where it is kept.
        recall: Finds it again.
        ids: Names new entries.
        writes: Writes for several callers at once; None has each write alone.
        notes: Records what was needed; None records nothing.
        aftermath: Who has to follow a forget.
        finder: Finds what else says an entry; None finds it by the words alone.
        secrets: What becomes of a secret that is not the host's own to keep.
    """

    def __init__(
        self,
        scope: Scope,
        *,
        storage: Storage,
        recall: Recall,
        ids: IdFactory,
        writes: MemoryWrites | None = None,
        notes: RecallNotes | None = None,
        aftermath: ForgetHooks | None = None,
        finder: RestatementFinder | None = None,
        secrets: SecretPolicy = SecretPolicy.REFUSE,
    ) -> None:
        self._secrets = secrets
        self._finder = finder or RestatementFinder(storage, recall=recall)
        self._aftermath = aftermath or ForgetHooks()
        self._scope = scope
        self._notes = notes
        self._storage = storage
        self._recall = recall
        self._writes = writes or MemoryWrites(storage, ids=ids)

    @property
    def scope(self) -> Scope:
        """Whose memory it is."""
        return self._scope

    async def remember(self, content: str, **said: Unpack[MemoryFields]) -> MemoryEntry:
        """Store *content*, or reinforce the active entry that says the same in the same category.

        The same are texts equal but for case, spacing and a full stop at the end, about compatible times. A repeat
        counts once more, is seen now, and adds its tags and metadata; one trusted less than the entry does not.

        Args:
            content: The text, at most 100,000 characters.
            **said: What else is known: `category`, `tags`, `importance`, `subject_time`, `occurred_at`,
                `metadata`, `pinned`, `trust`, `sources` (see `MemoryFields`).

        What several callers remember at once is written in one transaction; each is answered once it is committed.

        Returns:
            The entry as it is now stored.

        Raises:
            InvalidInputError: something cannot be stored; nothing was.
        """
        (entry,) = await self.remember_many([content], **said)
        return entry

    async def remember_many(self, texts: Iterable[str], **said: Unpack[MemoryFields]) -> Entries:
        """Remember *texts*, each as `remember` does with the same particulars; repeats among them reinforce.

        Every text is checked before the first is stored; then they are stored a thousand at a time.

        Returns:
            For each text the entry that holds it, in the order of the texts.
        """
        observation = Observation.of(said)
        given = [texts] if isinstance(texts, str) else list(texts)
        # Checking a hundred thousand texts takes longer than the event loop may stall.
        contents = await asyncio.to_thread(_cleaned, given) if len(given) > _TEXTS_AT_ONCE else _cleaned(given)
        stored: Entries = []
        for start in range(0, len(contents), _TEXTS_AT_ONCE):
            part = contents[start : start + _TEXTS_AT_ONCE]
            stored += await self._writes.take(self._scope, [(observation, content) for content in part])
        return stored

    async def representation(
        self,
        query: str | None = None,
        *,
        levels: Iterable[Level | str] = LEVELS,
        budget_tokens: int = 1_000,
        sessions: Iterable[str] | None = None,
    ) -> Representation:
        """Return the card and what is known, conclusions with level, confidence and premises; it counts as no use.

        Args:
            query: What it is wanted for, the most relevant first; None for what was seen last.
            levels: Only what is known in these ways.
            budget_tokens: Tokens of its text at most.
            sessions: Only what goes back to these conversations, and to no other one.

        Raises:
            InvalidInputError: there is no such level, or the query is no text.
        """
        return await represent(
            self._storage,
            self._recall,
            self._scope,
            query=None if query is None else clean_query(query),
            levels=frozenset(clean_member(Level, "level", one) for one in levels),
            budget_tokens=budget_tokens,
            sessions=None if sessions is None else frozenset(sessions),
        )

    async def recall(
        self,
        query: str,
        k: int = 10,
        *,
        session_id: str | None = None,
        sessions: Iterable[str] | None = None,
        purpose: Purpose = Purpose.NEED,
        related_dreams: int = 0,
        **conditions: Unpack[RecallFilters],
    ) -> Hits:
        """Return the *k* active entries that answer *query* best, best first (see `agentcore.recall.Recall`).

        Args:
            query: What is asked; one without a word finds nothing.
            k: How many at most, 1 or more.
            session_id: The conversation that needs it, noted with what is found.
            sessions: Only what goes back to these conversations, and to no other one, among the 500 best.
            purpose: Why; what a need finds counts as used (see `uses`), what a preview finds does not.
            related_dreams: How many hypotheses to name beside them (`related_dreams` of the answer), at most 20.
            **conditions: What entries must meet besides: any of `category`, `tags`, `any_tags`, `level`,
                `created_after`, `created_before`, `seen_after`, `seen_before`, `about` (see `RecallFilters`).

        Raises:
            InvalidInputError: *k* is below 1, the query is no text, or a condition cannot be read.
            TypeError: there is no such condition.
        """
        session = optional_name("session id", session_id)
        where = recall_filter(conditions)
        asked, most = clean_query(query), clean_limit(k)
        reach = most if sessions is None else max(most, LOOKED_THROUGH)
        hits = await self._recall.search(self._scope, asked, k=reach, where=where)
        if sessions is not None:
            only, found = frozenset(sessions), [hit.entry for hit in hits]
            told = {one.id for one in await self._storage.read(self._scope, lambda view: within(view, found, only))}
            hits = [hit for hit in hits if hit.entry.id in told][:most]
        if purpose is Purpose.NEED and self._notes is not None:
            self._notes.note(self._scope, query, hits, session_id=session)
        beside = [hit.entry.id for hit in hits]
        related = await self._recall.hypotheses.beside(self._scope, query, beside, limit=related_dreams)
        return Recalled(hits, related)

    async def uses(self, *, since: datetime | None = None) -> list[RecallUse]:
        """Return how often needs recalled each entry, by how many queries and on how many days.

        What was recalled in the last seconds may not be written down yet.

        Args:
            since: Count only what was recalled at or after this instant, aware; None counts all that is kept.
        """
        after = clean_instant(since)
        return await self._storage.read(self._scope, lambda view: view.recall_hits.uses(since=after))

    async def explain(self, query: str, k: int = 10, **conditions: Unpack[RecallFilters]) -> Explained:
        """Return what `recall` does, each hit with how its score came about; arguments and errors as there.

        A preview: nothing counts as used.
        """
        where = recall_filter(conditions)
        return await self._recall.explain(self._scope, clean_query(query), k=clean_limit(k), where=where)

    async def get(self, entry_id: str) -> MemoryEntry | None:
        """Return the entry in whatever state, or None."""
        return await self._storage.read(self._scope, lambda view: view.entries.get(entry_id))

    async def count(self, *, status: Status | None = Status.ACTIVE) -> int:
        """Count entries in a state; None counts all."""
        return await self._storage.read(self._scope, lambda view: view.entries.count(_in_state(status)))

    async def forget(
        self, entry_id: str, *, turns: TurnsChoice | str = TurnsChoice.CITED, says_it: SaysIt | None = None
    ) -> Forgotten:
        """Remove an entry for good, with its equal texts, what was derived from it alone, and every copy of the text.

        The turns that it cites and those of equal text stay in the log, redacted, and are neither recalled nor learnt
        from. Nothing that comes from any of it is learnt, restored or imported again.

        Args:
            entry_id: Which one.
            turns: What of the conversation goes with it: `cited`; `all`, which is also what else says it, in turns,
                entries and feedback; `none`, which redacts no turn and withholds those that the entry cites.
            says_it: What else says it, as a person has chosen of `restatements`; None takes all that is found.

        Raises:
            UnknownRecordError: no entry has this id.
            InvalidOptionsError: there is no such choice.
        """
        choice = clean_member(TurnsChoice, "turns", turns)
        if choice is TurnsChoice.ALL and says_it is None:
            says_it = chosen(await self.restatements(entry_id))
        forgotten = await self._storage.write(
            self._scope, lambda unit: unit.forget(entry_id, choice=choice, says_it=says_it)
        )
        await clear_files(self._scope, self._storage, self._recall, self._aftermath)
        return forgotten

    async def preview_forget(
        self, entry_id: str, *, turns: TurnsChoice | str = TurnsChoice.CITED, says_it: SaysIt | None = None
    ) -> Forgotten:
        """Return what `forget` would do now; nothing is changed. Arguments and errors as there."""
        choice = clean_member(TurnsChoice, "turns", turns)
        if choice is TurnsChoice.ALL and says_it is None:
            says_it = chosen(await self.restatements(entry_id))
        return await preview(
            self._storage, self._scope, lambda unit: unit.forget(entry_id, choice=choice, says_it=says_it)
        )

    async def restatements(self, entry_id: str) -> tuple[Restatement, ...]:
        """Return what else says what an entry says, in turns, entries and feedback, the most alike first.

        By the words; a model is asked once, which nobody stores. UnknownRecordError if no entry has this id.
        """
        return await self._finder.find(self._scope, entry_id)

    async def is_forgotten(self, content: str) -> bool:
        """Tell whether a person asked to forget this text, whatever became of it since."""
        key = fold_key(content)
        return key in await self._storage.read(self._scope, lambda view: view.forgotten.contains({key}))

    async def off_limits_in(self, content: str) -> str | None:
        """Return the off-limits topic that a text names by its words, or None; a person may keep it all the same."""

        def work(view: ReadView) -> str | None:
            return named_topic([topic.words for topic in off_limits_topics(view)], content)

        return await self._storage.read(self._scope, work)

    async def refuse_secret(self, content: str) -> None:
        """Refuse a text that seems to hold a secret: for texts of a model, a client or a command.

        Raises:
            SecretError: it seems to, and the option `secrets` does not say that it is kept.
        """
        if self._secrets is SecretPolicy.KEEP:
            return
        kind = await asyncio.to_thread(secret_in, content)
        if kind is not None:
            raise SecretError(kind=kind)

    async def archive(self, entry_id: str, *, reason: str) -> MemoryEntry:
        """Set an active entry aside: nobody recalls it any longer, retention purges it later, `restore` brings it back.

        Args:
            entry_id: Which one.
            reason: Why; shown to people.

        Returns:
            The entry as it is now stored.

        Raises:
            UnknownRecordError: no entry has this id.
            InvalidContentError: the entry is not active, or the reason cannot be stored.
        """
        why = clean_text("reason", reason)
        return await self._storage.write(self._scope, lambda unit: retire(unit, entry_id, why))

    async def set_aside(self, entry_id: str, *, reason: str) -> MemoryEntry:
        """Archive an active entry that shall not come up again, until a person brings it back or deletes it for good.

        The turns that it cites and those that say the same are withheld with it: neither recalled nor learnt from.
        Entries of equal text go with it, unless they are pinned. Arguments, answer and errors as of `archive`.
        """
        why = clean_text("reason", reason)

        also = chosen(await self.restatements(entry_id)).turns

        def work(unit: UnitOfWork) -> MemoryEntry:
            retired = retire(unit, entry_id, why)
            unit.withhold(entry_id, also)
            for twin in unit.entries.with_fold_keys({fold_key(retired.content)}):
                if twin.id != entry_id and twin.is_active and not twin.pinned:
                    retire(unit, twin.id, why)
                    unit.withhold(twin.id, {})
            return retired

        return await self._storage.write(self._scope, work)

    async def update(self, entry_id: str, **changes: Unpack[MemoryChanges]) -> MemoryEntry:
        """Change an active entry; whatever is not named stays as it is.

        Args:
            entry_id: Which one.
            **changes: Any of `content`, `category`, `tags`, `importance`, `subject_time`, `metadata`, `pinned`
                (see `MemoryChanges`).

        Returns:
            The entry as it is now stored.

        Raises:
            UnknownRecordError: no entry has this id.
            InvalidInputError: something cannot be stored, or the entry is not active.
        """
        return await self._storage.write(self._scope, partial(amend, entry_id=entry_id, fields=checked(changes)))

    async def page(
        self,
        *,
        category: str | None = None,
        tags: Iterable[str] = (),
        status: Status | None = Status.ACTIVE,
        limit: int = 100,
        after: PagePlace | None = None,
    ) -> Entries:
        """Return entries, the latest stored first, from *after* on.

        Pages that follow one another give each entry once, whatever is added, changed or removed between them.

        Args:
            category: Only this category and everything below it.
            tags: Only entries with all of these.
            status: Only entries in this state; None for all.
            limit: How many at most, 1 or more.
            after: Where the last page ended, `PagePlace(entry.recorded_at, entry.id)` of its last entry; None for the
                first page.
        """
        where = replace(
            _in_state(status),
            category=None if category is None else clean_category(category),
            tags=clean_tags(tags),
        )
        most = clean_limit(limit)
        return await self._storage.read(self._scope, lambda view: view.pages.entries(where, after=after, limit=most))

    async def list(
        self,
        *,
        category: str | None = None,
        tags: Iterable[str] = (),
        status: Status | None = Status.ACTIVE,
        limit: int = 100,
        offset: int = 0,
    ) -> Entries:
        """Return entries, the latest seen first.

        Args:
            category: Only this category and everything below it.
            tags: Only entries with all of these.
            status: Only entries in this state; None for all.
            limit: How many at most, 0 or more.
            offset: How many to pass over first.
        """
        for name, value in (("limit", limit), ("offset", offset)):
            if value < 0:
                raise InvalidOptionsError(field=name, value=value, allowed="give 0 or more")
        where = replace(
            _in_state(status),
            category=None if category is None else clean_category(category),
            tags=clean_tags(tags),
        )
        return await self._storage.read(
            self._scope, lambda view: view.entries.select(where, limit=limit, offset=offset)
        )


def _in_state(status: Status | None) -> EntryFilter:
    return EntryFilter(statuses=frozenset() if status is None else frozenset({status}))


def _cleaned(texts: Sequence[str]) -> list[str]:
    contents: list[str] = []
    for number, text in enumerate(texts, start=1):
        try:
            contents.append(clean_content(text))
        except InvalidContentError as error:
            if len(texts) > 1:
                error.add_note(f"It is text {number:,} of {len(texts):,}.")
            raise
    return contents
