"""In the mode strict a person decides about merges, what gives way, what is dropped, and lessons."""

from collections.abc import Sequence
from typing import Any

import pytest
from consolidating import Shown, contents, dream, drop, keep, merge, save, supersede
from dreaming import DAY, NOW, World, codes

from agentcore.domain import EvidenceVerdict, Feedback, FeedbackKind, Status
from dream.options import VerificationMode

LISBON, PORTO = "Ana lives in Lisbon.", "Ana lives in Porto."
ASPIRIN, WORKS = "Omar must not take aspirin.", "Omar works in Malmö."
BOTH = "Omar, who works in Malmö, must never be given aspirin."
CASES: dict[str, tuple[Sequence[str], Any, set[str]]] = {
    "a merge": ((ASPIRIN, WORKS), merge(BOTH, ASPIRIN, WORKS), {BOTH}),
    "a supersession": ((LISBON, PORTO), supersede(LISBON, PORTO), {PORTO}),
    "a drop": ((LISBON, WORKS), drop(LISBON), {WORKS}),
}


@pytest.fixture
def strict(world: World) -> World:
    world.options = world.options.replace(verification=VerificationMode.STRICT)
    return world


async def given(world: World, texts: Sequence[str]) -> None:
    await world.add(texts[0], created_at=NOW - 40 * DAY)
    await world.add(*texts[1:])


@pytest.mark.parametrize("case", CASES)
async def test_what_is_undecided_waits_and_is_made_once_a_person_approves_it(strict: World, case: str):
    texts, script, after = CASES[case]
    await given(strict, texts)
    report, requests = await dream(strict, script)
    assert (codes(report), report.accepted, report.proposed, len(requests)) == ([], 0, 1, 1)
    assert contents(await strict.active()) == {*texts}
    (waiting,) = await strict.dreams.proposals()
    done = await strict.dreams.approve([waiting.proposal_id])
    assert contents(await strict.active()) == after
    before = contents(await strict.entries())
    await strict.dreams.undo(done.run_id)
    assert contents(await strict.active()) == {*texts}
    assert before >= {*texts}


@pytest.mark.parametrize("case", CASES)
async def test_what_a_person_rejects_leaves_the_entries_as_they_are(strict: World, case: str):
    texts, script, _ = CASES[case]
    await given(strict, texts)
    await dream(strict, script)
    (waiting,) = await strict.dreams.proposals()
    await strict.dreams.reject([waiting.proposal_id])
    assert (contents(await strict.active()), await strict.dreams.proposals()) == ({*texts}, [])
    assert (await dream(strict))[0].reason == "no_work"


async def test_a_merge_that_a_person_approved_is_verified_by_that_person(strict: World):
    await strict.add(ASPIRIN, WORKS)
    await dream(strict, merge(BOTH, ASPIRIN, WORKS))
    (waiting,) = await strict.dreams.proposals()
    await strict.dreams.approve([waiting.proposal_id])
    (merged,) = await strict.active()
    assert {(one.verdict, one.verified_by) for one in merged.evidence} == {(EvidenceVerdict.VERIFIED, "person")}
    assert not any(one.evidence for one in await strict.entries(Status.ARCHIVED))


async def test_what_is_proven_is_made_at_once_beside_it(strict: World):
    await strict.add(ASPIRIN, WORKS, LISBON)

    def script(shown: Shown) -> Any:
        copied = keep(ASPIRIN, add=[(WORKS, WORKS)])(shown)
        return copied | {"toDelete": [shown[LISBON]]}

    report, _ = await dream(strict, script)
    assert (report.accepted, report.proposed) == (3, 1)
    assert contents(await strict.active()) == {f"{ASPIRIN} {WORKS}", LISBON}


async def test_a_text_and_what_it_takes_the_place_of_are_decided_together(strict: World):
    await strict.add(LISBON, created_at=NOW - 40 * DAY)
    await strict.add(PORTO, "Ana likes Porto.")

    def script(shown: Shown) -> Any:
        both = save(shown, "Ana lives in Porto and is happy there.", PORTO, "Ana likes Porto.")
        return {"toSave": [both], "toDelete": [{"id": shown[LISBON], "reason": "she moved", "supersededBy": 0}]}

    report, _ = await dream(strict, script)
    assert (codes(report), report.accepted, report.proposed) == ([], 0, 1)
    (waiting,) = await strict.dreams.proposals()
    await strict.dreams.approve([waiting.proposal_id])
    assert contents(await strict.active()) == {"Ana lives in Porto and is happy there."}


async def test_a_lesson_waits_for_a_person_as_well(strict: World):
    said = "No, do not mail customers at night."
    row = Feedback(
        id="f1",
        scope=strict.scope,
        session_id="s",
        kind=FeedbackKind.CORRECTION,
        summary=said,
        occurred_at=NOW - DAY,
        recorded_at=NOW - DAY,
    )
    await strict.write(lambda unit: unit.feedback.append([row]))
    rule = "Don't do this: mail customers at night. Instead, wait for the morning."

    def script(shown: Shown) -> Any:
        return {"toDelete": [], "toSave": [save(shown, rule, said, category="anti-patterns/mail")]}

    report, _ = await dream(strict, script)
    assert (report.accepted, report.proposed, await strict.active()) == (0, 1, [])
    (waiting,) = await strict.dreams.proposals()
    await strict.dreams.approve([waiting.proposal_id])
    (entry,) = await strict.active()
    assert (entry.content, entry.verdict) == (rule, EvidenceVerdict.VERIFIED)
