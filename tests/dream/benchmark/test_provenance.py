"""Provenance: from an entry down to every turn it was made of, and no further."""

from typing import Any

from dreaming import World

from agentcore.domain import MemoryEntry, SourceRef, Status
from dream.interfaces.benchmark import Provenance


def made_of(world: World, name: str, *sources: str, **fields: Any) -> MemoryEntry:
    return world.entry(name, id=name, sources=tuple(map(SourceRef.parse, sources)), **fields)


def test_a_merge_goes_back_to_the_turns_of_all_it_was_made_of(world: World):
    entries = [
        made_of(world, "a", "turn:1", status=Status.ARCHIVED),
        made_of(world, "b", "turn:2", "turn:3", status=Status.ARCHIVED),
        made_of(world, "ab", "entry:a", "entry:b", status=Status.ARCHIVED),
        made_of(world, "abc", "entry:ab", "turn:4"),
    ]
    assert Provenance(entries).turns("abc") == {"1", "2", "3", "4"}


def test_what_an_entry_absorbed_counts_as_its_own(world: World):
    entries = [made_of(world, "kept", "turn:1", absorbed=(("copy", 2),)), made_of(world, "copy", "turn:2")]
    assert Provenance(entries).turns("kept") == {"1", "2"}


def test_a_successor_does_not_inherit_what_it_replaced(world: World):
    entries = [
        made_of(world, "old", "turn:1", status=Status.SUPERSEDED, successor="new"),
        made_of(world, "new", "turn:2"),
    ]
    assert Provenance(entries).turns("new") == {"2"}


def test_sources_that_are_gone_or_go_round_in_circles_end_the_search(world: World):
    entries = [made_of(world, "a", "entry:b", "entry:purged", "turn:1"), made_of(world, "b", "entry:a", "turn:2")]
    provenance = Provenance(entries)
    assert provenance.turns("a") == provenance.turns("b") == {"1", "2"}
    assert provenance.turns("unheard of") == frozenset()


def test_feedback_and_documents_are_no_turns(world: World):
    assert Provenance([made_of(world, "a", "feedback:1", "document:2")]).turns("a") == frozenset()
