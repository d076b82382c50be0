"""What may go, what must stay, and what becomes a question."""

from datetime import datetime, timedelta

import pytest
from consolidating import NOTHING, Shown, contents, dream, drop, save, supersede
from dreaming import DAY, NOW, World, codes
from talking import talk

from agentcore.domain import PartialDate, SourceKind, SourceRef, Status, SubjectTime, Trust, to_text
from agentcore.domain.question import QuestionCause
from dream.domain import Refused
from dream.interfaces.cli.render.reports import pass_lines
from dream.options import VerificationMode
from dream.passes.conflicts import ConflictVerdict, SideEvidence, judge

NOISE, TEA = "ok thanks", "Ana likes tea."
LISBON, PORTO = "Ana lives in Lisbon.", "Ana lives in Porto."


async def test_noise_is_archived_with_a_reason_and_no_successor(world: World):
    noise, _ = await world.add(NOISE, TEA)
    report, _ = await dream(world, drop(NOISE))
    gone = await world.get(noise)
    assert (gone.status, gone.successor, gone.status_reason) == (Status.ARCHIVED, None, "of no lasting value")
    assert report.notes["dropped"] == 1


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("a greeting", "of no lasting value: a greeting"),
        ("line\nbreak", "of no lasting value: line break"),
        ("Ana lives in Porto now", "of no lasting value"),
        ("x" * 500, "of no lasting value: " + "x" * 160),
    ],
)
async def test_a_models_reason_is_kept_if_it_tells_nothing_that_the_entry_does_not(
    world: World, reason: str, kept: str
):
    noise, _ = await world.add(NOISE, TEA)
    await dream(world, lambda shown: {"toDelete": [{"id": shown[NOISE], "reason": reason}]})
    assert (await world.get(noise)).status_reason == kept


# What RockBot's tests of protection ask.


@pytest.mark.parametrize("fields", [{"base": 0.80}, {"own_count": 5}, {"pinned": True}])
async def test_what_is_important_or_seen_often_or_pinned_is_not_dropped(world: World, fields: dict[str, object]):
    await world.add(NOISE, **fields)
    report, _ = await dream(world, drop(NOISE))
    assert codes(report) == [Refused.PROTECTED_ENTRY]
    assert contents(await world.active()) == {NOISE}


@pytest.mark.parametrize("fields", [{"base": 0.79}, {"own_count": 4}])
async def test_below_the_protection_it_is(world: World, fields: dict[str, object]):
    await world.add(NOISE, **fields)
    await dream(world, drop(NOISE))
    assert await world.active() == []


async def test_the_protection_is_an_option(world: World):
    await world.add(NOISE, base=0.6)
    report, _ = await dream(world, drop(NOISE), protect_importance=0.5)
    assert codes(report) == [Refused.PROTECTED_ENTRY]


async def test_importance_that_faded_protects_as_it_did(world: World):
    await world.add(NOISE, base=0.9, created_at=NOW - 700 * DAY)
    report, _ = await dream(world, drop(NOISE))
    assert codes(report) == [Refused.PROTECTED_ENTRY]


@pytest.mark.parametrize(("entries", "dropped"), [(4, 4), (8, 7)])
async def test_an_answer_that_drops_nearly_everything_drops_nothing(world: World, entries: int, dropped: int):
    texts = [f"thought{place} passing{place}" for place in range(entries)]
    await world.add(*texts)
    report, _ = await dream(world, drop(*texts[:dropped]))
    assert codes(report) == [Refused.OVER_EAGER]
    assert len(await world.active()) == entries


async def test_an_over_eager_answer_still_merges(world: World):
    noise = [f"thought{place} passing{place}" for place in range(8)]
    await world.add(*noise, TEA, "Ana likes green tea.")

    def answer(shown: Shown) -> dict[str, object]:
        merged = save(shown, "Ana likes green tea.", TEA, "Ana likes green tea.")
        return {"toDelete": [shown[text] for text in noise], "toSave": [merged]}

    report, _ = await dream(world, answer)
    assert codes(report) == [Refused.OVER_EAGER]
    assert contents(await world.active()) == {*noise, "Ana likes green tea."}


