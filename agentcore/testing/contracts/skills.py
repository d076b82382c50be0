"""Skills."""

import dataclasses

from agentcore.domain.memory import Status, Trust
from agentcore.domain.skill import Skill
from agentcore.errors import InvalidContentError, StaleVersionError, UnknownRecordError
from agentcore.stores.storage import Storage
from agentcore.testing.contracts.samples import (
    DAY,
    OTHER_SCOPE,
    SCOPE,
    START,
    a_skill,
    expect_equal,
    expect_error,
    expect_some,
)


class SkillContract:
    """What a store of skills owes."""

    async def test_a_skill_comes_back_as_it_was_added(self, storage: Storage) -> None:
        """Every field survives."""
        full = a_skill(
            "full",
            "mail/send",
            updated_at=START - DAY,
            last_used_at=START,
            see_also=("calendar", 'odd "name"'),
            trust=Trust.INFERRED,
            status=Status.SUPERSEDED,
            status_reason="Rewritten.",
            successor="mail/write",
            status_at=START,
        )
        await storage.write(SCOPE, lambda unit: (unit.skills.add(full), unit.skills.add(a_skill("plain"))))
        for skill in (full, a_skill("plain")):
            expect_equal(await storage.read(SCOPE, lambda view, skill=skill: view.skills.get(skill.id)), skill)
        ids = ["plain", "unknown", "full", "plain"]
        both = await storage.read(SCOPE, lambda view: view.skills.get_many(ids))
        expect_equal(both, [full, a_skill("plain")])
        expect_equal(await storage.read(SCOPE, lambda view: view.skills.get("unknown")), None)

    async def test_a_skill_is_known_by_its_name_while_it_is_active(self, storage: Storage) -> None:
        """A retired skill has given its name back."""
        old = a_skill("old", status=Status.ARCHIVED, status_at=START)
        await storage.write(SCOPE, lambda unit: unit.skills.add(old))
        expect_equal(await storage.read(SCOPE, lambda view: view.skills.named("mail/send")), None)
        await storage.write(SCOPE, lambda unit: unit.skills.add(a_skill("new")))
        found = expect_some(await storage.read(SCOPE, lambda view: view.skills.named("mail/send")))
        expect_equal(found.id, "new")

    async def test_the_catalogue_is_by_name(self, storage: Storage) -> None:
        """Active ones below a prefix; case tells."""
        names = ["mail/send", "Mail", "calendar", "mail", "mailbox", "ma%l"]

        await storage.write(SCOPE, lambda unit: [unit.skills.add(a_skill(name, name)) for name in names])
        retired = a_skill("x", "mail/old", status=Status.ARCHIVED)
        await storage.write(SCOPE, lambda unit: unit.skills.add(retired))
        expect_equal(await _catalogue(storage, ""), sorted(names))
        expect_equal(await _catalogue(storage, "mail"), ["mail", "mail/send", "mailbox"])
        expect_equal(await _catalogue(storage, "ma%"), ["ma%l"])

    async def test_the_names_are_those_of_active_skills(self, storage: Storage) -> None:
        """What a new skill would have to be told apart from."""
        retired = a_skill("x", "mail/old", status=Status.ARCHIVED)
        kept = [a_skill("a", "mail"), a_skill("b", "Mail"), retired]
        await storage.write(SCOPE, lambda unit: [unit.skills.add(skill) for skill in kept])
        expect_equal(await storage.read(SCOPE, lambda view: view.skills.names()), {"mail", "Mail"})
        among = ["Mail", "mail/old", "mail/none", "Mail"]
        expect_equal(await storage.read(SCOPE, lambda view: view.skills.names(among)), {"Mail"})
        expect_equal(await storage.read(SCOPE, lambda view: view.skills.names([])), set[str]())
        expect_equal(await storage.read(OTHER_SCOPE, lambda view: view.skills.names()), set[str]())

    async def test_skills_that_lead_to_others_are_found(self, storage: Storage) -> None:
        """Active ones that name one of them whole, in its own case, as related; by name."""
        kept = [
            a_skill("1", "z", see_also=("ma%l", "other")),
            a_skill("2", "b", see_also=("mail",)),
            a_skill("3", "c", see_also=("Mail", "mail/send", "mailbox")),
            a_skill("4", "d", see_also=("mail",), status=Status.ARCHIVED),
            a_skill("5", "mail"),
        ]
        await storage.write(SCOPE, lambda unit: [unit.skills.add(skill) for skill in kept])
        found = await storage.read(SCOPE, lambda view: view.skills.leading_to(["mail", "ma%l"]))
        expect_equal([skill.id for skill in found], ["2", "1"])
        expect_equal(await storage.read(SCOPE, lambda view: view.skills.leading_to([])), list[Skill]())

    async def test_a_name_stays_taken_when_its_skill_is_retired(self, storage: Storage) -> None:
        """Whoever looks for a fresh name sees every skill there ever was; case tells."""
        old = a_skill("old", "mail/old", status=Status.ARCHIVED, status_at=START)
        await storage.write(SCOPE, lambda unit: (unit.skills.add(old), unit.skills.add(a_skill("new", "mail/new"))))
        names = ["mail/old", "mail/new", "mail/none", "Mail/new"]
        expect_equal(await storage.read(SCOPE, lambda view: view.skills.taken(names)), {"mail/old", "mail/new"})
        expect_equal(await storage.read(OTHER_SCOPE, lambda view: view.skills.taken(names)), set[str]())

    async def test_earlier_versions_of_active_skills_are_found(self, storage: Storage) -> None:
        """Retired ones that share the name of an active one, longest retired first."""

        def former(skill_id: str, name: str, days: int) -> Skill:
            return a_skill(skill_id, name, status=Status.SUPERSEDED, status_at=START + days * DAY)

        kept = [a_skill("a", "mail"), former("b", "mail", 2), former("c", "mail", 1), former("d", "gone", 1)]
        await storage.write(SCOPE, lambda unit: [unit.skills.add(skill) for skill in kept])
        found = await storage.read(SCOPE, lambda view: view.skills.earlier())
        expect_equal([skill.id for skill in found], ["c", "b"])

    async def test_a_skill_is_found_by_a_name_it_shares_and_by_the_beginning_of_its_id(self, storage: Storage) -> None:
        """In whatever state it is."""
        kept = [a_skill("b1", "mail", status=Status.ARCHIVED), a_skill("a1", "mail"), a_skill("a22", "gone")]
        await storage.write(SCOPE, lambda unit: [unit.skills.add(skill) for skill in kept])
        for name, ids in (("mail", ["b1", "a1"]), ("gone", ["a22"]), ("mai", [])):
            found = await storage.read(SCOPE, lambda view, name=name: view.skills.ever_named(name))
            expect_equal([skill.id for skill in found], ids)
        expect_equal(await storage.read(OTHER_SCOPE, lambda view: view.skills.ever_named("mail")), [])
        for prefix, skill_id in (("b", "b1"), ("a2", "a22"), ("a1", "a1")):
            expect_equal(await storage.read(SCOPE, lambda view, prefix=prefix: view.skills.resolve(prefix)), skill_id)
        for prefix in ("a", "", "mail"):
            await expect_error(
                UnknownRecordError, storage.read(SCOPE, lambda view, prefix=prefix: view.skills.resolve(prefix))
            )

    async def test_a_taken_name_or_id_is_refused(self, storage: Storage) -> None:
        """Two active skills never share a name."""
        await storage.write(SCOPE, lambda unit: unit.skills.add(a_skill("a", "mail")))
        for rival in (a_skill("b", "mail"), a_skill("a", "other")):
            await expect_error(
                StaleVersionError, storage.write(SCOPE, lambda unit, rival=rival: unit.skills.add(rival))
            )
        await storage.write(SCOPE, lambda unit: unit.skills.add(a_skill("c", "calendar")))
        renamed = a_skill("c", "mail")
        await expect_error(
            StaleVersionError,
            storage.write(SCOPE, lambda unit: unit.skills.replace(a_skill("c", "calendar"), renamed)),
        )
        expect_equal(await _catalogue(storage, ""), ["calendar", "mail"])

    async def test_a_skill_of_another_scope_is_refused(self, storage: Storage) -> None:
        """A unit of work is bound to one scope."""
        foreign = a_skill("a", scope=OTHER_SCOPE)
        await expect_error(InvalidContentError, storage.write(SCOPE, lambda unit: unit.skills.add(foreign)))

    async def test_a_rewrite_raises_the_version_and_an_old_one_is_refused(self, storage: Storage) -> None:
        """Optimistic versions: who comes second reads again."""
        before = a_skill("a")
        after = dataclasses.replace(before, content="1. Think.", updated_at=START)
        await storage.write(SCOPE, lambda unit: unit.skills.add(before))
        await storage.write(SCOPE, lambda unit: unit.skills.replace(before, after))
        found = expect_some(await storage.read(SCOPE, lambda view: view.skills.get("a")))
        expect_equal((found, found.version), (after, 2))
        await expect_error(StaleVersionError, storage.write(SCOPE, lambda unit: unit.skills.replace(before, before)))
        gone = a_skill("gone", "gone")
        await expect_error(StaleVersionError, storage.write(SCOPE, lambda unit: unit.skills.replace(gone, gone)))

    async def test_a_deleted_skill_is_gone(self, storage: Storage) -> None:
        """Deletion counts what was there."""
        await storage.write(SCOPE, lambda unit: unit.skills.add(a_skill("a")))
        expect_equal(await storage.write(SCOPE, lambda unit: unit.skills.delete(["a", "unknown"])), 1)
        expect_equal(await storage.read(SCOPE, lambda view: view.skills.get("a")), None)


async def _catalogue(storage: Storage, prefix: str) -> list[str]:
    found = await storage.read(SCOPE, lambda view: view.skills.catalogue(prefix=prefix))
    return [skill.name for skill in found]
