"""The three passes in one run of the built-in order: each changes something, and all of it can be taken back."""

from dataclasses import replace
from typing import Any

import orjson
import pytest
from dreaming import World, of_pass
from rereading import is_second_reading, reread
from skilled import Library, handle_of, turn_of

from agentcore.testing import ScriptedChatClient
from dream.passes import ORDER

PASSES = ["skill-gaps", "skill-consolidation", "skill-optimization"]


def answer(request: Any) -> str:
    if is_second_reading(request.messages[-1].content):
        return reread(request.messages[-1].content)
    prompt = request.messages[1].content
    if request.purpose == "skill-gaps":
        cited = [turn_of(prompt, "my email"), turn_of(prompt, "the email")]
        made = {"name": "email/digest", "summary": "Sum up email", "content": "1. Fetch it.", "sourceTurns": cited}
        return orjson.dumps({"toSave": [made]}).decode()
    if request.purpose == "skill-consolidation":
        handles = {name: handle_of(prompt, name) for name in ("mail/a", "mail/b", "email/digest")}
        kept = {"name": "mail/a", "summary": "Mail", "content": None, "sourceNames": [handles["mail/a"]]}
        gone = {"name": handles["mail/b"], "replacedBy": "mail/a", "reason": "the same"}
        return orjson.dumps({"toSave": [kept | {"seeAlso": ["email/digest"]}], "toDelete": [gone]}).decode()
    item = {"name": "mail/c", "summary": "Mail", "content": "1. Look.\n2. Ask first.", "sourceNames": []}
    return orjson.dumps({"toSave": [item | {"sourceNames": [handle_of(prompt, "mail/c")]}]}).decode()


@pytest.mark.parametrize("only", [None, "skill-consolidation"])
async def test_a_run_changes_skills_in_three_passes_and_undo_takes_it_back(world: World, only: str | None):
    library = Library(replace(world, chat=ScriptedChatClient(iter(lambda: answer, None))))
    await library.skill("mail/a")
    await library.skill("mail/b")
    await library.skill("mail/c", "1. Look.")
    await library.said("s1", "Summarize my email")
    await library.said("s2", "Summarize the email")
    before = await library.world.export()
    run = await library.world.dreams.run(passes=PASSES)
    assert [of_pass(run, name).outcome for name in PASSES] == ["applied"] * 3
    assert await library.names() == ["email/digest", "mail/a", "mail/c"]
    linked, asking = await library.named("mail/a"), await library.named("mail/c")
    assert linked is not None
    assert asking is not None
    assert (linked.see_also, asking.content) == (("email/digest",), "1. Look.\n2. Ask first.")
    await library.world.dreams.undo(run.run_id, pass_name=only)
    if only is None:
        assert await library.world.export() == before
    else:
        assert await library.names() == ["email/digest", "mail/a", "mail/b", "mail/c"]


def test_they_stand_in_the_order_of_a_run():
    names = [place.dream_pass.name for place in ORDER]
    assert [name for name in names if name.startswith("skill-")] == PASSES
