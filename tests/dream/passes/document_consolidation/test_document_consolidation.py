"""The pass on real files: what is asked and when, who goes first, and how it is taken back."""

import asyncio
import itertools
from dataclasses import replace
from typing import Any

import pytest
from dreaming import DAY, codes
from rereading import is_second_reading, reread
from tidying import LATE, NAME, NEW, NOTHING, OLD, PAGE, SAME, Desk, answer, edit, lines, said_to, shown

from agentcore.domain import RecallHit, Status, fold_key
from agentcore.hosting import AgentWorkspace
from agentcore.stores import ReadView
from agentcore.testing import ScriptedChatClient
from dream.cycle import Backlog
from dream.domain import Outcome, PassOutcome
from dream.interfaces.cli.render.changes import change_set_lines
from dream.passes import PassSlot
from dream.passes.document_consolidation import OVERHEAD, DocumentConsolidation
from dream.passes.promotion import PromotionPass
from dream.stores import dream_stores
from dream.stores.calls import CallKey

PATTERN = "Twice the release was late because the nightly build failed: on 6 March and on 9 April"
TIDY = answer(
    edit("merge", *SAME, text=SAME[0]),
    edit("archive", OLD, target=NEW, reason="releases are cut on Mondays since March"),
    edit("add", *LATE, text=PATTERN),
    edit("keep", "Bo sails on Sundays"),
)


async def test_a_page_is_tidied_once_and_what_is_taken_back_is_not_done_again(desk: Desk):
    await desk.write()
    report, requests, run = await desk.dream(TIDY)
    tidied = PAGE.replace(f"- {SAME[1]}\n- {SAME[2]}\n- {OLD}\n", "")
    assert desk.memory.read_text() == f"{tidied}\n## Patterns and contradictions\n\n- {PATTERN}\n"
    assert desk.archive.read_text() == f"# MEMORY.md\n\n## Builds\n- {OLD}\n"
    assert (report.outcome, codes(report), len(requests)) == (PassOutcome.APPLIED, [], 1)
    told = {"items": 12, "kept": 1, "unmentioned": 5, "merged": 3, "into": 1, "archived": 1, "added": 1}
    assert told.items() <= report.notes.items()
    assert (report.notes["rewritten"], report.notes["moved"], report.notes["left_alone"]) == (0, 0, 1)
    assert fold_key(PATTERN) in await desk.own()
    assert await desk.own("memory-archive.md") == {fold_key(OLD)}
    rows = await desk.world.dreams.diff(run.run_id)
    assert [row.operation for row in rows] == ["document-merge", *["document-archive"] * 2, "document-add"]
    told = [line.text.strip() for line in change_set_lines(rows, 200)]
    gone = [f"- - {one}" for one in (*SAME[1:], OLD)]
    assert [line for line in told if line.startswith("- ")] == gone
    assert f"+ - {PATTERN}" in told
    assert not any("updated_at" in line for line in told)
    # Its own output counts as reviewed.
    assert (await desk.dream())[0].reason == "no_work"
    await desk.world.dreams.undo(run.run_id)
    assert desk.memory.read_bytes() == PAGE.encode()
    assert not desk.archive.exists()
    again, _, _ = await desk.dream(TIDY)
    assert codes(again) == ["undone_by_person"] * 3
    assert desk.memory.read_bytes() == PAGE.encode()
    assert (await desk.dream())[0].reason == "no_work"


async def test_one_edit_is_taken_back_by_itself(desk: Desk):
    await desk.write()
    _, _, run = await desk.dream(TIDY)
    await desk.world.dreams.undo(run.run_id, change=2)
    assert OLD in desk.texts
    assert PATTERN in desk.texts
    assert SAME[1] not in desk.texts
    assert not desk.archive.exists()


