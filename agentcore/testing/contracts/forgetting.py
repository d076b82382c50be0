"""Forgetting: an entry, what was made of it alone, and the way back of the rest."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agentcore.domain.conversation import Turn
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import Level, MemoryEntry, SourceKind, SourceRef, Status
from agentcore.domain.text import fold_key
from agentcore.errors import UnknownRecordError
from agentcore.stores.storage import Origin, Storage
from agentcore.stores.values import FeedPosition, Withheld
from agentcore.testing.contracts.samples import (
    OTHER_SCOPE,
    SCOPE,
    START,
    a_turn,
    an_entry,
    expect_equal,
    expect_error,
    expect_some,
    some_evidence,
)

_LONG = "Ana, Ben, Carla, Dora, Emil, Franz, Greta and Hugo meet in Porto."
"""Long enough for its hash to be kept."""


class ForgetContract:
    """What a storage owes to a person who asks it to forget."""

    async def test_an_entry_is_forgotten_with_its_equal_texts(self, storage: Storage) -> None:
        """Whatever their state and filing; nothing else goes."""
        entries = [
            an_entry("a", "Ana is ill."),
            an_entry("b", "ana is  ILL", category="people/ana"),
            _into("c", "Ana is ill.", "a"),
            an_entry("d", "Ana is well."),
        ]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        done = await storage.write(SCOPE, lambda unit: unit.forget("a"))
        expect_equal((done.removed, done.restored), (("a", "b", "c"), ()))
        expect_equal(await _all(storage), {"d": Status.ACTIVE})

    async def test_what_was_made_of_it_goes_with_it(self, storage: Storage) -> None:
        """However far down."""
        entries = [an_entry("a", "Ana is ill."), _made_of("b", "a"), _made_of("c", "b"), _made_of("d", "x")]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries), origin=Origin.DREAM)
        done = await storage.write(SCOPE, lambda unit: unit.forget("a"))
        expect_equal(done.removed, ("a", "b", "c"))
        expect_equal(await _all(storage), {"d": Status.ACTIVE})

    async def test_the_other_sources_of_a_merge_come_back(self, storage: Storage) -> None:
        """Active and current, at the version after the one they had."""
        entries = [
            _into("a", "Ana is ill.", "m"),
            _into("b", "Ana has a cold.", "m", status=Status.SUPERSEDED),
            _made_of("m", "a", "b"),
        ]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        done = await storage.write(SCOPE, lambda unit: unit.forget("a"))
        expect_equal((done.removed, done.restored), (("a", "m"), ("b",)))
        found = expect_some(await storage.read(SCOPE, lambda view: view.entries.get("b")))
        expect_equal((found, found.version), (an_entry("b", "Ana has a cold."), 2))

    async def test_a_merge_of_merges_gives_back_every_other_source(self, storage: Storage) -> None:
        """A merge that has no part in the forgotten text comes back whole."""
        entries = [
            _into("a", "Ana is ill.", "m1"),
            _into("b", "Text b.", "m1"),
            _into("c", "Text c.", "m2"),
            _into("d", "Text d.", "m2"),
            _into("m1", "Text m1.", "top", sources=_refs("a", "b")),
            _into("m2", "Text m2.", "top", sources=_refs("c", "d")),
            _made_of("top", "m1", "m2"),
        ]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        done = await storage.write(SCOPE, lambda unit: unit.forget("a"))
        expect_equal((done.removed, done.restored), (("a", "m1", "top"), ("b", "m2")))
        retired = {"c": Status.ARCHIVED, "d": Status.ARCHIVED}
        expect_equal(await _all(storage), retired | {"b": Status.ACTIVE, "m2": Status.ACTIVE})

    async def test_what_was_retired_for_another_reason_stays_retired(self, storage: Storage) -> None:
        """A source that something living took the place of, and one that was never retired."""
        entries = [
            _into("a", "Ana is ill.", "m"),
            _into("b", "Text b.", "living"),
            an_entry("c", "Text c."),
            an_entry("living", "Text b, corrected."),
            _made_of("m", "a", "b", "c"),
        ]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        done = await storage.write(SCOPE, lambda unit: unit.forget("a"))
        expect_equal(done.restored, ())
        wanted = {"b": Status.ARCHIVED, "c": Status.ACTIVE, "living": Status.ACTIVE}
        expect_equal(await _all(storage), wanted)

    async def test_a_forgotten_text_is_recognised_by_its_hash_alone(self, storage: Storage) -> None:
        """So that no import brings it back; in its own scope, and a short one, which could be guessed, not at all."""
        entries = [an_entry("a", _LONG), _made_of("m", "a"), an_entry("other", f"Not {_LONG}")]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        await storage.write(SCOPE, lambda unit: unit.forget("a"))
        keys = {fold_key(_LONG.upper()), fold_key("Text m."), fold_key(f"Not {_LONG}"), fold_key("Unheard of.")}
        forgotten = await storage.read(SCOPE, lambda view: view.forgotten.contains(keys))
        expect_equal(forgotten, {fold_key(_LONG)})
        expect_equal(await storage.read(OTHER_SCOPE, lambda view: view.forgotten.contains(keys)), set())

    async def test_a_text_that_somebody_else_says_is_not_forgotten(self, storage: Storage) -> None:
        """A merge may have worded it as one of its other sources does."""
        entries = [
            _into("a", "Ana is ill.", "m"),
            _into("b", _LONG, "m"),
            an_entry("m", _LONG, level=Level.DERIVED, sources=_refs("a", "b")),
        ]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        await storage.write(SCOPE, lambda unit: unit.forget("a"))
        forgotten = await storage.read(SCOPE, lambda view: view.forgotten.contains([fold_key(_LONG)]))
        expect_equal(forgotten, set())

    async def test_what_was_forgotten_is_remembered_by_its_id(self, storage: Storage) -> None:
        """In its own scope; of a turn whether all of it was or sentences alone."""
        cited = (SourceRef(SourceKind.TURN, "t1"),)
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("t1"), a_turn("t2", session_id="s2")]))
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", sources=cited), _made_of("m", "a")]))
        await storage.write(SCOPE, lambda unit: unit.forget("a"))
        await storage.write(SCOPE, lambda unit: unit.forget_turns(session_id="s2"))
        made = await storage.read(SCOPE, lambda view: view.tombstones.all())
        expect_equal(
            [(one.kind.value, one.record_id, one.whole) for one in made],
            [
                ("entry", "a", True),
                ("entry", "m", True),
                ("session", "s2", True),
                ("turn", "t1", False),
                ("turn", "t2", True),
            ],
        )
        refs = [SourceRef.parse(one) for one in ("entry:a", "entry:b", "turn:t1", "turn:t2", "document:a")]
        touched = await storage.read(SCOPE, lambda view: view.tombstones.touched(refs))
        expect_equal(sorted(map(str, touched)), ["entry:a", "turn:t1", "turn:t2"])
        whole = await storage.read(SCOPE, lambda view: view.tombstones.touched(refs, whole=True))
        expect_equal(sorted(map(str, whole)), ["entry:a", "turn:t2"])
        expect_equal(await storage.read(OTHER_SCOPE, lambda view: view.tombstones.touched(refs)), set())

    async def test_a_restored_state_obeys_what_was_forgotten_since(self, storage: Storage) -> None:
        """What a tombstone names goes again, with what was made of it; what rests on other sentences stays."""
        cited = SourceRef(SourceKind.TURN, "t1")
        ill, tea = some_evidence("I am ill.", source="turn:t1"), some_evidence("I drink tea.", source="turn:t1")
        entries = [
            an_entry("a", "Ana is ill.", sources=(cited,), evidence=(ill,)),
            an_entry("b", "Ana drinks tea.", sources=(cited,), evidence=(tea,)),
            _made_of("m", "a"),
            an_entry("c", "Ana sleeps.", sources=(SourceRef(SourceKind.TURN, "t2"),)),
        ]
        turns = [a_turn("t1", content="I am ill. I drink tea."), a_turn("t2", content="I sleep.", session_id="s2")]
        await storage.write(SCOPE, lambda unit: (unit.turns.add(turns), unit.entries.add(entries)))
        before = (
            [replace(one, scope=OTHER_SCOPE) for one in turns],
            [replace(one, scope=OTHER_SCOPE) for one in entries],
        )
        await storage.write(OTHER_SCOPE, lambda unit: (unit.turns.add(before[0]), unit.entries.add(before[1])))
        await storage.write(SCOPE, lambda unit: unit.forget("a"))
        await storage.write(SCOPE, lambda unit: unit.forget_turns(turn_id="t2"))
        made = await storage.read(SCOPE, lambda view: view.tombstones.all())
        done = await storage.write(OTHER_SCOPE, lambda unit: unit.obey(made))
        expect_equal((done.removed, done.withheld), (("a", "c", "m"), ("t1", "t2")))
        for scope in (SCOPE, OTHER_SCOPE):
            expect_equal(await storage.read(scope, lambda view: [one.id for one in view.entries.every()]), ["b"])
            texts = await storage.read(scope, lambda view: [one.content for one in view.turns.every()])
            expect_equal(texts, ["[forgotten] I drink tea.", "[forgotten]"])
            expect_equal(await storage.read(scope, lambda view: view.tombstones.all()), made)

    async def test_a_text_can_be_forgotten_again(self, storage: Storage) -> None:
        """A person may say it and take it back as often as they like."""
        for _ in range(2):
            await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", "Ana is ill.")]))
            done = await storage.write(SCOPE, lambda unit: unit.forget("a"))
            expect_equal(done.removed, ("a",))

    async def test_followers_hear_of_it(self, storage: Storage) -> None:
        """The recall index drops the removed and takes up the restored."""
        entries = [_into("a", "Ana is ill.", "m"), _into("b", "Text b.", "m"), _made_of("m", "a", "b")]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        start = await storage.read(SCOPE, lambda view: view.entries.changes_since(FeedPosition(), limit=9))
        await storage.write(SCOPE, lambda unit: unit.forget("a"))
        page = await storage.read(SCOPE, lambda view: view.entries.changes_since(start.position, limit=9))
        expect_equal([row.text.split()[1] for row in page.rows], ["b."])
        expect_equal(sorted(row.text.split()[1] for row in start.rows), ["m."])
        expect_equal({row.key for row in start.rows} & set(page.removed), {row.key for row in start.rows})

    async def test_turns_that_say_it_are_withheld(self, storage: Storage) -> None:
        """Those that it cites and those of equal text, old ones alone; they stay in the log."""
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("t1", content="I have a cough")]))
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("t2", content="ana is  ill"), a_turn("t3")]))
        start = await storage.read(SCOPE, lambda view: view.turns.changes_since(FeedPosition(), limit=9))
        cited = (SourceRef(SourceKind.TURN, "t1"),)
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", "Ana is ill.", sources=cited)]))
        done = await storage.write(SCOPE, lambda unit: unit.forget("a"))
        expect_equal(done.withheld, ("t1", "t2"))
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("t4", content="Ana is ill.")]))
        everybody = ["t1", "t2", "t3", "t4"]
        expect_equal(await storage.read(SCOPE, lambda view: view.withheld.turns(everybody)), {"t1", "t2"})
        expect_equal(await storage.read(OTHER_SCOPE, lambda view: view.withheld.turns(everybody)), set())
        expect_equal(await storage.read(SCOPE, lambda view: _ids(view.turns.get_many(everybody))), everybody)
        expect_equal(
            await storage.read(SCOPE, lambda view: _ids(view.learnable.turns.get_many(everybody))), ["t3", "t4"]
        )
        expect_equal(await storage.read(SCOPE, lambda view: view.turns.count_unread()), 2)
        material = await storage.read(SCOPE, lambda view: view.turns.material(after=0, also=everybody, limit=9))
        expect_equal([one.id for one in material], ["t3", "t4"])
        page = await storage.read(SCOPE, lambda view: view.turns.changes_since(start.position, limit=9))
        expect_equal(len(page.removed), 2)
        anew = await storage.read(SCOPE, lambda view: view.turns.changes_since(FeedPosition(), limit=9))
        expect_equal(len(anew.rows), 2)

    async def test_the_sentences_of_a_withheld_turn_leave_the_evidence_of_other_entries(self, storage: Storage) -> None:
        """So do sentences that say the forgotten text, whoever said them; the rest stays."""
        pieces = [
            some_evidence("I am ill, and I drink tea.", source="turn:t1"),
            some_evidence("You know, Ana is  ILL!", source="turn:t2"),
            some_evidence("I drink tea.", source="turn:t3"),
        ]
        entries = [
            an_entry("a", "Ana is ill.", sources=(SourceRef(SourceKind.TURN, "t1"),), evidence=tuple(pieces[:1])),
            an_entry("b", "Ana drinks tea.", evidence=tuple(pieces)),
            _into("c", "Ana likes tea.", "b", evidence=tuple(pieces[:2])),
        ]
        await storage.write(SCOPE, lambda unit: unit.entries.add(entries))
        await storage.write(SCOPE, lambda unit: unit.forget("a"))
        left = await storage.read(SCOPE, lambda view: view.entries.get_many(["b", "c"]))
        expect_equal([entry.evidence for entry in left], [(pieces[2],), ()])

    async def test_evidence_stays_when_its_turn_goes(self, storage: Storage) -> None:
        """A sentence is kept with its entry for this very reason; what is set aside for a while takes none away."""
        cited = {"sources": (SourceRef(SourceKind.TURN, "t1"),), "evidence": (some_evidence("I am ill."),)}
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("t1", "I am ill.")]))
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", "Ana is ill.", **cited)]))
        await storage.write(SCOPE, lambda unit: unit.turns.delete(["t1"]))
        await storage.write(SCOPE, lambda unit: unit.withhold("a"))
        found = expect_some(await storage.read(SCOPE, lambda view: view.entries.get("a")))
        expect_equal(found.evidence, (some_evidence("I am ill."),))

    async def test_an_entry_that_is_set_aside_withholds_its_turns_until_it_is_released(self, storage: Storage) -> None:
        """Followers hear of them again."""
        cited = (SourceRef(SourceKind.TURN, "t1"),)
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("t1"), a_turn("t2")]))
        await storage.write(SCOPE, lambda unit: unit.entries.add([_into("a", "Ana is ill.", "m", sources=cited)]))
        expect_equal(await storage.write(SCOPE, lambda unit: unit.withhold("a")), ("t1",))
        marks = [Withheld(SourceKind.ENTRY, "a", "a"), Withheld(SourceKind.TURN, "t1", "a")]
        expect_equal(await storage.read(SCOPE, lambda view: view.withheld.all()), marks)
        key = fold_key("Ana is ill.")
        expect_equal(set(await storage.read(SCOPE, lambda view: view.forgotten.since({key, "x"}))), {key})
        expect_equal(await storage.read(SCOPE, lambda view: view.forgotten.contains({key})), set())
        start = await storage.read(SCOPE, lambda view: view.turns.changes_since(FeedPosition(), limit=9))
        await storage.write(SCOPE, lambda unit: unit.withheld.release("a"))
        expect_equal(await storage.read(SCOPE, lambda view: view.withheld.all()), [])
        page = await storage.read(SCOPE, lambda view: view.turns.changes_since(start.position, limit=9))
        expect_equal([row.live for row in page.rows], [True])
        await expect_error(UnknownRecordError, storage.write(SCOPE, lambda unit: unit.withhold("nobody")))

    async def test_an_unknown_entry_cannot_be_forgotten(self, storage: Storage) -> None:
        """Nor can that of another scope."""
        await storage.write(OTHER_SCOPE, lambda unit: unit.entries.add([an_entry("a", scope=OTHER_SCOPE)]))
        await expect_error(UnknownRecordError, storage.write(SCOPE, lambda unit: unit.forget("a")))


def _ids(turns: Sequence[Turn]) -> list[str]:
    return [turn.id for turn in turns]


def _refs(*ids: str) -> tuple[SourceRef, ...]:
    return tuple(SourceRef(SourceKind.ENTRY, entry_id) for entry_id in ids)


def _made_of(entry_id: str, *sources: str) -> MemoryEntry:
    return an_entry(entry_id, f"Text {entry_id}.", level=Level.DERIVED, sources=_refs(*sources))


def _into(entry_id: str, content: str, successor: str, **fields: Any) -> MemoryEntry:
    """Return an entry that *successor* took the place of."""
    state: dict[str, Any] = {
        "status": Status.ARCHIVED,
        "status_reason": "Merged.",
        "successor": successor,
        "status_at": START,
    }
    return an_entry(entry_id, content, **(state | fields))


async def _all(storage: Storage) -> dict[str, Status]:
    found = await storage.read(SCOPE, lambda view: view.entries.select(EntryFilter(statuses=frozenset())))
    return {entry.id: entry.status for entry in found}
