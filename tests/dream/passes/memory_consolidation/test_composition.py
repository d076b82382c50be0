"""Merges that the host puts together from whole sentences of their sources."""

from itertools import permutations

import pytest
from consolidating import Shown, contents, dream, keep, merge, save
from dreaming import DAY, NOW, World, codes
from hypothesis import given, strategies as st

from agentcore.domain import EvidenceVerdict, Level, SourceKind
from dream.domain import Refused
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.guards.wording import sentences_of, words_of
from dream.options import VerificationMode
from dream.passes.memory_consolidation import composed, keeps_meaning

ASPIRIN, WORKS = "Omar must not take aspirin.", "Omar works in Malmö."
CAT, MILK = "Marta has a cat called Miso.", "Miso must not get milk. It is bad for cats."


def only(world: World, mode: VerificationMode) -> None:
    world.options = world.options.replace(verification=mode)


async def test_a_merge_of_copied_sentences_is_made_without_a_second_reading(world: World):
    only(world, VerificationMode.STRICT)
    await world.add(ASPIRIN, WORKS)
    report, requests = await dream(world, keep(ASPIRIN, add=[(WORKS, WORKS)]))
    (merged,) = await world.active()
    assert merged.content == f"{ASPIRIN} {WORKS}"
    assert (merged.verdict, merged.level) == (EvidenceVerdict.PROVEN, Level.DERIVED)
    assert [one.sentence for one in merged.evidence] == [ASPIRIN, WORKS]
    assert {one.source.kind for one in merged.evidence} == {SourceKind.ENTRY}
    assert (len(requests), report.notes["read_again"]) == (1, 0)


async def test_a_fact_is_not_lost_in_a_merge_that_shares_a_name_with_it(world: World):
    await world.add(ASPIRIN, WORKS)
    report, _ = await dream(world, keep(WORKS, ASPIRIN), denies=[WORKS], repairs=0)
    assert codes(report) == [Refused.DENIED]
    assert contents(await world.active()) == {ASPIRIN, WORKS}


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        (ASPIRIN, WORKS, "Omar works in Malmö."),
        ("Ben owes Ana money.", "Ben likes Ana.", "Ana owes Ben money and likes him."),
        ("Rui was hired by Ana.", "Rui likes it there.", "Rui was fired by Ana and likes it there."),
        ("Ana may move to Porto.", "Ana likes the sea.", "Ana moves to Porto, she likes the sea."),
        ("Ana eats fish except tuna.", "Ana eats fish on Fridays.", "Ana eats fish on Fridays."),
        ("Lock up before you arm it.", "Arm it at night.", "Arm it before you lock up at night."),
    ],
)
async def test_no_text_in_other_words_is_taken_at_its_word(world: World, one: str, other: str, text: str):
    only(world, VerificationMode.OFF)
    await world.add(one, other)
    report, _ = await dream(world, merge(text, one, other))
    assert contents(await world.active()) == {one, other}
    assert report.accepted == 0


async def test_what_the_copy_of_a_sentence_changed_is_refused(world: World):
    await world.add(ASPIRIN, WORKS)
    report, _ = await dream(world, keep(ASPIRIN, add=[(WORKS, "Omar works in Lund.")]), repairs=0)
    assert codes(report) == [Refused.QUOTE_NOT_FOUND]
    assert contents(await world.active()) == {ASPIRIN, WORKS}


async def test_a_clause_cut_out_of_its_sentence_is_read_a_second_time(world: World):
    cook = "Rui thinks that Omar is a cook."
    await world.add(WORKS, cook)
    report, _ = await dream(world, keep(WORKS, add=[(cook, "Omar is a cook.")]), denies=["is a cook"], repairs=0)
    assert codes(report) == [Refused.DENIED]
    only(world, VerificationMode.STRICT)
    await world.add("Omar has a dog.")
    await dream(world, keep(WORKS, add=[(cook, "Omar is a cook.")]))
    assert {WORKS, cook} <= contents(await world.active())


async def test_sentences_that_follow_each_other_stay_together(world: World):
    only(world, VerificationMode.STRICT)
    await world.add(CAT, MILK)
    await dream(world, keep(CAT, add=[(MILK, MILK)]))
    assert contents(await world.active()) == {f"{CAT} {MILK}"}


@pytest.mark.parametrize(
    ("kept", "added"),
    [
        ("Omar is ill.", "He works in Malmö."),
        ("Omar is ill.", "Works in Malmö."),
        ("Ana is Rui's sister.", "She lives in Porto."),
        ("Ana likes tea.", "Ana does not like tea."),
        ("The invoice is 420 euros.", "The invoice is 240 euros."),
        ("Ana pays 3 euros.", "Dies gilt nur im Mai."),
    ],
)
def test_a_pronoun_or_a_contradiction_leaves_it_to_a_second_reading(kept: str, added: str):
    assert not keeps_meaning(composed(kept, [added]), [kept, added])