async def test_the_model_is_told_whose_an_item_is_and_what_became_of_the_memory_behind_it(desk: Desk):
    world = desk.world
    ana, bo = await world.add("Ana keeps bees in Porto", "Bo sails on Sundays")
    hits = [
        RecallHit(entry_id=one.id, query=query, score=1.0, rank=1, recalled_at=world.clock.now())
        for one in (ana, bo)
        for query in ("a", "b", "c")
    ]
    await world.write(lambda unit: unit.recall_hits.append(hits))
    desk.memory.write_text("# MEMORY.md\n\n- Rui wrote this\n")
    await world.run_passes(PromotionPass())
    gone = replace(bo, status=Status.SUPERSEDED, status_reason="moved", status_at=world.clock.now(), successor=ana.id)
    await world.write(lambda unit: unit.entries.replace([(bo, gone)]))
    (desk.folder / "USER.md").mkdir()  # whoever read it would fail
    report, (request,), _ = await desk.dream(answer(edit("archive", "Bo sails on Sundays")))
    told = lines(request)
    assert "by=user context-only" in told["Rui wrote this"]
    assert "by=agent last=2025-06-14 reinforced=1\u00d7" in told["Ana keeps bees in Porto"]
    assert told["Bo sails on Sundays"].endswith("now=superseded")
    assert (codes(report), report.notes["archived"]) == ([], 1)
    # What was archived is promoted no more: by neither that entry nor another one that says the same.
    (twin,) = await world.add("Bo sails on Sundays.")
    more = [replace(hit, entry_id=twin.id) for hit in hits]
    await world.write(lambda unit: unit.recall_hits.append(more))
    world.clock.advance(2 * DAY)
    await world.run_passes(PromotionPass())
    assert "sails" not in desk.memory.read_text()


async def test_only_what_is_new_is_asked_about_with_the_section_it_stands_in(desk: Desk):
    page = "# MEMORY.md\n\n" + "".join(
        f"## Part {part}\n\n"
        + "".join(f"- Note {part}-{number}: the ferry leaves pier {number}\n" for number in range(8))
        + "\n"
        for part in range(6)
    )
    await desk.write(page)
    desk.world.options = desk.world.options.replace(
        model=desk.world.options.model.replace(prompt_tokens=OVERHEAD + 220)
    )
    report, requests, _ = await desk.dream(*[NOTHING] * 6)
    assert [len(shown(request.messages[1].content)) for request in requests] == [8] * 6
    assert report.notes["items"] == 48
    desk.memory.write_text(page.replace("## Part 3\n\n", "## Part 3\n\n- Note 3-8: the ferry is late\n"))
    _, requests, _ = await desk.dream(NOTHING)
    assert "Note 3-8: the ferry is late" in shown(requests[0].messages[1].content)
    assert len(shown(requests[0].messages[1].content)) == 9
    # Other words to the model have all of it looked at anew.
    desk.set(prompt="Archive what is done.")
    _, requests, _ = await desk.dream(*[NOTHING] * 6)
    assert requests[0].messages[0].content.startswith("Archive what is done.\n")
    assert (await desk.dream())[0].reason == "no_work"


async def test_what_a_person_writes_in_the_file_is_work_and_a_file_in_a_merge_is_none(desk: Desk):
    await desk.write()
    await desk.dream(NOTHING)
    world = replace(desk.world, chat=ScriptedChatClient([]))
    backlog = Backlog(parts=world.parts, options=world.options, order=(PassSlot(DocumentConsolidation(), "a test"),))
    assert (await backlog.of(world.scope)).work == ()
    desk.memory.write_text(PAGE.replace("Rui runs marathons", "Rui swims"))
    assert [work.name for work in (await backlog.of(world.scope)).work] == [NAME]
    desk.memory.write_text(f"<<<<<<< ours\n{PAGE}")
    assert (await backlog.of(world.scope)).work == ()


@pytest.mark.parametrize("own", [False, True])
async def test_what_cannot_be_changed_or_joined_is_not_asked_about(desk: Desk, own: bool):
    await desk.write("# A\n\n- Ana keeps bees\n" if own else PAGE, own=own)
    assert (await desk.dream())[0].reason == "no_work"


