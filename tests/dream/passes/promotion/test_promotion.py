"""What recall proved useful goes to MEMORY.md, once, and nothing else does."""

import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from dreaming import DAY, NOW, World, codes, of_pass
from dulwich.repo import Repo

from agentcore.domain import MemoryEntry, RecallHit, SourceKind, SourceRef, Trust
from agentcore.errors import InvalidOptionsError
from agentcore.workspace import GitUse, Workspaces, read
from dream.domain import Outcome, PassReport, RunReport
from dream.interfaces.cli.render.reports import passes_lines
from dream.options import DocumentOptions, DreamOptions, PassMode, PromotionOptions, ScorerName
from dream.passes.promotion import PromotionPass
from dream.stores import dream_stores

DIARY = """\
# DREAMS.md — Dream Diary

## Deep Sleep 2025-06-14 09:00 UTC

- candidates: 3
- promoted: 2
- skipped (already promoted): 0

### Promoted

- Ana keeps bees — score 0.70, hits 4
- Bo sails on Sundays — score 0.70, hits 4
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def shared(world: World, folder: Path) -> World:
    world.workspaces = Workspaces(lambda _: folder)
    return world


async def recalled(
    world: World,
    *entries: MemoryEntry,
    queries: Sequence[str] = ("a", "b", "a", "b"),
    rank: int = 1,
    at: datetime = NOW,
    apart: timedelta = DAY,
) -> None:
    """Have entries recalled by each query, the last time *at*, a while apart."""
    hits = [
        RecallHit(
            entry_id=entry.id,
            query=query,
            score=1.0,
            rank=rank,
            recalled_at=at - apart * (len(queries) - 1 - place),
        )
        for entry in entries
        for place, query in enumerate(queries)
    ]
    await world.write(lambda unit: unit.recall_hits.append(hits))


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def sweep(world: World) -> tuple[RunReport, PassReport]:
    report = await world.run_passes(PromotionPass())
    return report, of_pass(report, "promotion")


async def promoted(world: World) -> set[str]:
    return set(await world.storage.read(world.scope, lambda view: dream_stores(view).promotions.known()))


async def test_what_meets_every_gate_is_promoted_in_the_documented_formats_and_nothing_twice(
    shared: World, folder: Path
):
    ana, bo, cy = await shared.add("Ana keeps bees", "Bo sails on Sundays", "Cy was here once")
    await recalled(shared, ana, bo, rank=2)
    await recalled(shared, cy, queries=("a",))
    report, done = await sweep(shared)
    assert (folder / "MEMORY.md").read_text() == (
        "# MEMORY.md\n\n## Dreamed 2025-06-14 09:00 UTC\n\n"
        "- Ana keeps bees _(score=0.70, hits=4, days=4)_\n"
        "- Bo sails on Sundays _(score=0.70, hits=4, days=4)_\n"
    )
    assert (folder / "DREAMS.md").read_text() == DIARY
    assert done.notes["scanned"] == 3
    assert [entry_id for entry_id, _, _ in done.notes["promoted"]] == [ana.id, bo.id]
    assert await promoted(shared) == {ana.id, bo.id}
    before = files_in(folder)
    again, nothing = await sweep(shared)
    assert (again.outcome, nothing.notes["skipped"], nothing.notes["promoted"]) == (Outcome.UNCHANGED, 2, [])
    assert files_in(folder) == before
    await shared.dreams.undo(report.run_id)
    assert files_in(folder) == {}
    assert (await sweep(shared))[0].changes == 0  # nothing that a person took back is done again


async def test_a_sweep_without_recalls_looks_at_nothing(shared: World, folder: Path):
    await shared.add("Ana keeps bees")
    report, done = await sweep(shared)
    assert (report.outcome, done.reason) == (Outcome.UNCHANGED, "no_work")
    assert files_in(folder) == {}


@pytest.mark.parametrize(
    ("recall", "kept_out_by"),
    [
        ({"queries": ("a", "b")}, "min_recall_count"),
        ({"queries": ("a", "a", "a", "a")}, "min_unique_queries"),
        ({"apart": timedelta(minutes=1)}, "min_unique_days"),
        ({"rank": 100, "at": NOW - 360 * DAY}, "min_score"),
    ],
)
async def test_each_gate_keeps_out_what_fails_it_alone(
    shared: World, folder: Path, recall: dict[str, object], kept_out_by: str
):
    strict = PromotionOptions(min_score=0.5, min_unique_days=2)
    shared.options = DreamOptions(promotion=strict)
    (ana,) = await shared.add("Ana keeps bees")
    await recalled(shared, ana, **recall)  # pyright: ignore[reportArgumentType]
    await sweep(shared)
    assert await promoted(shared) == set()
    open_gate = {"min_score": 0.0} if kept_out_by == "min_score" else {kept_out_by: 1}
    shared.options = DreamOptions(promotion=strict.replace(**open_gate))
    await sweep(shared)
    assert await promoted(shared) == {ana.id}


async def test_what_must_not_stand_in_memory_is_refused_with_a_reason_and_leaves_no_trace(shared: World, folder: Path):
    entries = await shared.add(
        shared.entry("A stranger's page says so", trust=Trust.UNTRUSTED),
        shared.entry("The nightly job reported 3 errors", category="reports/nightly"),
        shared.entry("Read in a file", sources=(SourceRef(SourceKind.DOCUMENT, "MEMORY.md"),)),
        shared.entry("Ana's password is hunter2swordfish."),
        shared.entry("# heading\n\n- and a list"),
        shared.entry("Bo sails on Sundays"),
    )
    await recalled(shared, *entries)
    _, done = await sweep(shared)
    assert sorted(codes(done)) == ["invalid_content", "own_output", "own_output", "secret", "untrusted"]
    written = b"".join(files_in(folder).values()).decode()
    assert "Bo sails" in written
    assert "hunter2" not in written + str(done.refused) + str(await shared.journal())


SECRETS = (
    "The deploy bot uses AKIAQ3EGRXW5L7PYTZ2M",
    "CI runs with ghp_x7Kq2LmZ9vB4nR8tY1wE6uI3oP5aS0dFgHjK",
    "Slack knows xoxb-2345678901-2345678901234-aBcDeFgHiJkLmNoPqRsTuVwX",
    "Alerts go to https://hooks.slack.com/services/T02ABCD3E/B03FGHI4J/kLmN0pQrStUvWxYz",
    "Payments use sk_live_51HqLyjWDarjtT1zdp7dcXvB2n",
    "The key begins -----BEGIN RSA PRIVATE KEY----- MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn",
    "The data lies in postgres://admin:Gr8tP4ss@db.internal:5432/app",
    "The wifi password is Tr0mb0ne!Lake",
    "Her card is 4539148803436467",
    "Storage takes wJalrXUtnFEMI/K7MDENG/bPxRfiCYzE8mQpL2vTa",
)


async def test_no_kind_of_secret_reaches_a_file_a_commit_a_report_or_the_journal(
    shared: World, folder: Path, caplog: pytest.LogCaptureFixture
):
    shared.workspaces = Workspaces(lambda _: folder, git=GitUse.INIT)
    told = enumerate((*SECRETS, "Bo sails on Sundays"))
    entries = await shared.add(*(shared.entry(text, id=f"{place:016x}") for place, text in told))
    await recalled(shared, *entries)
    with caplog.at_level("DEBUG"):
        report, done = await sweep(shared)
    assert codes(done) == ["secret"] * len(SECRETS)
    repository = Repo(str(folder))
    stored = [repository.object_store[one].as_raw_string() for one in repository.object_store]
    repository.close()
    shown = [line.text for line in passes_lines(report, 200, {entry.id: entry for entry in entries})]
    files = [(folder / name).read_bytes() for name in ("MEMORY.md", "DREAMS.md")]
    left = b"".join([*files, *stored]).decode(errors="replace")
    left += str(report.to_json()) + str(await shared.journal()) + caplog.text + "".join(shown)
    assert "Bo sails on Sundays" in left
    assert [text for text in SECRETS if max(text.split(), key=len) in left] == []


async def test_what_memory_says_already_counts_as_promoted_and_a_detail_of_its_own_does_not(
    shared: World, folder: Path
):
    (folder / "MEMORY.md").write_text("- The red boat of Bo lies in the harbour of Faro\n- Ana takes 10mg at night\n")
    same, other = await shared.add("The red boat of Bo lies in the harbour of  faro", "Ana takes 100mg at night")
    await recalled(shared, same, other)
    _, done = await sweep(shared)
    assert [one[0] for one in done.notes["already_said"]] == [same.id]
    assert [one[0] for one in done.notes["promoted"]] == [other.id]
    assert await promoted(shared) == {same.id, other.id}


async def test_what_memory_says_already_is_reinforced_once_as_of_its_last_need_and_that_can_be_taken_back(
    shared: World, folder: Path
):
    memory = "- The red boat of Bo lies in the harbour of Faro\n"
    (folder / "MEMORY.md").write_text(memory)
    long_ago = NOW - 90 * DAY
    texts = ("The red boat of Bo lies in the harbour of  faro", "Ana keeps bees", "Ana keeps bees.")
    (boat,) = await shared.add(texts[0], created_at=long_ago)
    bees = await shared.add(*texts[1:], created_at=long_ago)
    (kept,) = await shared.add("the red boat of Bo lies in the harbour of Faro", category="mine", created_at=long_ago)
    shared.options = DreamOptions(protected_categories=("mine",))
    await recalled(shared, boat, kept, *bees, at=NOW - DAY)
    before = await shared.entries()
    report, done = await sweep(shared)
    assert done.refused == ()
    (written,) = done.notes["promoted"]
    (left_out,) = {one.id for one in bees} - {written[0]}  # the line of the other says it, written in the same sweep
    assert {one[0] for one in done.notes["already_said"]} == {boat.id, kept.id, left_out}
    after = {entry.id: entry for entry in await shared.active()}
    assert {one for one in after if after[one].last_seen_at == NOW - DAY} == {boat.id, left_out}
    assert [after[boat.id].reinforcement_count, after[boat.id].base] == [1, boat.base]
    assert after[kept.id].last_seen_at == kept.last_seen_at  # no pass touches a protected category
    assert "MEMORY.md says it already" in (await shared.dreams.why(boat.id)).rows[-1].reason
    await recalled(shared, boat, at=NOW + DAY)
    shared.clock.advance(2 * DAY)
    assert (await sweep(shared))[0].changes == 0  # once
    await shared.dreams.undo(report.run_id)
    assert (await shared.entries(), (folder / "MEMORY.md").read_text()) == (before, memory)
    assert (await sweep(shared))[0].changes == 0


async def test_a_promotion_that_a_person_approves_is_made_once(shared: World, folder: Path):
    shared.options = DreamOptions(modes={"promotion": PassMode.PROPOSE})
    (folder / "MEMORY.md").write_text("- mine\n")
    ana, bo = await shared.add("Ana keeps bees", "Bo sails on Sundays")
    await recalled(shared, ana, bo)
    await sweep(shared)
    again = (await sweep(shared))[1]
    assert (again.proposed, codes(again)) == (0, ["awaits_review"] * 2)
    (waiting,) = await shared.dreams.proposals()
    assert await promoted(shared) == set()
    assert files_in(folder) == {"MEMORY.md": b"- mine\n"}
    (told,) = (await shared.dreams.promotion(ana.id)).candidates
    assert told.barred == "awaits_review"
    approval = await shared.dreams.approve([waiting.proposal_id])
    assert of_pass(approval, "promotion").refused == ()
    text = (folder / "MEMORY.md").read_text()
    assert (text.count("Ana keeps bees"), text.count("Bo sails on Sundays")) == (1, 1)
    assert await promoted(shared) == {ana.id, bo.id}
    nothing = (await sweep(shared))[1]
    assert (nothing.proposed, codes(nothing), nothing.notes["skipped"]) == (0, [], 2)
    await shared.dreams.undo(approval.run_id)
    assert files_in(folder) == {"MEMORY.md": b"- mine\n"}
    assert (await sweep(shared))[1].proposed == 0
    assert [one.proposal_id for one in await shared.dreams.proposals()] == [waiting.proposal_id]
    await shared.dreams.approve([waiting.proposal_id])
    assert (folder / "MEMORY.md").read_text() == text


async def test_a_promotion_that_a_person_rejects_is_proposed_again_only_when_its_text_changed(
    shared: World, folder: Path
):
    shared.options = DreamOptions(modes={"promotion": PassMode.PROPOSE})
    ana, bo = await shared.add("Ana keeps bees", "Bo sails on Sundays")
    await recalled(shared, ana, bo)
    await sweep(shared)
    await shared.dreams.reject([one.proposal_id for one in await shared.dreams.proposals()])
    (cy,) = await shared.add("Cy bakes bread")
    await shared.change(ana, content="Ana keeps forty hives")
    await recalled(shared, cy)
    done = (await sweep(shared))[1]
    assert (done.proposed, codes(done)) == (1, ["undone_by_person"])
    await shared.dreams.approve([one.proposal_id for one in await shared.dreams.proposals()])
    assert await promoted(shared) == {ana.id, cy.id}
    assert "Bo sails" not in (folder / "MEMORY.md").read_text()


async def test_a_proposed_promotion_is_added_to_what_stands_there_then_and_gone_once_its_text_is_forgotten(
    shared: World, folder: Path
):
    shared.options = DreamOptions(modes={"promotion": PassMode.PROPOSE})
    ana, bo = await shared.add("Ana keeps bees in the garden", "Bo sails on Sundays with Cy")
    await recalled(shared, ana)
    await sweep(shared)
    (folder / "MEMORY.md").write_text("- a person was here\n")
    approval = await shared.dreams.approve([one.proposal_id for one in await shared.dreams.proposals()])
    assert codes(of_pass(approval, "promotion")) == []
    text = (folder / "MEMORY.md").read_text()
    assert text.startswith("- a person was here\n")
    assert (text.count("Ana keeps bees"), await promoted(shared)) == (1, {ana.id})
    await recalled(shared, bo)
    assert (await sweep(shared))[1].proposed == 1
    await shared.memory.forget(bo.id)
    assert await shared.dreams.proposals() == []
    assert (await sweep(shared))[1].proposed == 0
    assert (folder / "MEMORY.md").read_text() == text


async def test_the_best_come_first_and_the_rest_with_the_next_sweeps(shared: World, folder: Path):
    shared.options = DreamOptions(promotion=PromotionOptions(max_per_sweep=2))
    entries = await shared.add(*(f"Fact about place{n} and thing{n * 7}" for n in range(5)))
    for place, entry in enumerate(entries):
        await recalled(shared, entry, queries=("a", "b", "c")[: 2 + place % 2] * (place + 2))
    sizes: list[int] = []
    for hours in (0, 1, 24, 47, 48, 72):  # runs within a day of a sweep add nothing to a full one
        shared.clock.set(NOW + timedelta(hours=hours))
        done = (await sweep(shared))[1]
        sizes.append(len(done.notes["promoted"]))
    assert sizes == [2, 0, 2, 0, 1, 0]
    shared.options = DreamOptions(promotion=PromotionOptions(max_per_sweep=0))
    assert (await sweep(shared))[0].changes == 0


async def test_days_are_those_of_the_zone(shared: World):
    (ana,) = await shared.add("Ana keeps bees")
    # Two instants of one UTC day that Tokyo tells apart, and two that are one day in Lisbon in summer.
    for at in ("2025-06-01T14:30Z", "2025-06-01T15:30Z", "2025-06-01T23:30Z", "2025-06-02T00:30Z"):
        await recalled(shared, ana, queries=("a",), at=datetime.fromisoformat(at))

    async def days(zone: str) -> tuple[int, int]:
        found = await shared.storage.read(
            shared.scope, lambda view: dream_stores(view).recalls.columns(ZoneInfo(zone), until=NOW)
        )
        return int(found.days[0]), int(found.span[0])

    assert await days("UTC") == (2, 1)
    assert await days("Asia/Tokyo") == (2, 1)
    assert await days("Europe/Lisbon") == (2, 1)
    assert await days("America/New_York") == (1, 0)


async def test_days_are_right_on_both_sides_of_a_change_of_the_clock(shared: World):
    (ana,) = await shared.add("Ana keeps bees")
    zone = ZoneInfo("Europe/Lisbon")
    instants = [datetime(2025, 3, 1, tzinfo=zone) + timedelta(hours=11) * n for n in range(120)]
    for at in instants:
        await recalled(shared, ana, queries=("a",), at=at.astimezone(ZoneInfo("UTC")))
    found = await shared.storage.read(shared.scope, lambda view: dream_stores(view).recalls.columns(zone, until=NOW))
    dates = {at.date() for at in instants}
    assert (int(found.days[0]), int(found.span[0])) == (len(dates), (max(dates) - min(dates)).days)


async def test_a_full_memory_makes_room_by_what_dreams_wrote_and_never_by_what_people_did(shared: World, folder: Path):
    shared.options = DreamOptions(documents=DocumentOptions(size_cap=1_000))
    person = "- " + "Bo wrote this himself and wants to keep it. " * 14 + "\n"
    (folder / "MEMORY.md").write_text(person)
    first, second = await shared.add("old " + "honey " * 30, "new " + "sails " * 30)
    await recalled(shared, first)
    await sweep(shared)
    assert "honey" in (folder / "MEMORY.md").read_text()
    await recalled(shared, second)
    shared.clock.advance(DAY)
    report, _ = await sweep(shared)
    memory, archive = (folder / "MEMORY.md").read_text(), (folder / "memory-archive.md").read_text()
    assert memory.startswith(person)
    assert memory.count("## Dreamed") == 1  # nothing is left below the other heading
    assert ("honey" in memory, "honey" in archive, "sails" in memory) == (False, True, True)
    await shared.dreams.undo(report.run_id)
    assert not (folder / "memory-archive.md").exists()
    third = (await shared.add("third " + "clouds " * 60))[0]
    (folder / "MEMORY.md").write_text(person + person[:-300])
    await recalled(shared, third)
    assert codes((await sweep(shared))[1]) == ["document_full"]
    assert third.id not in await promoted(shared)


async def test_a_full_memory_is_foreseen_by_the_explanation(shared: World, folder: Path):
    shared.options = DreamOptions(documents=DocumentOptions(size_cap=1_000))
    (folder / "MEMORY.md").write_text("- " + "Bo wrote this himself and wants to keep it. " * 30 + "\n")
    (ana,) = await shared.add("Ana keeps bees")
    await shared.dreams.run(passes=["exact-fold"])
    await recalled(shared, ana)
    await sweep(shared)
    told = await shared.dreams.promotion()
    assert (told.waits_for_room, told.memory_size > told.size_cap == 1_000) == (1, True)
    assert [(one.barred, one.is_chosen) for one in told.candidates] == [("document_full", False)]
    shared.options = DreamOptions()
    told = await shared.dreams.promotion()
    assert (told.waits_for_room, [one.is_chosen for one in told.candidates]) == (0, [True])


async def test_a_promotion_that_was_taken_back_is_not_counted_until_it_is_brought_back(shared: World, folder: Path):
    (ana,) = await shared.add("Ana keeps bees")
    await recalled(shared, ana)
    report, _ = await sweep(shared)
    assert (await shared.dreams.promotion()).promoted == 1
    undone = await shared.dreams.undo(report.run_id)
    told = await shared.dreams.promotion(ana.id)
    assert (told.promoted, told.candidates[0].promotion, told.candidates[0].barred) == (0, None, "undone_by_person")
    await shared.dreams.undo(undone.run_id)
    told = await shared.dreams.promotion(ana.id)
    assert (told.promoted, told.candidates[0].promotion is not None) == (1, True)


@pytest.mark.parametrize("heading", ["kept", "deleted"])
async def test_an_undo_takes_its_lines_out_of_what_a_person_edited_elsewhere(shared: World, folder: Path, heading: str):
    mine = "# MEMORY.md\n\n- mine\n"
    (folder / "MEMORY.md").write_text(mine)
    entries = await shared.add("Ana keeps bees", "Bo sails on Sundays")
    await recalled(shared, *entries)
    report, _ = await sweep(shared)
    text = (folder / "MEMORY.md").read_text()
    dreamed = next(line for line in text.splitlines() if line.startswith("## Dreamed"))
    edited = text.replace("- mine", "- mine, and more")
    (folder / "MEMORY.md").write_text(edited if heading == "kept" else edited.replace(f"{dreamed}\n", ""))
    undone = await shared.dreams.undo(report.run_id)
    assert [one.refused for one in undone.passes] == [()]
    left = (folder / "MEMORY.md").read_text()
    assert left.split() == mine.replace("- mine", "- mine, and more").split()


async def test_a_line_that_a_person_moved_under_another_heading_is_left_there(shared: World, folder: Path):
    entries = await shared.add("Ana keeps bees", "Bo sails on Sundays")
    await recalled(shared, *entries)
    report, _ = await sweep(shared)
    lines = (folder / "MEMORY.md").read_text().splitlines(keepends=True)
    moved = next(line for line in lines if "bees" in line)
    (folder / "MEMORY.md").write_text("".join([*(one for one in lines if one != moved), "\n## Mine\n\n", moved]))
    undone = await shared.dreams.undo(report.run_id)
    assert [one.code for item in undone.passes for one in item.refused] == ["changed_since"]
    left = (folder / "MEMORY.md").read_text()
    assert ("bees" in left, "sails" in left) == (True, False)


async def test_a_plan_promotes_nothing_and_applied_it_promotes_the_same(shared: World, folder: Path):
    (ana,) = await shared.add("Ana keeps bees")
    await recalled(shared, ana)
    plan = await shared.dreams.plan(passes=["promotion"])
    assert files_in(folder) == {}
    assert await promoted(shared) == set()
    await shared.dreams.run(plan=plan.plan_id)
    assert "Ana keeps bees" in (folder / "MEMORY.md").read_text()
    assert await promoted(shared) == {ana.id}


async def test_the_other_scorer_and_other_weights_decide_by_their_own_numbers(shared: World):
    (ana,) = await shared.add("Ana keeps bees")
    await recalled(shared, ana, queries=("a", "b", "a"), apart=timedelta(minutes=5))
    scores = list[set[str]]()
    for options in (
        PromotionOptions(min_score=0.99),
        PromotionOptions(min_score=0.99, scorer=ScorerName.OPENCLAW),
        PromotionOptions(min_score=0.99, weights={"relevance": 1.0}),
    ):
        shared.options = DreamOptions(promotion=options)
        await sweep(shared)
        scores.append(await promoted(shared))
    assert scores == [set(), set(), {ana.id}]


async def test_characters_that_nobody_sees_are_not_written_and_the_line_goes_with_the_entry(
    shared: World, folder: Path
):
    hidden = "Ana\u200b keeps\x1b[31m \u202ebees\u2066 in \u0645\u06cc\u200c\u062e and \U0001f468\u200d\U0001f33e"
    (entry,) = await shared.add(hidden)
    await recalled(shared, entry)
    _, done = await sweep(shared)
    assert done.accepted == 2
    shown = "Ana keeps[31m bees in \u0645\u06cc\u200c\u062e and \U0001f468\u200d\U0001f33e"
    assert all(shown in written.decode() for written in files_in(folder).values())
    assert (await shared.get(entry)).content == hidden
    await shared.memory.forget(entry.id)
    stored = await shared.storage.read(shared.scope, lambda view: [one.content for one in view.documents.all()])
    assert len(stored) == 2
    assert "bees" not in str(stored) + str(await shared.journal())


async def test_a_secret_between_characters_that_nobody_sees_is_seen(shared: World, folder: Path):
    await recalled(shared, *await shared.add("Ana's pass\u200bword is hunter2swordfish."))
    _, done = await sweep(shared)
    assert (codes(done), files_in(folder)) == (["secret"], {})


async def test_what_is_set_aside_or_forgotten_is_not_promoted(shared: World, folder: Path):
    ana, bo = await shared.add("Ana keeps bees in the garden", "Bo sails on Sundays with Cy")
    await recalled(shared, ana, bo)
    await shared.memory.archive(ana.id, reason="a test wished it")
    await shared.memory.forget(bo.id)
    await sweep(shared)
    assert await promoted(shared) == set()
    assert files_in(folder) == {}


async def test_without_a_workspace_the_pass_says_what_is_missing(world: World):
    _, done = await sweep(replace(world, workspaces=None))
    assert done.reason == "missing: workspace"


_STRICT = PromotionOptions(scorer=ScorerName.OPENCLAW, min_recall_count=1, min_unique_queries=1, min_score=0.0)


async def test_concepts_decide_among_equals_and_are_counted_for_as_few_as_it_takes(shared: World):
    plain = await shared.add(*(f"it was so: {n}" for n in range(300)))
    (rich,) = await shared.add("harbour mast sailing regatta Lisbon compass")
    await recalled(shared, *plain, rich, queries=("a",))
    shared.options = DreamOptions(promotion=_STRICT.replace(max_per_sweep=1, min_score=0.6))
    told = await shared.dreams.promotion(entry_id=rich.id, limit=1)
    (candidate,) = told.candidates
    assert candidate.components["concepts"] == (1.0, 0.06)
    assert candidate.is_chosen
    (other,) = (await shared.dreams.promotion(entry_id=plain[0].id, limit=1)).candidates
    assert other.components["concepts"] == (0.0, 0.06)
    assert candidate.score == pytest.approx(other.score + 0.06)
    (best,) = (await shared.dreams.promotion(limit=1)).candidates
    assert best.entry_id == rich.id
    # With a gate between the two scores, none of the plain ones is taken for one that meets it.
    shared.options = DreamOptions(promotion=_STRICT.replace(min_score=other.score + 0.03))
    _, done = await sweep(shared)
    assert [one[0] for one in done.notes["promoted"]] == [rich.id]


async def test_sweeps_that_an_entry_came_newly_to_raise_its_score_once_a_day_and_fade(shared: World):
    shared.options = DreamOptions(promotion=_STRICT.replace(max_per_sweep=0))
    (ana,) = await shared.add("Ana keeps bees")

    async def boost() -> float:
        (told,) = (await shared.dreams.promotion(entry_id=ana.id, limit=1)).candidates
        return told.components["boost"][0]

    await recalled(shared, ana, queries=("a",))
    assert await boost() == 0
    await sweep(shared)
    once = await boost()
    assert once == pytest.approx(0.06 * np.log(2) / np.log(7))
    await recalled(shared, ana, queries=("b",), at=NOW + timedelta(hours=1))
    shared.clock.set(NOW + timedelta(hours=2))
    await sweep(shared)  # the same day
    shared.clock.set(NOW + timedelta(days=3))
    await sweep(shared)  # not recalled in the last two days
    assert await boost() == pytest.approx(once * 2 ** (-3 / 14))
    await recalled(shared, ana, queries=("c",), at=NOW + timedelta(days=3))
    await sweep(shared)
    assert await boost() == pytest.approx(0.06 * np.log(3) / np.log(7))
    await shared.memory.forget(ana.id)
    assert await shared.storage.read(shared.scope, lambda view: dream_stores(view).phases.standing()) == {}


async def test_the_scorer_without_boosts_keeps_no_account_of_sweeps(shared: World):
    (ana,) = await shared.add("Ana keeps bees")
    await recalled(shared, ana)
    await sweep(shared)
    assert await shared.storage.read(shared.scope, lambda view: dream_stores(view).phases.standing()) == {}


def test_a_weight_for_concepts_is_refused_where_none_are_counted():
    with pytest.raises(InvalidOptionsError, match="counts no concepts"):
        PromotionOptions(weights={"concepts": 0.1})


async def test_what_needs_no_model_leaves_every_entry_as_it_was(shared: World):
    entries = await shared.add("Ana keeps bees", "Bo looks after the bees")
    await recalled(shared, *entries)
    report = await shared.dreams.run(passes=["promotion", "rem"])
    assert report.changes == 3  # MEMORY.md once, the diary by each of them
    assert await shared.by_id(entry.id for entry in entries) == entries


@contextmanager
def counted_readings() -> Iterator[Counter[tuple[str, bool]]]:
    """Count how often each text is read as Markdown, and whether the event loop waited for it."""
    found, loop = Counter[tuple[str, bool]](), threading.get_ident()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is read.__code__:
            found[frame.f_locals["text"], threading.get_ident() == loop] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.mark.parametrize("cap", [2_000, 20_000])
async def test_each_text_is_read_once_and_never_while_the_event_loop_waits(shared: World, folder: Path, cap: int):
    shared.workspaces = Workspaces(lambda _: folder, git=GitUse.OFF)
    shared.options = shared.options.replace(documents=DocumentOptions(size_cap=cap))
    memory = "# MEMORY.md\n\n" + "".join(f"- Visitor {number} came to the harbour.\n" for number in range(100))
    (folder / "MEMORY.md").write_text(memory)
    await recalled(shared, *await shared.add("Ana keeps bees", "Bo sails on Sundays", "curl " * 100))
    with counted_readings() as readings:
        _, told = await sweep(shared)
    assert told.accepted == (0 if cap < len(memory) else 2)
    assert readings[memory, False] == 1
    assert [text for text, in_the_loop in readings if in_the_loop] == []
    assert [text for (text, _), times in readings.items() if text.startswith("# MEMORY.md") and times > 1] == []