def test_what_is_told_already_is_not_told_twice():
    assert composed("Ana likes tea", ["Ana likes tea.", "Ana has a cat"]) == "Ana likes tea. Ana has a cat"
    assert composed("- tea\n- milk", ["- bread"]) == "- tea\n- milk\n- bread"


async def test_more_than_five_sources_or_too_long_a_text_are_listed_and_not_merged(world: World):
    texts = [f"Ana likes tea number {place}." for place in range(6)]
    await world.add(*texts)
    report, _ = await dream(world, keep(texts[0], add=[(text, text) for text in texts[1:]]))
    assert codes(report) == [Refused.TOO_LARGE]
    long = [f"Ana likes {word * 60}." for word in ("tea ", "cake", "rice")]
    await world.add(*long)
    report, _ = await dream(world, keep(long[0], add=[(text, text) for text in long[1:]]))
    assert codes(report) == [Refused.TOO_LARGE]
    assert contents(await world.active()) == {*texts, *long}


async def test_a_duplicate_of_a_long_entry_is_merged_into_it(world: World):
    long = f"Ana likes {'tea and ' * 60}cake."
    await world.add(long, "Ana likes cake.")
    await dream(world, merge(long, long, "Ana likes cake."))
    assert contents(await world.active()) == {long}


async def test_a_merge_of_a_merge_is_read_beside_the_sentences_it_rests_on(world: World):
    await world.add(ASPIRIN, WORKS, created_at=NOW - DAY)
    await dream(world, merge("Omar, who works in Malmö, must not take aspirin.", ASPIRIN, WORKS))
    await world.add("Omar has a dog.")
    first = "Omar, who works in Malmö, must not take aspirin."
    whole = "Omar works in Malmö, has a dog and must not take aspirin."
    report, _ = await dream(world, merge(whole, first, "Omar has a dog."), threshold=0.05)
    (merged,) = await world.active()
    assert (merged.content, report.refused) == (whole, ())
    assert {one.sentence for one in merged.evidence} == {ASPIRIN, WORKS, "Omar has a dog."}
    assert merged.verdict is EvidenceVerdict.VERIFIED


async def test_a_merge_keeps_no_stronger_verdict_than_its_sources_have(world: World):
    await world.add(ASPIRIN, WORKS)
    await dream(world, merge("Omar works in Malmö and must not take aspirin.", ASPIRIN, WORKS))
    (merged,) = await world.active()
    await world.add("Omar has a dog.")
    await dream(world, keep(merged.content, add=[("Omar has a dog.", "Omar has a dog.")]), threshold=0.05)
    assert [entry.verdict for entry in await world.active()] == [EvidenceVerdict.VERIFIED]


async def test_what_a_fallback_leaves_is_what_was_there(world: World):
    only(world, VerificationMode.OFF)
    before = await world.add(ASPIRIN, WORKS)
    await dream(world, lambda shown: {"toSave": [_saved(shown)]})
    assert await world.active() == sorted(before, key=lambda entry: entry.id)


def _saved(shown: Shown) -> object:
    return save(shown, "Omar is a man of Malmö.", ASPIRIN, WORKS)


NAMES = st.sampled_from(["Omar", "Marta", "Iván", "The user", "Die Köchin"])
DEEDS = st.sampled_from(["must not eat nuts", "works in Malmö", "pays 60 euros", "likes `tea`", "may move, she says"])
ENDS = st.sampled_from([".", "!", ""])
sources = st.lists(st.tuples(DEEDS, ENDS), min_size=2, max_size=4, unique_by=lambda one: one[0]).flatmap(
    lambda deeds: NAMES.map(lambda name: [f"{name} {deed}{end}" for deed, end in deeds])
)


@given(sources)
def test_a_composed_text_holds_every_sentence_of_its_sources_and_nothing_else(texts: list[str]):
    text = composed(texts[0], texts[1:])
    said = [words_of(sentence) for one in texts for sentence in sentences_of(one)]
    assert sorted(words_of(one) for one in sentences_of(text)) == sorted(set(said))


@given(sources)
def test_sources_that_are_merged_in_any_order_prove_the_same(texts: list[str]):
    evidence = [EvidenceText(text=one) for one in texts]
    found: set[tuple[Verdict, bool]] = set()
    for first, *rest in permutations(texts):
        text = composed(first, rest)
        found.add((judge(text, evidence, whole=True).verdict, keeps_meaning(text, texts)))
        steps = first
        for one in rest:
            steps = composed(steps, [one])
        assert steps == text
    assert found == {(Verdict.PROVEN, True)}
