"""Edits of MEMORY.md are read a second time, and a day has room for a few of them."""

import pytest
from dreaming import DAY, codes
from tidying import LATE, NEW, OLD, PAGE, SAME, Desk, answer, edit

from dream.domain import Skip
from dream.options import DocumentOptions, PassMode, VerificationMode

WORDED = "If the cache is cold, the build of the night fails"
FAULTS = {
    "an opposite": edit("rewrite", "Ana keeps bees in Porto", text="Ana fears bees in Porto"),
    "a denial lost": edit("rewrite", NEW, text="Since March releases are cut on Mondays and on Fridays"),
    "a hedge dropped": edit("rewrite", "Bo may sail on Sundays", text="Bo sails on Sundays"),
    "a fact lost in a merge": edit("merge", *LATE, text=LATE[0]),
    "a guess added": edit("add", *LATE, text="The nightly build is to blame for every late release"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_no_fault_is_proven_by_words_and_a_reader_who_sees_it_leaves_the_page_as_it_was(desk: Desk, fault: str):
    page = PAGE.replace("- Bo sails on Sundays\n", "- Bo may sail on Sundays\n")
    await desk.write(page)
    desk.denies = lambda *_: True
    report, _, _ = await desk.dream(answer(FAULTS[fault]), answer(FAULTS[fault]))
    assert len(codes(report)) == 1
    assert set(codes(report)) <= {"denied", "lost_detail", "invented_detail"}
    assert desk.memory.read_text() == page


async def test_an_honest_merge_in_other_words_is_made(desk: Desk):
    await desk.write()
    report, _, _ = await desk.dream(answer(edit("merge", *SAME, text=WORDED)))
    assert (codes(report), report.accepted) == ([], 1)
    assert desk.texts[0] == WORDED


async def test_what_is_archived_and_moved_needs_no_second_reading(desk: Desk):
    await desk.write()
    desk.denies = lambda *_: True
    moved = edit("move", "Bo sails on Sundays", target=OLD)
    report, _, _ = await desk.dream(answer(edit("archive", OLD, target=NEW), moved))
    assert (codes(report), report.calls) == ([], 1)


BEES = "# M\n\n- Ana keeps bees\n- ana keeps bees.\n- The bees are Ana's\n- Ana has bees\n"
COPIES = edit("merge", "Ana keeps bees", "ana keeps bees.", text="Ana keeps bees")
KEEPER = edit("merge", "The bees are Ana's", "Ana has bees", text="Ana is a keeper of bees")


async def test_without_a_second_reading_the_items_stay_but_for_what_they_say_themselves(desk: Desk):
    await desk.write(BEES)
    desk.world.options = desk.world.options.replace(verification=VerificationMode.OFF)
    report, _, _ = await desk.dream(answer(COPIES, KEEPER))
    assert codes(report) == ["unverified"]
    assert desk.texts == ["Ana keeps bees", "The bees are Ana's", "Ana has bees"]


@pytest.mark.parametrize("is_approved", [True, False])
async def test_in_the_mode_strict_a_person_decides_about_an_edit(desk: Desk, *, is_approved: bool):
    await desk.write(BEES)
    desk.world.options = desk.world.options.replace(verification=VerificationMode.STRICT)
    report, _, _ = await desk.dream(answer(COPIES, KEEPER))
    assert (codes(report), report.accepted, report.proposed, report.calls) == ([], 1, 1, 1)
    assert desk.texts == ["Ana keeps bees", "The bees are Ana's", "Ana has bees"]
    (waiting,) = await desk.world.dreams.proposals()
    dreams = desk.world.dreams
    await (dreams.approve if is_approved else dreams.reject)([waiting.proposal_id])
    left = ["Ana is a keeper of bees"] if is_approved else ["The bees are Ana's", "Ana has bees"]
    assert desk.texts == ["Ana keeps bees", *left]


def limited(desk: Desk, **documents: float) -> None:
    desk.world.options = desk.world.options.replace(documents=DocumentOptions(**documents))


async def test_a_day_has_room_for_a_share_of_the_page_and_the_rest_is_left_for_another(desk: Desk):
    limited(desk)
    await desk.write()
    merging, late = edit("merge", *SAME, text=SAME[0]), edit("merge", *LATE, text=" and ".join(LATE))
    first, _, _ = await desk.dream(answer(merging, edit("archive", OLD, target=NEW), late))
    # Of twelve items three may change: two of the merge go, and one is archived.
    assert (codes(first), first.accepted) == (["share_cap"], 3)
    assert set(LATE) <= set(desk.texts)
    desk.world.clock.advance(DAY / 2)
    assert (await desk.dream())[0].reason == Skip.NO_WORK
    desk.world.clock.advance(DAY / 2)
    again, _, _ = await desk.dream(answer(late))
    assert (codes(again), again.accepted) == ([], 1)
    desk.world.clock.advance(2 * DAY)
    assert (await desk.dream())[0].reason == Skip.NO_WORK


async def test_an_edit_that_no_day_has_room_for_is_refused_for_good(desk: Desk):
    limited(desk, share_cap=0.0, share_cap_min=1)
    await desk.write()
    report, _, _ = await desk.dream(answer(edit("merge", *SAME, text=WORDED)))
    assert (codes(report), report.accepted) == (["over_eager"], 0)
    assert (await desk.dream())[0].reason == Skip.NO_WORK


async def test_what_waits_for_a_person_takes_no_share(desk: Desk):
    limited(desk, share_cap=0.0, share_cap_min=0)
    desk.world.options = desk.world.options.replace(modes={"*": PassMode.PROPOSE})
    await desk.write()
    report, _, _ = await desk.dream(answer(edit("merge", *SAME, text=SAME[0])))
    assert (codes(report), report.proposed) == ([], 1)


async def test_an_edit_that_could_not_be_read_waits_and_is_not_asked_for_again(desk: Desk):
    await desk.write()
    desk.is_reading = False
    report, _, _ = await desk.dream(answer(edit("merge", *SAME, text=WORDED)))
    assert (codes(report), desk.memory.read_text()) == (["call_failed", "unverified"], PAGE)
    desk.is_reading = True
    again, asked, _ = await desk.dream()
    assert (codes(again), asked, desk.texts[0]) == ([], [], WORDED)
    assert (await desk.dream())[0].reason == Skip.NO_WORK
