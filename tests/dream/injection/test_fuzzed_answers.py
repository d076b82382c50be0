"""Random and mutated answers raise nothing and change nothing that no source supports; and that would be noticed."""

from dataclasses import replace
from typing import Any

import pytest
from dreaming import NOW, World
from unsupported import Scene, made_up, unsupported

from agentcore.domain import MemoryEntry, SourceKind, SourceRef, Status, Trust
from tests.bench.fuzz import fuzzed


async def test_two_thousand_fuzzed_answers_raise_nothing_and_change_nothing_unsupported():
    findings = await fuzzed(3, 2_000)
    assert findings.errors == []
    assert findings.unsupported == []
    # It says something only if much of it got as far as a change, and much was refused on the way.
    assert findings.answers == 2_000
    assert findings.applied > 300
    assert findings.changes > 500
    assert len(findings.codes) >= 20


async def test_fuzzed_answers_about_episodes_preferences_skills_and_wisps_do_neither():
    findings = await fuzzed(11, 240, "others")
    assert (findings.errors, findings.unsupported) == ([], [])
    assert findings.answers == 240
    assert findings.applied > 20
    assert len(findings.codes) >= 20


async def test_fuzzed_answers_about_a_page_do_neither():
    findings = await fuzzed(13, 200, "documents")
    assert (findings.errors, findings.unsupported) == ([], [])
    assert findings.applied > 15
    assert len(findings.codes) >= 12


async def test_the_same_seed_gives_the_same_answers():
    first, second = [(await fuzzed(5, 60)).codes for _ in range(2)]
    assert first == second


def retired(entry: MemoryEntry, **fields: Any) -> MemoryEntry:
    return replace(entry, **{"status": Status.ARCHIVED, "status_reason": "because", "status_at": NOW} | fields)


FAULTS: dict[str, Any] = {
    "is gone": lambda _, __: [],
    "was rewritten as it was retired": lambda one, _: [retired(one, content="Ana.")],
    "was retired without a reason": lambda one, _: [retired(one, status_reason=None)],
    "the successor of": lambda one, _: [retired(one, successor="nobody")],
    "was dropped though it is protected": lambda one, _: [retired(one)],
    "was superseded by nothing": lambda one, _: [retired(one, status=Status.SUPERSEDED)],
    "is trusted more than before": lambda one, _: [replace(one, trust=Trust.CONFIRMED)],
    "is more important than before": lambda one, _: [replace(one, base=0.95)],
    "changed its pin": lambda one, _: [replace(one, pinned=True)],
    "counts more than one observation": lambda one, _: [replace(one, own_count=9)],
    "makes up 'Mallory'": lambda one, _: [replace(one, content="Ana got 2 cats in Lisbon from Mallory.")],
    "makes up '3'": lambda one, _: [replace(one, content="Ana got 2 cats in Lisbon, 3 in all.")],
    "lost 'Lisbon'": lambda one, _: [replace(one, content="Ana got 2 cats.")],
    "went from general to active-plans": lambda one, _: [replace(one, category="active-plans")],
    "has no source": lambda one, new: [one, replace(new, sources=())],
    "does not exist": lambda one, new: [one, replace(new, sources=(SourceRef(SourceKind.ENTRY, "nobody"),))],
    "is trusted more than its sources": lambda one, new: [one, replace(new, trust=Trust.CONFIRMED)],
    "is more important than its sources": lambda one, new: [one, replace(new, base=0.91)],
    "pins itself": lambda one, new: [one, replace(new, pinned=True)],
    "is filed under": lambda one, new: [one, replace(new, category="active-plans/x")],
    "new makes up '4711'": lambda one, new: [one, replace(new, content="Ana got 4711 cats.")],
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_change_without_support_is_found(world: World, fault: str):
    one = world.entry("Ana got 2 cats in Lisbon.", id="one", base=0.9)
    new = world.entry("Ana got 2 cats.", id="new", sources=(SourceRef(SourceKind.ENTRY, "one"),))

    def scene(*after: MemoryEntry) -> Scene:
        return Scene(before={"one": one}, after={entry.id: entry for entry in after}, shown=frozenset({"one"}))

    assert unsupported(scene(one, new)) == []
    assert any(fault in found for found in unsupported(scene(*FAULTS[fault](one, new))))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ana has two cats.", []),
        ("Cats: Ana has 2.", []),
        ("Ana has 02 cats.", []),
        ("Zoltan has 2 cats.", ["Zoltan"]),
        ("Ana has 22 cats.", ["22"]),
        ("Ana has 2 cats from Prague.", ["Prague"]),
        ("Ana hat 2 Katzen und das Haus.", []),
    ],
)
def test_made_up_words_are_numbers_and_names(text: str, found: list[str]):
    assert made_up(text, ["Ana has two cats, 2 in all."]) == found