async def test_what_one_day_has_no_room_for_is_deferred_and_not_paid_again(world: World):
    texts = [f"thought{place} passing{place}" for place in range(8)]
    await world.add(*texts)
    report, _ = await dream(world, drop(*texts[:5]), share_cap=0.0, share_cap_min=2)
    assert codes(report) == [Refused.SHARE_CAP] * 3
    world.clock.advance(DAY * 1.1)
    await dream(world, share_cap=0.0, share_cap_min=3)
    assert contents(await world.active()) == set(texts[5:])


async def test_the_report_counts_the_merges_that_were_made_and_tells_when_the_others_are(world: World):
    pairs = [(f"thought{place} passing{place}", f"thought{place} is passing{place}") for place in range(5)]
    await world.add(*(text for pair in pairs for text in pair))

    def merge_all(shown: Shown) -> dict[str, object]:
        return {"toDelete": [], "toSave": [save(shown, second, first, second) for first, second in pairs]}

    report, _ = await dream(world, merge_all, share_cap=0.0, share_cap_min=2)
    assert (report.notes["merged"], report.notes["into"]) == (2, 2)
    waiting = {"reason": "share_cap", "count": 3, "since": to_text(NOW), "runs": 0}
    assert report.notes["waits"] == [waiting | {"share": 0.0, "room_at": to_text(NOW + DAY)}]
    shown = " ".join(line.text for line in pass_lines(report, 500, {}))
    assert "3 changes wait since 2025-06-14 09:00" in shown
    assert ": at most 0% of the entries may be retired in 24 hours; the next ones from 2025-06-15" in shown
    world.clock.advance(DAY * 1.1)
    report, _ = await dream(world, share_cap=0.0, share_cap_min=2)
    assert (report.notes["merged"], report.notes["into"]) == (2, 2)
    assert report.notes["waits"][0]["count"] == 1
    world.clock.advance(DAY * 1.1)
    report, _ = await dream(world, share_cap=0.0, share_cap_min=2)
    assert (report.notes["merged"], report.notes["into"]) == (1, 1)
    assert "waits" not in report.notes


async def test_a_later_entry_takes_the_place_of_an_older_one(world: World):
    (old,) = await world.add(LISBON, created_at=NOW - 40 * DAY)
    (new,) = await world.add(PORTO)
    report, _ = await dream(world, supersede(LISBON, PORTO))
    gone = await world.get(old)
    assert (gone.status, gone.successor) == (Status.SUPERSEDED, new.id)
    assert (await world.get(new)) == new
    assert report.notes["superseded"] == 1


async def test_an_older_entry_does_not_take_the_place_of_a_later_one(world: World):
    await world.add(LISBON, created_at=NOW - 40 * DAY)
    await world.add(PORTO)
    report, _ = await dream(world, supersede(PORTO, LISBON))
    assert codes(report) == [Refused.WEAKER_EVIDENCE]


async def test_a_close_call_becomes_an_open_question(world: World):
    old, new = await world.add(LISBON, PORTO)
    report, _ = await dream(world, supersede(LISBON, PORTO))
    assert codes(report) == [Refused.CLOSE_CALL]
    assert [question["entries"] for question in report.notes["questions"]] == [[old.id, new.id]]
    assert contents(await world.active()) == {LISBON, PORTO}


async def test_a_correction_by_the_same_speaker_minutes_later_holds(world: World):
    said = await talk(world, "My number is 555-1000.", "Sorry, it is 555-2000.", speaker="Ana")
    old, new = (
        world.entry(text, created_at=turn.occurred_at, sources=(SourceRef(SourceKind.TURN, turn.id),))
        for text, turn in zip(("Ana's number is 555-1000.", "Ana's number is 555-2000."), said, strict=True)
    )
    await world.add(old, new)
    report, _ = await dream(world, supersede(old.content, new.content))
    assert (codes(report), contents(await world.active())) == ([], {new.content})


