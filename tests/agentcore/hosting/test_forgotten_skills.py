"""What a person had forgotten leaves the skills that say it, and no undo or export brings it back."""

from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from agentcore import AgentHostBuilder, Host
from agentcore.domain import SourceKind, SourceRef
from agentcore.domain.records import RecordKind
from agentcore.hosting.restatements import says_it
from agentcore.llm import ChatRequest
from agentcore.testing import ScriptedChatClient

FACT = "Ana keeps her spare key under the zinc bucket"
STEPS = f"1. Ring the bell.\n2. {FACT}. Then wait.\n3. Greet the dog.\n"


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    async with (
        AgentHostBuilder(tmp_path / "data").with_memory().with_conversation_log().with_skills().build() as opened
    ):
        yield opened


async def content(host: Host) -> str:
    skill = await host.skills.get("visits/ana")
    assert skill is not None
    return skill.content


async def test_a_skill_loses_the_sentence_that_says_a_forgotten_text_and_keeps_its_other_steps(host: Host):
    await host.skills.save("visits/ana", summary=f"{FACT}", content=STEPS)
    entry = await host.memory.remember(FACT)
    assert len((await host.memory.preview_forget(entry.id)).skills) == 1
    assert await content(host) == STEPS.strip()
    done = await host.memory.forget(entry.id)
    skill = await host.skills.get("visits/ana")
    assert skill is not None
    assert done.skills == (skill.id,)
    assert skill.content == "1. Ring the bell.\n2. Then wait.\n3. Greet the dog."
    assert "zinc" not in skill.summary


@pytest.mark.parametrize("by", ["turn_id", "session_id"])
async def test_a_skill_loses_the_sentences_of_a_forgotten_turn_that_no_memory_was_made_of(host: Host, by: str):
    said = await host.conversation.append(session_id="s", role="user", content=f"Hello. {FACT}! Tell nobody.")
    await host.skills.save("visits/ana", summary="How to visit.", content=STEPS)
    done = await host.conversation.forget(**{by: said.id if by == "turn_id" else "s"})
    assert len(done.skills) == 1
    assert await content(host) == "1. Ring the bell.\n2. Then wait.\n3. Greet the dog."


async def test_of_a_skill_that_a_model_picks_the_sentences_alone_go_that_it_names(tmp_path: Path):
    """Each is shown to it by itself, however long the skill is."""

    def says(request: ChatRequest) -> str:
        shown = [orjson.loads(line) for line in request.messages[-1].content.splitlines() if line.startswith("{")]
        return orjson.dumps({"says": [one["number"] for one in shown if "pail" in one["text"]]}).decode()

    beside = "".join(f"{number}. Greet dog number {number} by its name.\n" for number in range(3, 30))
    steps = (
        f"1. Ring the bell at Ana's.\n2. Lift the pail by the door. Then wait.\n{beside}30. Leave the pail as it was."
    )
    builder = AgentHostBuilder(tmp_path / "data").with_memory().with_conversation_log().with_skills()
    async with builder.with_llm(ScriptedChatClient([says])).build() as host:
        await host.skills.save("visits/ana", summary="How to visit Ana.", content=steps)
        entry = await host.memory.remember(FACT)
        (found,) = await host.memory.restatements(entry.id)
        assert found.text == "Lift the pail by the door.\nLeave the pail as it was."
        await host.memory.forget(entry.id, turns="all", says_it=says_it([found]))
        assert await content(host) == f"1. Ring the bell at Ana's.\n2. Then wait.\n{beside}"


async def test_what_a_skill_says_in_much_the_same_words_is_found_and_goes_if_it_is_chosen(host: Host):
    told = "Under the zinc bucket Ana keeps her spare key"
    await host.skills.save("visits/ana", summary="How to visit.", content=f"1. Ring the bell.\n2. {told}.\n")
    entry = await host.memory.remember(FACT)
    found = await host.memory.restatements(entry.id)
    assert [one.kind for one in found] == [RecordKind.SKILL]
    await host.memory.forget(entry.id, turns="all", says_it=says_it(found))
    assert await content(host) == "1. Ring the bell.\n"


async def test_a_skill_of_which_nothing_is_left_is_deleted_and_no_file_holds_it(host: Host, tmp_path: Path):
    await host.skills.save("key", summary="Where it is.", content=f"{FACT}.")
    entry = await host.memory.remember(FACT)
    await host.memory.forget(entry.id)
    assert await host.skills.list() == []
    held = [path.name for path in (tmp_path / "data").rglob("*") if path.is_file() and b"zinc" in path.read_bytes()]
    assert held == []


AGREED = "1. Write it at 09:00.\n4. Send within 24 hours; anything not objected to in 5 days counts as agreed.\n"


async def test_numbers_of_a_list_and_a_mere_yes_say_nothing_and_stay_where_all_that_is_found_goes(host: Host):
    await host.skills.save("mails/minutes", summary="How minutes go out.", content=AGREED)
    yes = await host.conversation.append(session_id="s", role="user", content="Yes.", speaker="Ines")
    for fact in ("Wants 24-hour times, never am and pm.", "Invoice 4 of Dona Graça: paid 4,850 euros, 5 days late."):
        cited = await host.conversation.append(session_id="t", role="user", content="Yes.", speaker="Rui")
        entry = await host.memory.remember(fact, sources=(SourceRef(SourceKind.TURN, cited.id),))
        assert await host.memory.restatements(entry.id) == ()
        await host.memory.forget(entry.id, turns="all")
    skill = await host.skills.get("mails/minutes")
    assert skill is not None
    assert skill.content == AGREED.strip()
    assert [turn.content for turn in await host.conversation.session("s")] == [yes.content]


async def test_of_a_chosen_sentence_its_list_keeps_number_and_other_steps_and_nothing_shorter_goes_with_it(host: Host):
    told = "1. Yes. Ask for 4. Then go.\n4. Under the zinc bucket Ana keeps her spare key. Yes.\n5. Ring in 4. Go.\n"
    await host.skills.save("visits/ana", summary="How to visit.", content=told)
    entry = await host.memory.remember(FACT)
    (found,) = await host.memory.restatements(entry.id)
    assert (found.text, found.name) == ("Under the zinc bucket Ana keeps her spare key.", "visits/ana")
    await host.memory.forget(entry.id, turns="all", says_it=says_it([found]))
    assert await content(host) == "1. Yes. Ask for 4. Then go.\n4. Yes.\n5. Ring in 4. Go."
