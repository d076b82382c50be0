"""Keeps the topics that a person wants nothing kept about."""

from dataclasses import replace

from agentcore.domain.off_limits import LONGEST_TOPIC, MOST_TOPICS, OffLimitsTopic
from agentcore.domain.records import RecordKind
from agentcore.domain.scope import Scope
from agentcore.domain.text import fold_key
from agentcore.errors import InvalidContentError, UnknownRecordError
from agentcore.hosting.checks import clean_name
from agentcore.ids import IdFactory
from agentcore.stores.forgetting import Tombstone, TombstoneKind
from agentcore.stores.storage import ReadView, Storage, UnitOfWork


class OffLimits:
    """One scope's off-limits topics; keeps nothing itself, so it may be made anew at any time.

    A topic is a person's own words. It is kept as they said it until they remove it, is part of an export, and stands
    as a rule in every prompt that reads or verifies. So ask the person before you add one: the words themselves are
    kept, and sent to the model. What is stored already, and what a person has remembered from now on, stays; `forget`
    removes it.

    Args:
        scope: Whose memory.
        storage: Where they are kept.
        ids: Names new ones.
    """

    def __init__(self, scope: Scope, *, storage: Storage, ids: IdFactory) -> None:
        self._scope = scope
        self._storage = storage
        self._ids = ids

    async def all(self) -> list[OffLimitsTopic]:
        """Return them, the first named first."""
        return await self._storage.read(self._scope, off_limits_topics)

    async def add(self, words: str) -> OffLimitsTopic:
        """Have nothing kept about a topic; return it, or the one there is in these words already.

        Raises:
            InvalidContentError: the words are blank, of several lines or too long, or there are too many topics.

        Example:
            >>> import asyncio
            >>> from agentcore import AgentHostBuilder
            >>> async def main() -> None:
            ...     async with AgentHostBuilder(None).with_memory().build() as host:
            ...         await host.off_limits.add("my health")
            ...         print([topic.words for topic in await host.off_limits.all()])
            >>> asyncio.run(main())
            ['my health']
        """
        named = _clean(words)
        new_id = self._ids.new()

        def work(unit: UnitOfWork) -> OffLimitsTopic:
            known = off_limits_topics(unit)
            same = next((one for one in known if fold_key(one.words) == fold_key(named)), None)
            if same is not None:
                return same
            if len(known) >= MOST_TOPICS:
                problem = f"there are {MOST_TOPICS} already; remove one, or name a wider one instead of several"
                raise InvalidContentError(field="off-limits topic", problem=problem)
            topic = OffLimitsTopic(id=new_id, scope=self._scope, words=named, created_at=unit.now)
            unit.of_kind(RecordKind.OFF_LIMITS_TOPIC).apply([(None, topic)])
            return topic

        return await self._storage.write(self._scope, work)

    async def reword(self, topic: str, words: str) -> OffLimitsTopic:
        """Put other words in the place of those of a topic; return it as it is now stored.

        Args:
            topic: Its id, or its words.
            words: The new words.

        Raises:
            UnknownRecordError: there is no such topic.
            InvalidContentError: the words are blank, of several lines or too long.
        """
        named = _clean(words)

        def work(unit: UnitOfWork) -> OffLimitsTopic:
            before = _found(unit, topic)
            unit.of_kind(RecordKind.OFF_LIMITS_TOPIC).apply([(before, replace(before, words=named))])
            return _found(unit, before.id)

        return await self._storage.write(self._scope, work)

    async def remove(self, topic: str) -> OffLimitsTopic:
        """Allow a topic again, and return it; its words are deleted, and no older export or backup brings them back.

        Args:
            topic: Its id, or its words.

        Raises:
            UnknownRecordError: there is no such topic.
        """

        def work(unit: UnitOfWork) -> OffLimitsTopic:
            found = _found(unit, topic)
            unit.of_kind(RecordKind.OFF_LIMITS_TOPIC).delete([found.id])
            unit.tombstones.add([Tombstone(TombstoneKind.TOPIC, found.id, unit.now)])
            return found

        return await self._storage.write(self._scope, work)


def off_limits_topics(view: ReadView) -> list[OffLimitsTopic]:
    """Return the off-limits topics of a scope, the first named first."""
    return sorted(view.of_kind(RecordKind.OFF_LIMITS_TOPIC).every(), key=lambda one: (one.created_at, one.id))


def _found(view: ReadView, topic: str) -> OffLimitsTopic:
    wanted = fold_key(topic)
    for one in off_limits_topics(view):
        if topic == one.id or wanted == fold_key(one.words):
            return one
    raise UnknownRecordError(kind="off-limits topic", value=topic)


def _clean(words: object) -> str:
    return clean_name("off-limits topic", words, most=LONGEST_TOPIC)