@pytest.mark.parametrize(("then", "since"), [("2023", "2024"), ("2024-03", "2024-05"), ("2023", "2024-05-02")])
async def test_of_two_dated_facts_told_on_one_day_the_one_about_the_later_time_holds(
    world: World, then: str, since: str
):
    old = world.entry("The room costs 60 euros.", subject_time=SubjectTime.parse(then))
    new = world.entry("The room costs 72 euros.", subject_time=SubjectTime.parse(since))
    await world.add(old, new)
    report, _ = await dream(world, supersede(old.content, new.content))
    assert (codes(report), contents(await world.active())) == ([], {new.content})


async def test_an_entry_can_give_way_to_a_merge(world: World):
    (old,) = await world.add(LISBON, created_at=NOW - 40 * DAY)
    new = await world.add(PORTO, "Ana has a flat in Porto.")

    def answer(shown: Shown) -> dict[str, object]:
        merged = save(shown, "Ana lives in a flat in Porto.", PORTO, "Ana has a flat in Porto.")
        return {"toDelete": [{"id": shown[LISBON], "reason": "moved", "supersededBy": 0}], "toSave": [merged]}

    await dream(world, answer)
    (merged,) = await world.active()
    assert ((await world.get(old)).status, (await world.get(old)).successor) == (Status.SUPERSEDED, merged.id)
    assert {source.id for source in merged.sources} == {old.id, *(one.id for one in new)}
    assert old.id not in {entry_id for entry_id, _ in merged.absorbed}


async def test_an_entry_stays_where_the_merge_that_would_take_its_place_is_denied(world: World):
    await world.add(LISBON, created_at=NOW - 40 * DAY)
    await world.add(PORTO)

    def answer(shown: Shown) -> dict[str, object]:
        told = save(shown, "Ana has settled in Porto.", PORTO)
        return {"toDelete": [{"id": shown[LISBON], "reason": "", "supersededBy": 0}], "toSave": [told]}

    report, _ = await dream(world, answer, denies=["settled in Porto."], repairs=0)
    assert Refused.DENIED in codes(report)
    assert contents(await world.active()) == {LISBON, PORTO}


async def test_what_gives_way_lends_no_trust(world: World):
    await world.add(LISBON, created_at=NOW - 40 * DAY, trust=Trust.INFERRED)
    await world.add(PORTO)

    def answer(shown: Shown) -> dict[str, object]:
        told = save(shown, "Ana has settled in Porto.", PORTO, LISBON)
        return {"toDelete": [{"id": shown[LISBON], "reason": "", "supersededBy": 0}], "toSave": [told]}

    await dream(world, answer)
    assert [entry.trust for entry in await world.active()] == [Trust.INFERRED]


async def test_what_is_superseded_keeps_why_and_when_it_stopped_to_hold(world: World):
    old = world.entry("The room costs 60 euros.", subject_time=SubjectTime.parse("2023"))
    new = world.entry("The room costs 72 euros.", subject_time=SubjectTime.parse("2024-03"))
    await world.add(old, new)
    await dream(world, supersede(old.content, new.content, reason="the price was raised"))
    gone = await world.get(old)
    assert gone.status_reason == f"superseded by {new.id}: the price was raised"
    assert str(gone.valid_until) == "2024-03"


async def test_where_no_time_is_told_it_held_until_the_new_one_was_said(world: World):
    (old,) = await world.add(LISBON, created_at=NOW - 40 * DAY)
    await world.add(PORTO)
    await dream(world, supersede(LISBON, PORTO))
    assert str((await world.get(old)).valid_until) == "2025-06-14"


async def test_a_reason_that_tells_a_secret_is_not_kept(world: World):
    (old,) = await world.add(LISBON, created_at=NOW - 40 * DAY)
    (new,) = await world.add(PORTO)
    await dream(world, supersede(LISBON, PORTO, reason="her password is hunter2hunter2!"))
    assert (await world.get(old)).status_reason == f"superseded by {new.id}"


@pytest.mark.parametrize("mode", [VerificationMode.STRICT, VerificationMode.OFF])
async def test_without_a_second_reading_nothing_is_superseded(world: World, mode: VerificationMode):
    await world.add(LISBON, created_at=NOW - 40 * DAY)
    await world.add(PORTO)
    world.options = world.options.replace(verification=mode)
    await dream(world, supersede(LISBON, PORTO))
    assert contents(await world.active()) == {LISBON, PORTO}


