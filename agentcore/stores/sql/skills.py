"""Reads and writes skills."""

from collections.abc import Collection, Sequence

from sqlalchemy import Text, bindparam, delete, or_, select, update
from sqlalchemy.exc import IntegrityError

from agentcore.domain.memory import Status
from agentcore.domain.records import RecordKind
from agentcore.domain.skill import Skill
from agentcore.errors import StaleVersionError, UnknownRecordError
from agentcore.stores.sql.authorship import kind_of_write
from agentcore.stores.sql.feed import SKILLS, read_feed
from agentcore.stores.sql.prepared import PreparedByKey
from agentcore.stores.sql.record_store import SqlRecordReader, SqlRecordStore
from agentcore.stores.sql.rows import RecordRows
from agentcore.stores.sql.schema import skills
from agentcore.stores.sql.transaction import MY_SCOPE, Transaction, chunks, encode, is_active, of_my_scope, starts_with
from agentcore.stores.values import FeedPage, FeedPosition, SkillRow, WriteKind

_ROWS = RecordRows(Skill, skills)
_NONE = encode([])
_ACTIVE = is_active(skills.c.status)
_AMONG = bindparam("among", expanding=True, type_=Text())
_BY_ID = _ROWS.by_id.where(skills.c.id.in_(_AMONG))
# The sum keeps SQLite from walking the whole scope by one of its indexes instead of looking the keys up.
_BY_KEY = PreparedByKey(
    select(*_ROWS.columns, skills.c.pk).where(skills.c.scope_id + 0 == bindparam(MY_SCOPE)), skills.c.pk
)
_NAMED = _ROWS.mine.where(_ACTIVE, skills.c.name == bindparam("of_name"))
_EVER_NAMED = select(skills.c.name).where(of_my_scope(skills), skills.c.name.in_(_AMONG))
_NAMES = select(skills.c.name).where(of_my_scope(skills), _ACTIVE)
_NAMES_AMONG = _NAMES.where(skills.c.name.in_(_AMONG))


