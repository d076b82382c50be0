"""What nobody could word truly is kept as it was said, within bounds."""

from collections.abc import Sequence

import pytest
from dreaming import DAY, NOW, World, codes
from mining import a_fact, a_turn, answer, contents, hearing, mine, talk

from agentcore.domain import EvidenceVerdict, Trust
from dream.domain import Refused
from dream.domain.verification import Assertion, Reading, SecondReading
from dream.options import VerificationMode
from dream.passes.fact_mining import FactMining
from dream.passes.promotion.blocks import unfit

FALSE = "Ana sold her car."


async def test_a_bare_answer_is_kept_with_the_question_that_it_answers(world: World):
    asked = a_turn(world, "Nice. Do you move to Lisbon?", "s1", NOW, speaker="Rui")
    await talk(world, asked, a_turn(world, "Yes, in March.", "s1", NOW + DAY))
    report = await mine(world, a_fact("Ana moved.", "t2", quote="in March"), denies=["Ana moved"])
    (entry,) = await world.active()
    assert entry.content == 'Rui: "Do you move to Lisbon?" Ana, 2025-06-15: "Yes, in March."'
    assert (entry.verdict, entry.trust, report.notes["verbatim"]) == (EvidenceVerdict.VERBATIM, Trust.STATED, 1)
    (kept,) = entry.evidence
    assert (kept.sentence, kept.speaker, kept.verified_by) == ("Yes, in March.", "Ana", "host")
    assert kept.written_by == "scripted"


async def test_what_holds_keeps_its_sentence_with_who_read_it(world: World):
    await talk(world, "Hello there. I moved to Lisbon!")
    await mine(world, a_fact("Ana moved to Lisbon.", quote="moved to Lisbon"))
    (entry,) = await world.active()
    assert entry.verdict is EvidenceVerdict.VERIFIED
    assert ("I moved to Lisbon!", "scripted", "scripted", 2) in [
        (one.sentence, one.written_by, one.verified_by, one.round) for one in entry.evidence
    ]


@pytest.mark.parametrize(
    ("said", "fields"),
    [
        ("Did I sell my car?", {}),
        ("I sold it " + "and then some " * 30, {}),
        ("No.", {}),
        ("I gave my old car away.", {"trust": Trust.UNTRUSTED}),
        ("I sold it, the password is hunter2hunter2!", {}),
    ],
    ids=["a question", "a long sentence", "an answer to nothing", "a stranger's word", "a secret"],
)
async def test_nothing_is_kept_word_for_word_of(world: World, said: str, fields: dict[str, Trust]):
    await talk(world, said, **fields)
    await mine(world, a_fact(FALSE, quote=said.partition(",")[0]), denies=[FALSE])
    assert await world.active() == []


async def test_a_sentence_is_kept_once_however_many_facts_it_fails(world: World):
    await talk(world, "I sold my old car to Rui.")
    facts = [a_fact(f"{name} sold a car.", quote="sold my old car") for name in ("Nobody", "Somebody")]
    await mine(world, *facts, denies=["sold a car"])
    assert contents(await world.active()) == ['Ana, 2025-06-14: "I sold my old car to Rui."']


async def test_what_a_person_forgot_does_not_come_back_word_for_word(world: World):
    false = "Ana sold her old blue van with the dented door to a dealer in Braga."
    (entry,) = await world.add(false)
    await world.memory.forget(entry.id)
    await talk(world, "I sold my old blue van to Rui.")
    report = await mine(world, a_fact(false, quote="sold my old blue van"), denies=[false])
    assert await world.active() == []
    assert Refused.FORGOTTEN in codes(report)


SAID = [f"I sold car number {place} to Rui." for place in range(3)]
WRONG = [a_fact(f"Ana bought car number {place}.", f"t{place + 1}", quote=SAID[place]) for place in range(3)]


async def test_more_than_a_tenth_of_a_dream_waits_for_the_next_ones(world: World):
    await talk(world, *SAID)
    heard = hearing(world, answer(*WRONG), answer(), denies=["Ana bought"])
    first = (await heard.run_passes(FactMining())).passes[0]
    assert (len(await world.active()), codes(first).count("verbatim_cap")) == (1, 2)
    for left in (2, 3):
        await heard.run_passes(FactMining())
        assert len(await world.active()) == left
    assert len(heard.chat.requests) == 2


async def test_without_a_second_reading_all_that_is_undecided_is_kept_word_for_word(world: World):
    await talk(world, *SAID)
    report = await mine(world, *WRONG, verification=VerificationMode.OFF)
    assert len(await world.active()) == 3
    assert "verbatim_cap" not in codes(report)


async def test_what_is_kept_word_for_word_is_not_promoted(world: World):
    await talk(world, SAID[0])
    await mine(world, WRONG[0], denies=["Ana bought"])
    (entry,) = await world.active()
    refusal = unfit(entry, world.options.promotion)
    assert refusal is not None
    assert refusal.code == Refused.VERBATIM


async def test_a_repair_makes_two_facts_of_one_with_two_claims(world: World):
    await talk(world, "I moved to Braga and sold the car.")
    both = a_fact("Ana moved to Braga. Ana sold the car.", quote="moved to Braga")
    two = [both | {"item": 1, "content": one} for one in ("Ana moved to Braga.", "Ana sold the car.")]
    heard = hearing(world, answer(both), answer(*two))
    report = (await heard.run_passes(FactMining())).passes[0]
    assert contents(await world.active()) == ["Ana moved to Braga.", "Ana sold the car."]
    assert report.refused == ()


async def test_subject_and_topic_are_kept_as_far_as_they_were_said(world: World):
    await talk(world, "I moved to Lisbon.", "I like tea.")
    home = a_fact("Ana moved to Lisbon.", quote="moved to Lisbon", subject="Ana", topic="Home")
    tea = a_fact("Ana likes tea.", "t2", quote="I like tea", subject="Zoltan", topic="all that she ever drank")
    await mine(world, home, tea)
    about = {entry.content: dict(entry.metadata) for entry in await world.active()}
    assert about == {"Ana moved to Lisbon.": {"subject": "Ana", "topic": "home"}, "Ana likes tea.": {}}
    await talk(world, "Good night.", session="s2", occurred_at=NOW + DAY)
    world.clock.advance(2 * DAY)
    heard = hearing(world, answer())
    await heard.run_passes(FactMining())
    assert '"home"' in heard.chat.requests[0].messages[-1].content


class _Never:
    """Denies whatever it reads."""

    async def read(self, assertions: Sequence[Assertion], /) -> Sequence[SecondReading]:
        return [SecondReading(reading=Reading.NOT_SAID)] * len(assertions)


async def test_what_the_verifier_of_the_host_denies_is_kept_word_for_word_though_the_model_would_say_so(world: World):
    await talk(world, "I sold my old car to Rui.")
    report = await mine(world, a_fact("Ana got rid of a car.", quote="sold my old car"), verifier=_Never())
    (entry,) = await world.active()
    assert entry.verdict is EvidenceVerdict.VERBATIM
    assert Refused.DENIED in {one.code for one in report.refused}
