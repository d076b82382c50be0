"""Conclusions: what becomes of one when what it rests on changes."""

from dataclasses import replace
from typing import Any

from agentcore.domain.conclusion import Confidence
from agentcore.domain.memory import Level, MemoryEntry, Status
from agentcore.domain.subject_time import PartialDate
from agentcore.domain.text import fold_key
from agentcore.domain.validity import revived
from agentcore.stores.storage import Origin, Storage
from agentcore.testing.contracts.samples import (
    DAY,
    SCOPE,
    START,
    a_deduction,
    a_pattern,
    a_premise,
    an_entry,
    expect_equal,
    expect_some,
    some_evidence,
)


class ConclusionContract:
    """What a storage owes to conclusions, whoever writes: none is live that rests on less than it needs."""

    async def test_a_deduction_goes_with_a_premise_and_comes_back_with_it(self, storage: Storage) -> None:
        """In the transaction that changes the premise, to the byte."""
        follows = a_deduction("follows", "p", "q")
        await _add(storage, an_entry("p"), an_entry("q"), follows)
        gone = await _change(storage, "p", status=Status.ARCHIVED, status_reason="Old.", status_at=START)
        found = await _get(storage, "follows")
        expect_equal((found.status, found.status_reason), (Status.ARCHIVED, "premise_gone: p"))
        await _replace(storage, gone, revived(gone))
        expect_equal(await _get(storage, "follows"), follows)

    async def test_what_rests_on_a_conclusion_goes_and_comes_with_it(self, storage: Storage) -> None:
        """However far up."""
        one = a_deduction("one", "p")
        two = a_deduction("two", "one", premises=(a_premise("one", text_key=fold_key(one.content)),))
        three = a_deduction("three", "two", premises=(a_premise("two", text_key=fold_key(two.content)),))
        await _add(storage, three, two, one, an_entry("p"))
        await _change(storage, "p", content="Ana likes black tea.")
        expect_equal(await _standing(storage, "one", "two", "three"), [False, False, False])
        await _change(storage, "p", content="Ana likes green tea.")
        expect_equal(await _standing(storage, "one", "two", "three"), [True, True, True])

    async def test_confidence_falls_and_rises_with_the_evidence(self, storage: Storage) -> None:
        """And below two occasions a pattern is none."""
        await _add(storage, *map(an_entry, "pqr"), a_pattern("habit", "p", "q", "r"))
        await storage.write(SCOPE, lambda unit: unit.entries.delete(["r"]))
        expect_equal((await _get(storage, "habit")).confidence, Confidence.LOW)
        await storage.write(SCOPE, lambda unit: unit.entries.delete(["q"]))
        expect_equal(await _standing(storage, "habit"), [False])
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("q"), an_entry("r")]), origin=Origin.UNDO)
        found = await _get(storage, "habit")
        expect_equal((found.status, found.confidence), (Status.ACTIVE, Confidence.MEDIUM))

    async def test_evidence_against_a_pattern_counts_as_long_as_it_is_live(self, storage: Storage) -> None:
        """What speaks against it going makes it surer."""
        against = a_premise("r", session="s-r", against=True)
        habit = a_pattern("habit", "p", "q", "r", "s")
        resting = tuple(sorted(one if one.entry_id != "r" else against for one in habit.premises))
        await _add(storage, *map(an_entry, "pqrs"), replace(habit, premises=resting, confidence=Confidence.LOW))
        expect_equal((await _get(storage, "habit")).confidence, Confidence.LOW)
        await storage.write(SCOPE, lambda unit: unit.entries.delete(["r"]))
        expect_equal((await _get(storage, "habit")).confidence, Confidence.MEDIUM)

    async def test_what_held_once_bears_what_is_about_the_past(self, storage: Storage) -> None:
        """Superseded with an end it held; without one it never did."""
        past = a_deduction("moved", "p", premises=(a_premise("p", past=True),))
        await _add(storage, an_entry("p"), past, a_deduction("now", "p"))
        retired = {"status": Status.SUPERSEDED, "status_reason": "Moved.", "successor": "x", "status_at": START}
        await _change(storage, "p", valid_until=PartialDate.parse("2025-06"), **retired)
        expect_equal(await _standing(storage, "moved", "now"), [True, False])
        await _change(storage, "p", valid_until=None, **retired)
        expect_equal(await _standing(storage, "moved", "now"), [False, False])

    async def test_a_copy_bears_what_rests_on_it_while_what_it_was_folded_into_lives(self, storage: Storage) -> None:
        """An equal text says the same; one that somebody wrote anew since does not."""
        await _add(storage, an_entry("p"), an_entry("q", created_at=START - DAY), a_deduction("follows", "p"))
        folded = {"status": Status.ARCHIVED, "status_reason": "Copy.", "successor": "q", "status_at": START}
        await _change(storage, "p", **folded)
        await _change(storage, "q", absorbed=(("p", 1),))
        expect_equal(await _standing(storage, "follows"), [True])
        await _change(storage, "q", content="Ana likes tea.", evidence=(some_evidence("Ana likes tea."),))
        expect_equal(await _standing(storage, "follows"), [False])

    async def test_what_was_merged_bears_what_rests_on_it_while_the_merge_tells_it(self, storage: Storage) -> None:
        """At whatever remove: until that is retired, or written anew without the evidence."""
        said = some_evidence("Ana likes green tea.")
        merged = an_entry("m", "Ana likes green tea and cats.", own_count=0, absorbed=(("p", 1),), evidence=(said,))
        again = replace(merged, id="n", content="Ana likes cats and green tea.")
        await _add(storage, an_entry("p", evidence=(said,)), merged, again, a_deduction("follows", "p"))
        gone = await _change(storage, "p", **_merged_into("m"))
        expect_equal(await _standing(storage, "follows"), [True])
        passed_on = await _change(storage, "m", **_merged_into("n"))
        expect_equal(await _standing(storage, "follows"), [True])
        reworded = await _change(storage, "n", content="Cats and green tea are liked.")
        expect_equal(await _standing(storage, "follows"), [True])
        await _change(storage, "n", content="Ana likes cats.", evidence=(some_evidence("Ana likes cats."),))
        expect_equal(await _standing(storage, "follows"), [False])
        await _replace(storage, await _get(storage, "n"), reworded)
        await _change(storage, "n", status=Status.ARCHIVED, status_reason="Old.", status_at=START)
        expect_equal(await _standing(storage, "follows"), [False])
        await _replace(storage, passed_on, revived(passed_on))
        expect_equal(await _standing(storage, "follows"), [True])
        await _replace(storage, await _get(storage, "m"), replace(passed_on, successor=None))
        await _replace(storage, gone, revived(gone))
        expect_equal(await _standing(storage, "follows"), [True])

    async def test_what_gave_way_to_a_merge_bears_nothing(self, storage: Storage) -> None:
        """It was superseded: the merged text tells something else."""
        merged = an_entry("m", "Ana likes black tea.", own_count=0, absorbed=(("q", 1),))
        await _add(storage, an_entry("p"), an_entry("q", "Black tea."), merged, a_deduction("follows", "p"))
        await _change(
            storage, "p", status=Status.SUPERSEDED, status_reason="It changed.", successor="m", status_at=START
        )
        expect_equal(await _standing(storage, "follows"), [False])

    async def test_what_was_set_aside_for_another_reason_stays_so(self, storage: Storage) -> None:
        """Only what lacked its premises comes back with them."""
        retired = {"status": Status.ARCHIVED, "status_reason": "Wrong.", "status_at": START}
        await _add(storage, an_entry("p"), a_deduction("follows", "p", **retired))
        gone = await _change(storage, "p", status=Status.ARCHIVED, status_reason="Old.", status_at=START)
        await _replace(storage, gone, revived(gone))
        expect_equal((await _get(storage, "follows")).status_reason, "Wrong.")

    async def test_a_forgotten_premise_takes_its_conclusions_with_it(self, storage: Storage) -> None:
        """What was derived from it goes; what it was one of several occasions of goes too."""
        other = an_entry("q", "Ana drinks tea at work.")
        await _add(storage, an_entry("p"), other, a_deduction("follows", "p", "q"))
        await storage.write(SCOPE, lambda unit: unit.forget("p"))
        expect_equal(await storage.read(SCOPE, lambda view: view.entries.get("follows")), None)

    async def test_a_premise_may_come_after_what_rests_on_it(self, storage: Storage) -> None:
        """As an import brings them; until then the conclusion is set aside."""
        await storage.write(SCOPE, lambda unit: unit.entries.add([a_deduction("follows", "p")]), origin=Origin.IMPORT)
        expect_equal(await _standing(storage, "follows"), [False])
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("p")]), origin=Origin.IMPORT)
        expect_equal(await _standing(storage, "follows"), [True])

    async def test_conclusions_in_a_circle_end(self, storage: Storage) -> None:
        """No dream writes one; an import may."""
        one, two = (a_deduction(name, other) for name, other in (("one", "two"), ("two", "one")))
        pair = [
            replace(mine, premises=(a_premise(other.id, text_key=fold_key(other.content)),))
            for mine, other in ((one, two), (two, one))
        ]
        await _add(storage, *pair)
        await _change(storage, "one", content="Something else.")
        expect_equal(await _standing(storage, "one", "two"), [False, False])

    async def test_what_was_settled_is_told_to_whoever_writes_a_journal(self, storage: Storage) -> None:
        """Before and after, once."""
        follows = a_deduction("follows", "p")
        await _add(storage, an_entry("p"), follows)

        def retire(unit: Any) -> tuple[list[Any], list[Any]]:
            entry = unit.entries.get("p")
            after = replace(entry, status=Status.ARCHIVED, status_reason="Old.", status_at=START)
            unit.entries.replace([(entry, after)])
            return unit.conclusions.settle(), unit.conclusions.settle()

        (told, again) = await storage.write(SCOPE, retire)
        expect_equal(told, [(follows, await _get(storage, "follows"))])
        expect_equal(again, [])

    async def test_what_rests_on_an_entry_is_found(self, storage: Storage) -> None:
        """Conclusions alone, and how each stands."""
        merge = an_entry("merge", "Tea.", level=Level.DERIVED, sources=a_deduction("x", "p").sources)
        await _add(storage, an_entry("p"), merge, a_deduction("follows", "p", "q"))
        found = await storage.read(SCOPE, lambda view: view.conclusions.resting_on(["p"]))
        expect_equal([entry.id for entry in found], ["follows"])
        footing = await storage.read(SCOPE, lambda view: view.conclusions.footing(found[0]))
        expect_equal((footing.stands, footing.missing), (False, "q"))


def _merged_into(heir: str) -> dict[str, Any]:
    return {"status": Status.ARCHIVED, "status_reason": "Merged.", "successor": heir, "status_at": START}


async def _add(storage: Storage, *entries: MemoryEntry) -> None:
    await storage.write(SCOPE, lambda unit: unit.entries.add(entries))


async def _get(storage: Storage, entry_id: str) -> MemoryEntry:
    return expect_some(await storage.read(SCOPE, lambda view: view.entries.get(entry_id)))


async def _change(storage: Storage, entry_id: str, **fields: Any) -> MemoryEntry:
    before = await _get(storage, entry_id)
    await _replace(storage, before, replace(before, **fields))
    return await _get(storage, entry_id)


async def _replace(storage: Storage, before: MemoryEntry, after: MemoryEntry) -> None:
    await storage.write(SCOPE, lambda unit: unit.entries.replace([(before, after)]))


async def _standing(storage: Storage, *ids: str) -> list[bool]:
    return [(await _get(storage, one)).is_active for one in ids]