@pytest.mark.parametrize("by", [5, -1, "e1", None])
async def test_without_a_successor_that_is_there_nothing_gives_way(world: World, by: object):
    (old,) = await world.add(LISBON, created_at=NOW - 40 * DAY)
    await world.add(PORTO)
    report, _ = await dream(
        world, lambda _: {"toDelete": [{"id": "e1", "supersededBy": by}, {"id": "e2", "supersededBy": "e1"}]}
    )
    assert (await world.get(old)).status is not Status.SUPERSEDED
    assert Refused.NO_SUCCESSOR in codes(report)


async def test_a_successor_must_be_about_the_same(world: World):
    await world.add(LISBON, created_at=NOW - 40 * DAY)
    await world.add("The printer needs toner.")
    report, _ = await dream(world, supersede(LISBON, "The printer needs toner."), denies=["and no longer"])
    assert codes(report) == [Refused.DENIED]
    assert contents(await world.active()) == {LISBON, "The printer needs toner."}


async def test_a_pinned_entry_gives_way_to_nothing(world: World):
    await world.add(LISBON, created_at=NOW - 40 * DAY, pinned=True)
    await world.add(PORTO)
    report, _ = await dream(world, supersede(LISBON, PORTO))
    assert codes(report) == [Refused.PROTECTED_ENTRY]


async def test_an_important_entry_may_be_superseded_by_better_evidence(world: World):
    await world.add(LISBON, created_at=NOW - 40 * DAY, base=0.95)
    await world.add(PORTO)
    await dream(world, supersede(LISBON, PORTO))
    assert contents(await world.active()) == {PORTO}


async def test_what_a_person_confirmed_corrects_a_later_entry(world: World):
    await world.add(PORTO, created_at=NOW - 40 * DAY, trust=Trust.CONFIRMED)
    await world.add(LISBON)
    await dream(world, supersede(LISBON, PORTO))
    assert contents(await world.active()) == {PORTO}


async def test_a_reviewed_neighbour_can_be_superseded_by_what_is_new(world: World):
    await world.add(LISBON)
    await dream(world, NOTHING)
    world.clock.advance(30 * DAY)
    await world.add(PORTO)
    await dream(world, supersede(LISBON, PORTO), threshold=0.05)
    assert contents(await world.active()) == {PORTO}


def evidence(  # noqa: PLR0917 - rows of a table
    trust: Trust = Trust.STATED,
    seen: int = 1,
    at: datetime = NOW,
    subject: str | None = None,
    name: str = "x",
    said_by: str | None = None,
) -> SideEvidence:
    return SideEvidence(
        trust=trust,
        observations=((name, seen),),
        last_seen_at=at,
        about=None if subject is None else PartialDate.parse(subject),
        speakers=frozenset() if said_by is None else frozenset({said_by}),
    )


