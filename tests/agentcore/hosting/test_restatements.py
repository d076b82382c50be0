"""What else says a fact is found at the forget: by words, by where it was learnt, and by a model that is asked once."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import orjson
import pytest

from agentcore import AgentHostBuilder, Host
from agentcore.domain import Evidence, EvidenceVerdict, MemoryEntry, SourceKind, SourceRef, Turn
from agentcore.hosting.restatements import Likeness
from agentcore.llm import ChatRequest
from agentcore.testing import ScriptedChatClient

SENTENCE = "I have been pregnant since May."
NOON = datetime(2025, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    async with AgentHostBuilder(None).with_memory().with_conversation_log().build() as opened:
        yield opened


async def learn(host: Host, text: str, turn: Turn, sentence: str | None = None) -> MemoryEntry:
    source = SourceRef(SourceKind.TURN, turn.id)
    entry = await host.memory.remember(text, sources=(source,))
    if sentence is not None:
        evidence = Evidence(source=source, sentence=sentence, said_at=NOON, verdict=EvidenceVerdict.PROVEN)
        changed = replace(entry, evidence=(evidence,))
        await host.storage.write(host.memory.scope, lambda unit: unit.entries.replace([(entry, changed)]))
    return entry


async def test_what_was_learnt_from_the_same_sentence_is_found_whatever_its_words(host: Host):
    said = await host.conversation.append(session_id="s", role="user", content=f"{SENTENCE} I sail.", speaker="Ana")
    asked = await learn(host, "Ana is pregnant.", said, SENTENCE)
    mother = await learn(host, "A baby will come.", said, SENTENCE)
    await learn(host, "Ana goes sailing.", said, "I sail.")
    found = await host.memory.restatements(asked.id)
    assert [(one.id, one.likeness) for one in found] == [(mother.id, Likeness.ORIGIN)]


async def test_what_was_learnt_from_the_same_turn_is_found_where_no_sentence_is_known(host: Host):
    said = await host.conversation.append(session_id="s", role="user", content=SENTENCE, speaker="Ana")
    asked, mother = await learn(host, "Ana is pregnant.", said), await learn(host, "A baby will come.", said)
    done = await host.memory.forget(asked.id, turns="all")
    assert set(done.removed) == {asked.id, mother.id}


async def test_a_model_is_shown_what_was_said_in_the_same_talk_and_says_what_of_it_tells_the_fact():
    told: list[str] = []

    def says(request: ChatRequest) -> str:
        told.append(request.messages[-1].content)
        numbers = [orjson.loads(line)["number"] for line in told[-1].splitlines() if "ultrasound" in line]
        return orjson.dumps({"says": numbers}).decode()

    builder = AgentHostBuilder(None).with_memory().with_conversation_log().with_llm(ScriptedChatClient([says]))
    async with builder.build() as host:
        said = await host.conversation.append(session_id="s", role="user", content=SENTENCE, speaker="Ana")
        other = await host.conversation.append(session_id="s", role="user", content="My ultrasound is on Friday.")
        await host.conversation.append(session_id="t", role="user", content="The ultrasound of my cat went well.")
        asked = await learn(host, "Ana is pregnant.", said, SENTENCE)
        found = await host.memory.restatements(asked.id)
    assert [(one.id, one.likeness) for one in found] == [(other.id, Likeness.MODEL)]
    assert len(told) == 1
    assert "cat" not in told[0]