async def test_a_person_who_writes_meanwhile_goes_first(desk: Desk):
    await desk.write()
    theirs = PAGE.replace("Ana keeps bees in Porto", "Ana keeps bees in Faro").replace(OLD, f"{OLD} at noon")

    report, _, _ = await desk.dream(TIDY, meanwhile=lambda: desk.memory.write_text(theirs))
    assert "Ana keeps bees in Faro" in desk.texts
    assert f"{OLD} at noon" in desk.texts
    assert PATTERN in desk.texts
    assert SAME[1] not in desk.texts
    assert codes(report) == ["document_changed"]
    # What they wrote is new, and looked at by the next dream.
    _, requests, _ = await desk.dream(NOTHING)
    assert f"{OLD} at noon" in shown(requests[0].messages[1].content)


async def test_what_a_person_marks_to_be_kept_meanwhile_is_not_taken_out(desk: Desk):
    await desk.write()
    kept = PAGE.replace(f"- {OLD}\n", f"\n<!-- keep -->\n\n- {OLD}\n\n<!-- /keep -->\n\n")
    await desk.dream(answer(edit("archive", OLD)), meanwhile=lambda: desk.memory.write_text(kept))
    assert desk.memory.read_text() == kept


async def test_what_the_agent_appends_while_the_model_thinks_takes_no_edit_away(desk: Desk):
    await desk.write()
    world = desk.world
    assert world.workspaces is not None
    agent = AgentWorkspace(world.scope, storage=world.storage, workspaces=world.workspaces)

    async def appending() -> None:
        await agent.append("Dora moved to Lisbon", section=("MEMORY.md", "People"))

    loop = asyncio.get_running_loop()
    waiting: list[Any] = []

    report, _, _ = await desk.dream(TIDY, meanwhile=lambda: waiting.append(loop.create_task(appending())))
    await asyncio.gather(*waiting)
    assert "Dora moved to Lisbon" in desk.texts
    assert SAME[1] not in desk.texts
    assert codes(report) == []


async def test_what_turns_out_to_be_a_persons_while_the_model_thinks_is_left_to_them(desk: Desk):
    await desk.write()
    loop = asyncio.get_running_loop()
    waiting: list[Any] = []
    claiming = {"own": [*SAME, NEW, *LATE]}
    report, _, _ = await desk.dream(TIDY, meanwhile=lambda: waiting.append(loop.create_task(desk.write(**claiming))))
    await asyncio.gather(*waiting)
    assert codes(report) == ["user_text"]
    assert OLD in desk.texts
    assert SAME[1] not in desk.texts


async def test_edits_wait_one_by_one_and_are_made_on_what_the_page_says_by_then(desk: Desk):
    world = desk.world
    await desk.write(own=[*SAME, NEW, *LATE])
    world.options = world.options.replace(modes={NAME: "propose"})
    report, _, _ = await desk.dream(TIDY)
    assert (report.outcome, report.proposed) == (PassOutcome.PROPOSED, 3)
    assert desk.memory.read_text() == PAGE
    assert (await desk.dream())[0].reason == "no_work"
    merging, archiving, adding = await world.dreams.proposals()
    rejected = await world.dreams.reject([adding.proposal_id])
    assert codes(rejected.passes[0]) == ["rejected"]
    # What waits, and what was rejected, is not proposed again when the page is looked at anew.
    desk.memory.write_text(PAGE.replace("Bo sails on Sundays", "Bo sails at noon"))
    waiting, _, _ = await desk.dream(TIDY)
    assert (waiting.proposed, codes(waiting)) == (0, ["unknown_handle", "awaits_review", "awaits_review",
                                                      "undone_by_person"])  # fmt: skip
    # A person writes elsewhere, and changes one of the items meanwhile.
    desk.memory.write_text(PAGE.replace("Rui runs marathons", "Rui swims").replace(SAME[2], f"{SAME[2]} again"))
    approved = await world.dreams.approve([archiving.proposal_id])
    assert (approved.changes, codes(approved.passes[0])) == (2, [])
    assert OLD not in desk.texts
    assert "Rui swims" in desk.texts
    # What a person wrote, and the model archived with their approval, is not the agent's own.
    assert await desk.own("memory-archive.md") == set()
    stale = await world.dreams.approve([merging.proposal_id])
    assert (stale.changes, codes(stale.passes[0])) == (0, ["stale_source"])
    again, requests, _ = await desk.dream(TIDY)
    assert len(requests) == 1
    # The items are not those of the merge any more; the pattern was rejected.
    assert codes(again) == ["unknown_handle", "unknown_handle", "undone_by_person"]


