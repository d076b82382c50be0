"""Changes that wait for a person: proposed, approved, rejected, expired."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from dreaming import DAY, VerifyingChatClient, World, codes, of_pass
from hypothesis import HealthCheck, given, settings, strategies as st
from interrupting import Killed, bury, count_writes, dying
from sqlalchemy import select
from wishing import Curious, Wishful

from agentcore.domain import EntryFilter, MemoryEntry, Status, to_image
from agentcore.errors import InvalidOptionsError
from agentcore.stores.sql.schema import decisions, proposals
from dream.domain import Change, ChangeSet, Outcome, PassOutcome, Proposal, RunKind, RunReport, fingerprint
from dream.errors import UnknownPassError, UnknownProposalError
from dream.options import ConsolidationOptions, DreamOptions, PassMode, ReviewOptions
from dream.passes import ModelContext

FOLD = "exact-fold"
TEA, RYE = "Ana likes tea", "Ben bakes rye"


def proposing(**review: Any) -> DreamOptions:
    return DreamOptions(modes={FOLD: PassMode.PROPOSE}, review=ReviewOptions(**review))


async def proposed(world: World, *texts: str) -> list[str]:
    """Have folds of these texts proposed; return the ids of the proposals."""
    if not world.options.modes:
        world.options = proposing()
    await world.add(*texts)
    await world.dreams.run(passes=[FOLD])
    return [one.proposal_id for one in await world.dreams.proposals()]


async def approve_all(world: World) -> RunReport:
    return await world.dreams.approve([one.proposal_id for one in await world.dreams.proposals()])


async def test_what_is_proposed_waits_with_its_diff_and_changes_nothing(world: World):
    world.options = proposing()
    old, copy = await world.add(TEA, TEA)
    before = await world.entries()
    report = await world.dreams.run(passes=[FOLD])
    told = of_pass(report, FOLD)
    assert (report.outcome, report.changes, await world.dreams.diff(report.run_id)) == (Outcome.COMPLETED, 0, [])
    assert (told.outcome, told.proposed, told.accepted) == (PassOutcome.PROPOSED, 1, 0)
    assert await world.entries() == before
    (waiting,) = await world.dreams.proposals(pass_name=FOLD)
    assert [(row.record_id, row.reason) for row in waiting.rows] == [
        (old.id, f"took over {copy.id}, which say the same"),
        (copy.id, f"duplicate of {old.id}"),
    ]
    assert (waiting.run_id, waiting.expires_at) == (report.run_id, world.clock.now() + timedelta(days=30))
    assert (await world.dreams.status()).proposals == {FOLD: 1}
    assert await world.dreams.proposal(waiting.proposal_id) == waiting


async def test_nothing_is_proposed_or_looked_at_twice(world: World):
    await proposed(world, TEA, TEA)
    again = of_pass(await world.dreams.run(passes=[FOLD]), FOLD)
    assert (again.reason, len(await world.dreams.proposals())) == ("no_work", 1)
    await world.add(TEA)
    third = of_pass(await world.dreams.run(passes=[FOLD]), FOLD)
    assert set(codes(third)) == {"awaits_review"}
    assert len(await world.dreams.proposals()) == 1
    await approve_all(world)
    await world.dreams.run(passes=[FOLD])
    await approve_all(world)
    assert [entry.reinforcement_count for entry in await world.active()] == [3]


async def test_an_approval_is_a_run_of_its_own_that_can_be_undone(world: World):
    ids = await proposed(world, TEA, TEA, RYE, RYE)
    before = await world.export()
    report = await world.dreams.approve(ids[:1])
    assert (report.kind, report.target, report.changes) == (RunKind.REVIEW, ids[0], 2)
    assert sorted(Counter(entry.content for entry in await world.active()).values()) == [1, 2]
    assert [row.pass_name for row in await world.dreams.diff(report.run_id)] == [FOLD] * 2
    await world.dreams.undo(report.run_id)
    assert await world.export() == before
    again = of_pass(await world.dreams.run(passes=[FOLD]), FOLD)
    assert (again.reason, await world.export()) == ("no_work", before)


async def test_an_undone_approval_has_its_proposals_wait_again_as_before(world: World):
    ids = await proposed(world, TEA, TEA, RYE, RYE)
    before, waiting = await world.export(), [one.to_json() for one in await world.dreams.proposals()]
    for _ in range(2):  # it can be approved and undone as often as a person likes
        approval = await world.dreams.approve(ids)
        assert (approval.changes, await world.dreams.proposals()) == (4, [])
        undone = await world.dreams.undo(approval.run_id)
        assert undone.passes[0].notes == {"reopened_proposals": 2}
        assert [one.to_json() for one in await world.dreams.proposals()] == waiting
        assert await world.export() == before
    assert (await world.dreams.reject(ids[:1])).changes == 0
    assert [one.proposal_id for one in await world.dreams.proposals()] == ids[1:]


async def test_a_redone_approval_is_decided_and_its_undo_opens_it_once_more(world: World):
    ids = await proposed(world, TEA, TEA)
    approval = await world.dreams.approve(ids)
    approved = await world.export()
    undo = await world.dreams.undo(approval.run_id)
    redo = await world.dreams.undo(undo.run_id)
    assert (await world.export(), await world.dreams.proposals()) == (approved, [])
    with pytest.raises(UnknownProposalError, match="dream review list"):
        await world.dreams.approve(ids)
    await world.dreams.undo(redo.run_id)
    assert [one.proposal_id for one in await world.dreams.proposals()] == ids
    assert (await world.dreams.approve(ids)).changes == 2


async def test_one_change_taken_back_of_an_approval_opens_its_proposal_alone(world: World):
    ids = await proposed(world, TEA, TEA, RYE, RYE)
    approval = await world.dreams.approve(ids)
    await world.dreams.undo(approval.run_id, change=2)
    assert [one.proposal_id for one in await world.dreams.proposals()] == ids[1:]


async def test_an_approval_whose_records_moved_since_is_not_undone_and_does_not_wait(world: World):
    ids = await proposed(world, TEA, TEA)
    approval = await world.dreams.approve(ids)
    await world.change((await world.active())[0], tags=("drinks",))
    undone = await world.dreams.undo(approval.run_id)
    assert (codes(undone.passes[0]), await world.dreams.proposals()) == (["changed_since"], [])


async def test_an_undone_approval_whose_proposal_expired_says_so_and_nothing_waits(world: World):
    ids = await proposed(world, TEA, TEA)
    (waiting,) = await world.dreams.proposals()
    before, approval = await world.export(), await world.dreams.approve(ids)
    world.clock.advance(timedelta(days=30))
    undone = await world.dreams.undo(approval.run_id)
    assert [(one.code, one.detail) for one in undone.passes[0].refused] == [("proposal_expired", ids[0])]
    assert (await world.dreams.proposals(), await world.export()) == ([], before)
    await world.dreams.undo(waiting.run_id)
    again = of_pass(await world.dreams.run(passes=[FOLD]), FOLD)
    assert (again.proposed, codes(again)) == (0, ["undone_by_person"])


async def test_what_was_rejected_is_not_proposed_again(world: World):
    (only,) = await proposed(world, TEA, TEA)
    report = await world.dreams.reject([only])
    assert (report.changes, codes(of_pass(report, FOLD))) == (0, ["rejected"])
    first, _ = await world.active()
    await world.change(first, pinned=True)
    await world.change(first, pinned=False)
    await world.add(RYE, RYE)
    after = of_pass(await world.dreams.run(passes=[FOLD]), FOLD)
    (left,) = await world.dreams.proposals()
    assert [row.operation for row in left.rows] == ["fold"] * 2
    assert {entry.content for entry in await world.by_id(row.record_id for row in left.rows)} == {RYE}
    assert after.proposed == 1
    world.options = DreamOptions()
    await world.add(TEA)
    applied = of_pass(await world.dreams.run(passes=[FOLD]), FOLD)
    assert applied.accepted == 2
    assert Counter(entry.content for entry in await world.active())[TEA] == 2


async def test_a_record_that_moved_makes_its_proposal_stale_and_is_looked_at_again(world: World):
    ids = await proposed(world, TEA, TEA, RYE, RYE)
    await world.change((await world.active())[0], tags=("drinks",))
    report = await world.dreams.approve(ids)
    assert (report.changes, codes(of_pass(report, FOLD))) == (2, ["stale_source"])
    assert await world.dreams.proposals() == []
    await world.dreams.undo(report.run_id)
    assert of_pass(await world.dreams.run(passes=[FOLD]), FOLD).proposed == 1
    reopened, left = await world.dreams.proposals()
    assert (reopened.proposal_id in ids, left.proposal_id in ids) == (True, False)
    assert {entry.content for entry in await world.by_id(row.record_id for row in left.rows)} == {TEA}


async def test_taking_back_an_approval_and_then_its_proposing_run_leaves_what_was_before_both(world: World):
    world.options = proposing()
    await world.add(TEA, TEA)
    before = await world.export()
    run = await world.dreams.run(passes=[FOLD])
    approval = await approve_all(world)
    await world.dreams.undo(approval.run_id)
    await world.dreams.undo(run.run_id)
    assert await world.export() == before
    assert await world.dreams.proposals() == []
    told = of_pass(await world.dreams.run(passes=[FOLD]), FOLD)  # it looks again, and proposes it anew
    assert (told.proposed, codes(told)) == (1, [])


async def test_an_approval_taken_back_after_its_proposing_run_opens_nothing(world: World):
    world.options = proposing()
    await world.add(TEA, TEA)
    before = await world.export()
    run = await world.dreams.run(passes=[FOLD])
    approval = await approve_all(world)
    await world.dreams.undo(run.run_id)
    await world.dreams.undo(approval.run_id)
    assert (await world.dreams.proposals(), await world.export()) == ([], before)


async def test_a_forgotten_text_is_in_no_proposal_that_was_approved(world: World):
    ids = await proposed(world, TEA, TEA)
    approval = await world.dreams.approve(ids)
    for entry in await world.active():
        await world.memory.forget(entry.id)

    def left(unit: Any) -> list[Any]:
        mine = proposals.c.scope_id == unit.transaction.scope_id
        return unit.transaction.connection.execute(select(proposals).where(mine)).all()

    assert await world.storage.read(world.scope, left) == []
    await world.dreams.undo(approval.run_id)
    assert await world.dreams.proposals() == []


async def test_an_approval_asks_the_guards_of_today(world: World):
    ids = await proposed(world, TEA, TEA)
    category = (await world.active())[0].category
    world.options = world.options.replace(protected_categories=(category,))
    report = await world.dreams.approve(ids)
    assert (report.changes, codes(of_pass(report, FOLD))) == (0, ["protected_category"])


async def test_what_the_share_cap_has_no_room_for_goes_on_waiting(world: World):
    def sweep(entries: Sequence[MemoryEntry]) -> Proposal:
        now = world.clock.now()
        gone = [replace(one, status=Status.ARCHIVED, status_reason="old", status_at=now) for one in entries]
        changes = [Change[Any](before=one, after=after, reason="old") for one, after in zip(entries, gone, strict=True)]
        return Proposal(change_sets=tuple(ChangeSet(operation="sweep", changes=(change,)) for change in changes))

    world.options = DreamOptions(
        modes={"wishful": PassMode.PROPOSE}, consolidation=ConsolidationOptions(share_cap=0.0, share_cap_min=2)
    )
    await world.add(TEA, RYE, "Cem plays chess")
    report = of_pass(await world.run_passes(Wishful(sweep)), "wishful")
    assert (report.proposed, codes(report)) == (3, [])
    approval = await approve_all(world)
    assert (approval.changes, codes(of_pass(approval, "wishful"))) == (2, ["share_cap"])
    world.clock.advance(DAY * 1.1)
    assert (await approve_all(world)).changes == 1
    assert await world.active() == []


async def test_a_proposal_expires_is_reported_and_never_applied(world: World):
    ids = await proposed(world, TEA, TEA)
    world.clock.advance(timedelta(days=30))
    assert (await world.dreams.proposals(), (await world.dreams.status()).proposals) == ([], {})
    report = of_pass(await world.dreams.run(), "retention")
    assert (codes(report), report.notes["expired_proposals"]) == (["expired"], 1)
    with pytest.raises(UnknownProposalError):
        await world.dreams.approve(ids)
    assert len(await world.active()) == 2


async def test_one_that_expired_unnoticed_is_refused(world: World):
    ids = await proposed(world, TEA, TEA)
    world.clock.advance(timedelta(days=31))
    report = await world.dreams.approve(ids)
    assert (report.changes, codes(of_pass(report, FOLD))) == (0, ["expired"])


async def test_a_full_queue_takes_no_more_and_nothing_is_lost(world: World):
    world.options = proposing(max_waiting=2)
    ids = await proposed(world, TEA, TEA, RYE, RYE, "Cem plays chess", "Cem plays chess")
    assert len(ids) == 2
    full = of_pass(await world.dreams.run(passes=[FOLD]), FOLD)
    assert (full.outcome, full.reason) == (PassOutcome.SKIPPED, "queue_full")
    await approve_all(world)
    await world.dreams.run(passes=[FOLD])
    await approve_all(world)
    assert Counter(entry.content for entry in await world.active()).most_common(1)[0][1] == 1


async def test_a_day_has_its_own_bound_whatever_was_decided(world: World):
    world.options = proposing(per_day=1)
    await proposed(world, TEA, TEA, RYE, RYE)
    await approve_all(world)
    told = of_pass(await world.dreams.run(passes=[FOLD]), FOLD)
    assert (told.reason, await world.dreams.proposals()) == ("review_budget", [])
    world.clock.advance(DAY)
    assert of_pass(await world.dreams.run(passes=[FOLD]), FOLD).proposed == 1


async def test_a_run_taken_back_takes_its_proposals_along(world: World):
    world.options = proposing()
    await world.add(TEA, TEA)
    before = await world.export()
    run = await world.dreams.run(passes=[FOLD])
    await world.dreams.undo(run.run_id)
    assert (await world.dreams.proposals(), await world.export()) == ([], before)


async def test_a_plan_shows_what_would_be_proposed_and_applies_it(world: World):
    world.options = proposing()
    await world.add(TEA, TEA)
    plan = await world.dreams.plan(passes=[FOLD])
    assert [row.operation for row in plan.rows] == ["fold", "fold"]
    await world.dreams.run(plan=plan.plan_id)
    assert (len(await world.active()), await world.dreams.proposals()) == (1, [])


async def test_a_forgotten_text_is_in_no_proposal_and_in_no_decision(world: World):
    waiting, rejected = await proposed(world, TEA, TEA, RYE, RYE)
    await world.dreams.reject([rejected])
    for entry in {entry.content: entry for entry in await world.active()}.values():
        await world.memory.forget(entry.id)
    assert await world.dreams.proposals() == []

    def left(unit: Any) -> list[Any]:
        mine = unit.transaction.scope_id
        return [
            row
            for table in (proposals, decisions)
            for row in unit.transaction.connection.execute(select(table).where(table.c.scope_id == mine))
        ]

    assert await world.storage.read(world.scope, left) == []
    with pytest.raises(UnknownProposalError):
        await world.dreams.approve([waiting])


async def test_pause_stops_an_approval_and_no_rejection(world: World):
    ids = await proposed(world, TEA, TEA)
    await world.dreams.pause()
    assert (await world.dreams.approve(ids)).outcome is Outcome.DEFERRED
    assert codes(of_pass(await world.dreams.reject(ids), FOLD)) == ["rejected"]


async def test_every_pass_may_propose_but_retention(world: World):
    options = DreamOptions(modes={"*": PassMode.PROPOSE, "near-duplicates": PassMode.OFF})
    assert options.mode(FOLD) is PassMode.PROPOSE
    assert options.mode("near-duplicates") is PassMode.OFF
    assert options.mode("retention") is PassMode.APPLY
    with pytest.raises(InvalidOptionsError, match="cannot wait for a person"):
        DreamOptions(modes={"retention": PassMode.PROPOSE})
    with pytest.raises(UnknownPassError):
        await world.dreams.proposals(pass_name="no-such-pass")


def _content(entries: Sequence[MemoryEntry]) -> list[dict[str, Any]]:
    return [to_image(entry) for entry in entries]


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.sampled_from([TEA, RYE, "Cem plays chess"]), min_size=1, max_size=9), size=st.integers(2, 6))
async def test_approving_all_of_a_run_ends_where_applying_would_have(world: World, texts: list[str], size: int):
    async def folded(options: DreamOptions) -> World:
        one = world.elsewhere()
        one.options = options
        await one.add(*(one.entry(text, id=f"e{place}") for place, text in enumerate(texts)))
        await one.dreams.run(passes=[FOLD])
        return one

    expected = _content(await (await folded(DreamOptions(step_size=size))).entries())
    whole = await folded(proposing())
    await approve_all(whole)
    assert _content(await whole.entries()) == expected
    # Where steps are so small that they cut a fold in two, the second half waits for the first to be decided.
    cut = await folded(proposing().replace(step_size=size))
    while await cut.dreams.proposals():
        await approve_all(cut)
        await cut.dreams.run(passes=[FOLD])
    assert _content(await cut.entries()) == expected


def dropping(*texts: str) -> Curious:
    """Asks once, and archives the entries that say what the model answers."""

    async def archive(context: ModelContext, answer: str) -> Proposal:
        found = await context.read(lambda view: view.entries.select(EntryFilter()))
        gone = {"status": Status.ARCHIVED, "status_reason": "no", "status_at": context.as_of}
        changes = [Change[Any](before=one, after=replace(one, **gone), reason="no") for one in found]
        return Proposal(
            change_sets=tuple(
                ChangeSet(
                    operation="drop", changes=(one,), fingerprints={one.record_id: fingerprint("drop", one.before)}
                )
                for one in changes
                if one.before.content == answer
            )
        )

    return Curious(texts, propose=archive)


async def test_a_model_is_not_asked_again_about_what_waits_or_had_no_room(world: World):
    world.options = DreamOptions(modes={"curious": PassMode.PROPOSE}, review=ReviewOptions(max_waiting=1))
    world.chat = VerifyingChatClient([f'{{"text": "{TEA}"}}', f'{{"text": "{RYE}"}}', f'{{"text": "{TEA}"}}'])
    await world.add(TEA, RYE)
    asked = dropping("one", "two", "three")
    first = of_pass(await world.run_passes(asked), "curious")
    assert (first.calls, first.proposed, sorted(codes(first))) == (3, 1, ["awaits_review", "queue_full"])
    assert of_pass(await world.run_passes(asked), "curious").reason == "queue_full"
    await approve_all(world)
    second = of_pass(await world.run_passes(asked), "curious")
    # What was proposed about the entry that is gone by now is stale; the question behind it may be asked again.
    assert (second.proposed, codes(second)) == (1, ["stale_source"])
    await approve_all(world)
    assert await world.active() == []


async def test_the_question_behind_a_stale_proposal_is_asked_again(world: World):
    world.options = DreamOptions(modes={"curious": PassMode.PROPOSE})
    world.chat = VerifyingChatClient([f'{{"text": "{TEA}"}}'] * 2)
    (entry,) = await world.add(TEA)
    asked = dropping("one")
    await world.run_passes(asked)
    await world.change(entry, tags=("drinks",))
    assert codes(of_pass(await approve_all(world), "curious")) == ["stale_source"]
    assert of_pass(await world.run_passes(asked), "curious").proposed == 1
    await approve_all(world)
    assert (await world.get(entry)).status is Status.ARCHIVED


async def test_a_run_killed_at_any_write_goes_on_and_proposes_each_fold_once(world: World):
    async def filled(one: World) -> World:
        one.options = proposing().replace(step_size=2)
        await one.add(TEA, TEA, RYE, RYE)
        return one

    async def dream(one: World) -> None:
        await one.dreams.run(passes=[FOLD])

    writes = await count_writes(await filled(world.elsewhere()), dream)
    for write in range(writes - 1):
        one = await filled(world.elsewhere())
        with pytest.raises(Killed):
            await dream(dying(one, write, committed=True))
        await bury(one)
        await dream(one)
        assert len(await one.dreams.proposals()) == 2, write


@pytest.mark.parametrize("committed", [False, True])
async def test_an_approval_killed_at_any_write_leaves_each_proposal_decided_or_waiting(world: World, committed: bool):
    async def filled(one: World) -> World:
        one.options = proposing().replace(step_size=2)
        await proposed(one, TEA, TEA, RYE, RYE)
        return one

    writes = await count_writes(await filled(world.elsewhere()), approve_all)
    for write in range(writes):
        one = await filled(world.elsewhere())
        with pytest.raises(Killed):
            await approve_all(dying(one, write, committed=committed))
        await bury(one)
        assert len(await one.active()) == 2 + len(await one.dreams.proposals())
        await approve_all(one)
        assert len(await one.active()) == 2