class SqlSkillReader(SqlRecordReader[Skill]):
    """Read skills."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction, _ROWS)

    def get(self, skill_id: str) -> Skill | None:
        """Return the skill in whatever state, or None."""
        found = self.get_many((skill_id,))
        return found[0] if found else None

    def get_many(self, ids: Collection[str], /) -> list[Skill]:
        """Return those that exist, in whatever state, sorted by id."""
        found: list[Skill] = []
        for chunk in chunks(sorted(set(ids))):
            rows = self._transaction.execute(_BY_ID, among=chunk).all()
            found += [_ROWS.read(self._transaction, row) for row in rows]
        return found

    def by_keys(self, keys: Sequence[int]) -> dict[int, Skill]:
        """Return skills by the keys that `changes_since` gave."""
        transaction = self._transaction
        return {row[-1]: _ROWS.read(transaction, row) for row in transaction.by_key(_BY_KEY, keys)}

    def changes_since(self, position: FeedPosition, *, limit: int) -> FeedPage[SkillRow]:
        """Return the next page of the feed of skills after *position*; the default position starts from nothing."""
        return read_feed(self._transaction, SKILLS, position, limit=limit)

    def named(self, name: str) -> Skill | None:
        """Return the active skill of that name, or None."""
        row = self._transaction.execute(_NAMED, of_name=name).one_or_none()
        return None if row is None else _ROWS.read(self._transaction, row)

    def ever_named(self, name: str) -> list[Skill]:
        """Return the skills that have this name, in whatever state, in the order they were added."""
        statement = select(*_ROWS.columns).where(self._mine, skills.c.name == name).order_by(skills.c.pk)
        return [_ROWS.read(self._transaction, row) for row in self._connection.execute(statement).all()]

    def resolve(self, prefix: str) -> str:
        """Return the one id, of a skill in whatever state, that starts with *prefix*.

        Raises:
            UnknownRecordError: none or several do.
        """
        statement = select(skills.c.id).where(self._mine, starts_with(skills.c.id, prefix))
        found = self._connection.execute(statement.order_by(skills.c.id).limit(2)).scalars().all()
        if prefix in found:
            return prefix
        if not prefix or len(found) != 1:
            raise UnknownRecordError(kind="skill", value=prefix, matches=len(found))
        return found[0]

    def taken(self, names: Collection[str]) -> set[str]:
        """Return those of *names* that a skill has or once had, in whatever state it is."""
        found: set[str] = set()
        for chunk in chunks(sorted(set(names))):
            found.update(self._transaction.execute(_EVER_NAMED, among=chunk).scalars())
        return found

    def names(self, among: Collection[str] | None = None) -> set[str]:
        """Return the names of active skills: of all, or those among *among*."""
        if among is None:
            return set(self._transaction.execute(_NAMES).scalars().all())
        found: set[str] = set()
        for chunk in chunks(sorted(set(among))):
            found.update(self._transaction.execute(_NAMES_AMONG, among=chunk).scalars())
        return found

    def leading_to(self, names: Collection[str]) -> list[Skill]:
        """Return active skills that name one of *names* as related, by name."""
        found: dict[str, Skill] = {}
        for chunk in chunks(sorted(set(names))):
            # The list is JSON text; that it holds the quoted name is no proof, but leaves few rows to be read.
            holds = or_(*(skills.c.see_also.contains(encode(name), autoescape=True) for name in chunk))
            related = select(*_ROWS.columns).where(self._mine, _ACTIVE, skills.c.see_also != _NONE, holds)
            rows = self._connection.execute(related)
            held = (_ROWS.read(self._transaction, row) for row in rows.all())
            found |= {skill.name: skill for skill in held if not set(chunk).isdisjoint(skill.see_also)}
        return [found[name] for name in sorted(found)]

    def earlier(self) -> list[Skill]:
        """Return retired skills that have the name of an active one, by name, longest retired first."""
        current = select(skills.c.name).where(self._mine, _ACTIVE)
        retired = select(*_ROWS.columns).where(self._mine, ~_ACTIVE, skills.c.name.in_(current))
        statement = retired.order_by(skills.c.name, skills.c.status_at, skills.c.pk)
        return [_ROWS.read(self._transaction, row) for row in self._connection.execute(statement).all()]

    def catalogue(self, *, prefix: str = "") -> list[Skill]:
        """Return active skills whose name starts with *prefix*, by name."""
        named = starts_with(skills.c.name, prefix)
        statement = select(*_ROWS.columns).where(self._mine, _ACTIVE, named).order_by(skills.c.name)
        return [_ROWS.read(self._transaction, row) for row in self._connection.execute(statement).all()]


class SqlSkillStore(SqlSkillReader, SqlRecordStore[Skill]):
    """Write skills."""

    def add(self, skill: Skill, /) -> None:
        """Insert a skill; StaleVersionError if its id is taken, or an active one has its name."""
        if skill.status is Status.ACTIVE and self.named(skill.name) is not None:
            raise StaleVersionError(kind="skill", record_id=skill.name)
        (position,) = self._transaction.new_positions(1)
        row = _ROWS.write(self._transaction, skill) | self._counters(version=1) | {"position": position}
        self._transaction.insert_new(skills, "skill", [row])
        self._transaction.wrote(RecordKind.SKILL, [(skill.id, WriteKind.ADDED)])
        self._transaction.note_activity()

    def replace(self, before: Skill, after: Skill, /) -> None:
        """Write *after* over *before*; StaleVersionError if the stored version is another than *before*'s."""
        row = _ROWS.write(self._transaction, after) | self._counters(version=before.version + 1)
        if self._is_renewed(before, after):
            (row["position"],) = self._transaction.next_positions(1)
            self._transaction.note_activity()
        statement = update(skills).where(self._mine, skills.c.id == before.id, skills.c.version == before.version)
        try:
            written = self._transaction.execute_whole(statement, [row])
        except IntegrityError as error:
            raise StaleVersionError(kind="skill", record_id=after.name) from error
        if written != 1:
            raise StaleVersionError(kind="skill", record_id=before.id)
        self._transaction.wrote(RecordKind.SKILL, [(after.id, kind_of_write(before, after))])

    def delete(self, ids: Collection[str], /) -> int:
        """Remove skills for good; return how many there were."""
        keys: list[int] = []
        for chunk in chunks(sorted(set(ids))):
            keys += self._connection.execute(select(skills.c.pk).where(self._mine, skills.c.id.in_(chunk))).scalars()
        for chunk in chunks(keys):
            self._connection.execute(delete(skills).where(skills.c.pk.in_(chunk)))
        if keys:
            self._transaction.removed(keys, RecordKind.SKILL, ids, told_in=SKILLS.removed)
        return len(keys)

    def _is_renewed(self, before: Skill, after: Skill) -> bool:
        """Whether a person changed what passes judge; a use is no new material."""
        if after.status is not Status.ACTIVE or not self._transaction.by_people:
            return False
        judged_before = (before.name, before.summary, before.content, before.status)
        return judged_before != (after.name, after.summary, after.content, after.status)

    def _counters(self, *, version: int) -> dict[str, int]:
        return {"version": version, "revision": self._transaction.change()}