async def test_an_approved_merge_stands_where_the_first_of_its_items_stood(desk: Desk):
    world = desk.world
    await desk.write()
    world.options = world.options.replace(modes={NAME: "propose"})
    text = "When the cache is cold the nightly build fails"
    await desk.dream(answer(edit("rewrite", NEW, text="Since March, releases are cut on Mondays, not on Fridays"),
                            edit("merge", *SAME, text=text)))  # fmt: skip
    waiting = await world.dreams.proposals()
    done = await world.dreams.approve([one.proposal_id for one in reversed(waiting)])
    assert (done.changes, desk.texts[:2]) == (2, [text, OLD])


async def test_a_plan_shows_the_edits_and_is_carried_out_as_it_was_shown(desk: Desk):
    await desk.write()

    def reply(request: Any) -> str:
        question = request.messages[-1].content
        return reread(question) if is_second_reading(question) else said_to(question, TIDY)

    chat = ScriptedChatClient(itertools.repeat(reply))
    planning = replace(desk.world, chat=chat)
    plan = await planning.dreams.plan(passes=[NAME])
    assert desk.memory.read_text() == PAGE
    assert len(plan.rows) == 4
    applied = await planning.dreams.run(plan=plan.plan_id)
    assert (applied.outcome, applied.changes) == (Outcome.COMPLETED, 4)
    assert PATTERN in desk.texts
    assert OLD in desk.archive.read_text()


async def test_a_forgotten_memory_leaves_the_page_the_stored_question_and_the_notes_of_what_was_reviewed(desk: Desk):
    world = desk.world
    (ana,) = await world.add("Ana keeps bees in Porto")
    hits = [
        RecallHit(entry_id=ana.id, query=query, score=1.0, rank=1, recalled_at=world.clock.now())
        for query in ("a", "b", "c")
    ]
    await world.write(lambda unit: unit.recall_hits.append(hits))
    await desk.write("# MEMORY.md\n\n- Bo sails\n")
    await world.run_passes(PromotionPass())
    _, _, run = await desk.dream(NOTHING)
    key = CallKey(run_id=run.run_id, pass_name=NAME, batch_key="1", round=1)

    def traces(view: ReadView) -> list[object]:
        books = dream_stores(view)
        return [one for one in (books.calls.find(key), *books.clusters.all(NAME)) if one is not None]

    assert len(await world.storage.read(world.scope, traces)) == 2
    await world.memory.forget(ana.id)
    assert await world.storage.read(world.scope, traces) == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"- caf\xe9\n", "byte 6 is not UTF-8"),
        (b"<<<<<<< ours\n- Ana\n=======\n- Bo\n>>>>>>> theirs\n", "merge conflict"),
    ],
)
async def test_a_file_that_cannot_be_worked_on_is_left_alone_with_one_sentence(desk: Desk, content: bytes, told: str):
    desk.memory.write_bytes(content)
    report, _, _ = await desk.dream()
    assert report.outcome is PassOutcome.SKIPPED
    assert told in (report.reason or "")
    assert desk.memory.read_bytes() == content
