"""A skill that others went into keeps their uses and failures, until its text is rewritten for them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest
from dreaming import DAY, World, of_pass
from rereading import is_second_reading, reread
from skilled import LONG, Library, Reply, handle_of

from agentcore.domain import Status
from agentcore.testing import ScriptedChatClient
from dream.domain import Skip

FETCH = f"1. Fetch unread mail with `mcp mail list --unread`.\n{LONG}"
DIGEST = f"1. Put invoices first.\n{LONG}"
BOTH = f"1. Fetch unread mail with `mcp mail list --unread`.\n1. Put invoices first.\n{LONG}"
ASKING = f"1. Ask before anything is sent.\n{BOTH}"
PASSES = ["skill-consolidation", "skill-optimization"]


@pytest.fixture
def library(world: World) -> Library:
    return Library(world)


def merging(*names: str, into: str, content: str | None = BOTH) -> Reply:
    def reply(prompt: str) -> dict[str, Any]:
        handles = {name: handle_of(prompt, name) for name in names}
        item = {"name": into, "summary": "Digest of mail", "content": content, "sourceNames": [*handles.values()]}
        gone = [
            {"name": handle, "replacedBy": into, "reason": "the same"}
            for name, handle in handles.items()
            if name != into
        ]
        return {"toSave": [item | {"seeAlso": []}], "toDelete": gone}

    return reply


def rewriting(name: str, content: str = ASKING) -> Reply:
    def reply(prompt: str) -> dict[str, Any]:
        item = {"name": name, "summary": "Digest", "content": content, "sourceNames": [handle_of(prompt, name)]}
        return {"toSave": [item | {"seeAlso": []}], "toDelete": []}

    return reply


async def failing(library: Library) -> None:
    """Two skills, each used in a session that went wrong, and calm ones."""
    await library.skill("mail-digest", FETCH)
    await library.skill("summarize-inbox", DIGEST)
    await library.skill("calm")
    await library.used("mail-digest", "s1")
    await library.used("summarize-inbox", "s2")
    await library.feedback("s1", summary="Not the spam!")
    await library.feedback("s2", summary="Ask before you send it.")


def told(prompt: str) -> list[str]:
    return [line.rpartition(" ")[2] for line in prompt.splitlines() if line.startswith("- failure of")]


@pytest.mark.parametrize("into", ["mail-digest", "email/digest"])
async def test_one_dream_optimizes_a_merged_skill_with_the_failures_of_all_it_is_made_of(world: World, into: str):
    prompts: list[str] = []
    replies: dict[str, Any] = {
        "skill-consolidation": merging("mail-digest", "summarize-inbox", into=into),
        "skill-optimization": rewriting(into),
    }

    def answer(request: Any) -> str:
        if is_second_reading(request.messages[-1].content):
            return reread(request.messages[-1].content)
        if request.purpose == "skill-optimization":
            prompts.append(request.messages[1].content)
        return orjson.dumps(replies[request.purpose](request.messages[1].content)).decode()

    library = Library(replace(world, chat=ScriptedChatClient(iter(lambda: answer, None))))
    await failing(library)
    run = await library.world.dreams.run(passes=PASSES)
    assert of_pass(run, "skill-optimization").notes["at_risk"] == 1
    assert [line.count("Not the spam!") + line.count("Ask before you send it.") for line in prompts] == [2]
    kept = await library.named(into)
    assert kept is not None
    assert kept.content == ASKING.strip()


async def test_a_text_rewritten_for_them_is_not_charged_with_them_again(library: Library):
    await failing(library)
    await library.consolidate(merging("mail-digest", "summarize-inbox", into="email/digest"))
    await library.optimize(rewriting("email/digest"))
    assert (await library.optimize()).reason == Skip.NO_WORK
    await library.pass_time(days=1)
    assert (await library.optimize()).reason == Skip.NO_WORK
    await library.feedback("s1", summary="Not the spam, I said!")
    assert (await library.optimize()).reason == Skip.NO_WORK


async def test_a_skill_keeps_the_failures_of_one_that_is_retired_into_it(library: Library):
    await library.skill("mail-digest", BOTH)
    await library.skill("summarize-inbox", DIGEST)
    await library.used("summarize-inbox", "s2")
    await library.feedback("s2", summary="Ask before you send it.")
    await library.consolidate(merging("mail-digest", "summarize-inbox", into="mail-digest", content=None))
    await library.optimize()
    assert "Ask before you send it." in library.prompts[0]


async def test_better_wording_discards_no_failure(library: Library):
    await failing(library)
    await library.pass_time(hours=1)
    await library.consolidate(rewriting("mail-digest", FETCH.replace("Fetch unread mail", "Fetch the unread mail")))
    assert (await library.optimize()).notes["at_risk"] == 2


async def test_the_past_is_followed_through_several_merges(library: Library):
    await failing(library)
    await library.consolidate(merging("mail-digest", "summarize-inbox", into="email/digest"))
    await library.pass_time(days=8)
    await library.consolidate(merging("email/digest", "calm", into="all-of-it", content=BOTH))
    assert await library.names() == ["all-of-it"]
    await library.optimize()
    assert all(said in library.prompts[0] for said in ("Not the spam!", "Ask before you send it."))


async def test_what_was_used_under_a_name_after_it_was_retired_is_of_another_skill(library: Library):
    await library.skill("mail-digest", FETCH)
    await library.skill("summarize-inbox", DIGEST)
    await library.consolidate(merging("mail-digest", "summarize-inbox", into="mail-digest"))
    await library.pass_time(days=1)
    await library.used("summarize-inbox", "s3", at=library.now - timedelta(hours=2))
    await library.feedback("s3")
    assert (await library.optimize()).reason == Skip.NO_WORK


async def test_a_merge_that_is_undone_gives_each_its_own_failures_back(library: Library):
    await failing(library)
    await library.consolidate(merging("mail-digest", "summarize-inbox", into="mail-digest"))
    (run,) = await library.world.dreams.runs(limit=1)
    await library.world.dreams.undo(run.run_id)
    assert (await library.optimize()).notes["at_risk"] == 2


async def test_a_rewrite_of_a_merged_skill_is_on_trial_against_all_that_it_is_made_of(library: Library):
    await library.skill("mail-digest", FETCH)
    await library.skill("summarize-inbox", DIGEST)
    await library.used("mail-digest", "b1", "b2", "b3")
    await library.used("summarize-inbox", "b4", "b5")
    await library.feedback("b5")
    await library.consolidate(merging("mail-digest", "summarize-inbox", into="email/digest"))
    await library.optimize(rewriting("email/digest"))
    await library.pass_time(days=2)
    await library.used("email/digest", *(f"a{place}" for place in range(5)), at=library.now - DAY)
    for place in range(2):
        await library.feedback(f"a{place}")
    done = await library.optimize()
    kept = await library.named("email/digest")
    assert kept is not None
    assert (done.notes["reverted"], kept.content) == (1, BOTH.strip())
    (tried,) = [skill for skill in await library.retired() if skill.name == "email/digest"]
    assert (tried.status, tried.status_reason) == (
        Status.ARCHIVED,
        "failed in 2 of 5 uses since its rewrite, in 1 of 5 before it",
    )