WEEK = timedelta(days=7)


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (evidence(), evidence(Trust.CONFIRMED, at=NOW - WEEK, name="n"), ConflictVerdict.GIVES_WAY),
        (evidence(Trust.CONFIRMED), evidence(seen=50, at=NOW + WEEK, name="n"), ConflictVerdict.STAYS),
        (evidence(), evidence(Trust.INFERRED, 50, NOW + WEEK, name="n"), ConflictVerdict.STAYS),
        (evidence(seen=2), evidence(seen=3, at=NOW - WEEK, name="n"), ConflictVerdict.GIVES_WAY),
        (evidence(seen=3), evidence(seen=2, at=NOW + WEEK, name="n"), ConflictVerdict.STAYS),
        (evidence(seen=2), evidence(seen=1, at=NOW + WEEK, name="n"), ConflictVerdict.GIVES_WAY),
        (evidence(seen=4), evidence(seen=3, at=NOW + WEEK, name="n"), ConflictVerdict.GIVES_WAY),
        (evidence(), evidence(name="n"), ConflictVerdict.CLOSE_CALL),
        (evidence(), evidence(at=NOW + timedelta(hours=23), name="n"), ConflictVerdict.CLOSE_CALL),
        (evidence(at=NOW + WEEK), evidence(name="n"), ConflictVerdict.STAYS),
        # What it took over from the old one is no evidence against that.
        (evidence(), evidence(seen=9), ConflictVerdict.CLOSE_CALL),
        # A change of the world is no conflict, unless it is yet to come or a stranger tells it.
        (evidence(seen=9, at=NOW - WEEK), evidence(at=NOW, subject="2025-06-10", name="n"), ConflictVerdict.GIVES_WAY),
        (evidence(seen=9, at=NOW - WEEK), evidence(at=NOW, subject="2026-01-01", name="n"), ConflictVerdict.STAYS),
        (
            evidence(seen=9, at=NOW - WEEK),
            evidence(Trust.UNTRUSTED, at=NOW, subject="2025-06-10", name="n"),
            ConflictVerdict.STAYS,
        ),
        # Of two dated texts the one about the later time holds, whichever day they were told.
        (evidence(subject="2023"), evidence(subject="2024", name="n"), ConflictVerdict.GIVES_WAY),
        (
            evidence(subject="2024", at=NOW + WEEK),
            evidence(subject="2025-03", at=NOW, name="n"),
            ConflictVerdict.GIVES_WAY,
        ),
        (evidence(subject="2024"), evidence(subject="2019", at=NOW + WEEK, name="n"), ConflictVerdict.STAYS),
        # A coarse date means all of its span: what lies within it is not told apart by it.
        (evidence(subject="2025"), evidence(subject="2025-03", name="n"), ConflictVerdict.CLOSE_CALL),
        (
            evidence(seen=9, at=NOW),
            evidence(at=NOW + timedelta(hours=3), subject="2025-06", name="n"),
            ConflictVerdict.GIVES_WAY,
        ),
        (
            evidence(seen=9, at=NOW),
            evidence(at=NOW - timedelta(hours=3), subject="2025-06", name="n"),
            ConflictVerdict.STAYS,
        ),
        # Who says two things within a day corrects the first; two people disagree.
        (
            evidence(said_by="Ana"),
            evidence(at=NOW + timedelta(minutes=5), name="n", said_by="Ana"),
            ConflictVerdict.GIVES_WAY,
        ),
        (
            evidence(at=NOW + timedelta(minutes=5), said_by="Ana"),
            evidence(name="n", said_by="Ana"),
            ConflictVerdict.STAYS,
        ),
        (
            evidence(said_by="Ana"),
            evidence(at=NOW + timedelta(minutes=5), name="n", said_by="Bo"),
            ConflictVerdict.CLOSE_CALL,
        ),
        (evidence(said_by="Ana"), evidence(name="n", said_by="Ana"), ConflictVerdict.CLOSE_CALL),
    ],
)
def test_evidence_is_ranked(old: SideEvidence, new: SideEvidence, verdict: ConflictVerdict):
    assert judge(old, new, NOW + WEEK) is verdict


async def test_a_derived_entry_is_no_evidence_against_what_it_was_derived_from(world: World):
    (old,) = await world.add(LISBON)
    derived = world.entry(PORTO, own_count=0, absorbed=((old.id, 9),), sources=(SourceRef(SourceKind.ENTRY, old.id),))
    await world.add(derived)
    report, _ = await dream(world, supersede(LISBON, PORTO))
    assert codes(report) == [Refused.CLOSE_CALL]


async def test_a_close_call_waits_for_a_person_and_the_one_they_keep_takes_the_place_of_the_other(world: World):
    old, new = await world.add(LISBON, PORTO)
    await dream(world, supersede(LISBON, PORTO))
    (asked,) = await world.dreams.desk.questions()
    assert (asked.question.cause, {one.id for one in asked.members}) == (QuestionCause.CLOSE_CALL, {old.id, new.id})
    await world.dreams.desk.answer(asked.question.id, keep=new.id)
    gone, kept = await world.get(old), await world.get(new)
    assert (gone.status, gone.successor, kept.trust) == (Status.SUPERSEDED, new.id, Trust.CONFIRMED)
    assert kept.reinforcement_count == 1
