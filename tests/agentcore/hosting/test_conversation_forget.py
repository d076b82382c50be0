"""A person has a turn or a session forgotten: its words go, and with them what was learnt from them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agentcore import AgentHostBuilder, Host, MemoryEntry
from agentcore.domain import SourceKind, SourceRef, Turn
from agentcore.domain.evidence import Evidence, EvidenceVerdict
from agentcore.errors import InvalidOptionsError, UnknownRecordError
from agentcore.testing import ManualClock, SequentialIds

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
GONE = "[forgotten]"


def builder(data_dir: Path | None = None) -> AgentHostBuilder:
    made = AgentHostBuilder(data_dir, clock=ManualClock(NOON), ids=SequentialIds("r")).with_memory()
    return made.with_conversation_log().with_context().with_dreaming()


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    async with builder().build() as running:
        yield running


async def say(host: Host, text: str, session: str = "before") -> Turn:
    return await host.conversation.append(session_id=session, role="user", content=text, speaker="Ana")


async def learn(host: Host, text: str, *sources: Turn | MemoryEntry) -> MemoryEntry:
    refs = [SourceRef(SourceKind.TURN if isinstance(one, Turn) else SourceKind.ENTRY, one.id) for one in sources]
    return await host.memory.remember(text, sources=refs)


async def said(host: Host, *turns: Turn) -> list[str]:
    found = [await host.conversation.get(turn.id) for turn in turns]
    return [one.content for one in found if one is not None]


async def test_a_forgotten_turn_takes_along_all_that_was_learnt_from_it(host: Host):
    turn, other = await say(host, "My door opens with 4711."), await say(host, "I am fond of trams.")
    code = await learn(host, "Ana's code is 4711", turn)
    derived = await learn(host, "Ana's house has a code lock", code)
    trams = await learn(host, "Ana likes trams", other)
    done = await host.conversation.forget(turn.id)
    assert (set(done.removed), done.withheld) == ({code.id, derived.id}, (turn.id,))
    assert [entry.id for entry in await host.memory.list(status=None)] == [trams.id]
    assert await said(host, turn, other) == [GONE, "I am fond of trams."]
    assert await host.conversation.recall("door 4711") == []


async def test_a_preview_tells_what_a_forget_does_and_changes_nothing(host: Host):
    turn = await say(host, "My door opens with 4711.")
    code = await learn(host, "Ana's code is 4711", turn)
    meant = (await host.conversation.preview_forget(turn.id), await host.memory.preview_forget(code.id))
    assert (await host.memory.get(code.id), await host.conversation.get(turn.id)) == (code, turn)
    done = await host.conversation.forget(turn.id)
    assert meant == (done, done)


async def test_the_place_of_a_forgotten_turn_stays(host: Host):
    turn = await say(host, "My door opens with 4711.")
    await host.conversation.forget(turn.id)
    (left,) = await host.conversation.session("before")
    assert (left.id, left.occurred_at, left.speaker, left.role) == (turn.id, turn.occurred_at, "Ana", "user")


async def test_a_forgotten_session_leaves_the_others_alone(host: Host):
    turns = [await say(host, text) for text in ("I am ill.", "Since May.")]
    other = await say(host, "I am ill.", "elsewhere")
    mine, theirs = await learn(host, "Ana has been ill since May", *turns), await learn(host, "Ana is ill", other)
    done = await host.conversation.forget(session_id="before")
    assert (done.removed, set(done.withheld)) == ((mine.id,), {turn.id for turn in turns})
    assert await said(host, *turns, other) == [GONE, GONE, "I am ill."]
    assert [entry.id for entry in await host.memory.list(status=None)] == [theirs.id]


async def test_what_is_said_afterwards_in_the_same_session_is_new(host: Host):
    await say(host, "I am ill.")
    await host.conversation.forget(session_id="before")
    anew = await say(host, "I am ill.")
    assert [hit.turn.id for hit in await host.conversation.recall("ill")] == [anew.id]


async def test_no_file_holds_the_words_of_a_forgotten_turn(tmp_path: Path):
    async with builder(tmp_path).build() as host:
        turn = await say(host, "My door opens with quixotic-4711.")
        await learn(host, "The code is quixotic-4711", turn)
        assert holding(tmp_path, "quixotic")
        await host.conversation.forget(turn.id)
    assert not holding(tmp_path, "quixotic")


def holding(folder: Path, word: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


async def test_other_scopes_keep_what_they_heard(host: Host):
    other = host.for_scope(host.memory.scope.__class__("acme", "agent", "ben"))
    theirs = await other.conversation.append(session_id="before", role="user", content="I am ill.")
    await say(host, "I am ill.")
    await host.conversation.forget(session_id="before")
    assert await other.conversation.session("before") == [theirs]


@pytest.mark.parametrize("named", [{"turn_id": "nobody"}, {"session_id": "none"}])
async def test_what_is_not_there_cannot_be_forgotten(host: Host, named: dict[str, Any]):
    turn = await say(host, "I am ill.")
    with pytest.raises(UnknownRecordError, match="none in this scope"):
        await host.conversation.forget(**named)
    assert await said(host, turn) == ["I am ill."]


@pytest.mark.parametrize("named", [{}, {"turn_id": "a", "session_id": "b"}])
async def test_either_a_turn_or_a_session_is_named(host: Host, named: dict[str, Any]):
    with pytest.raises(InvalidOptionsError, match="one of both"):
        await host.conversation.forget(**named)


async def test_forgetting_an_entry_redacts_the_sentence_that_it_rests_on(host: Host):
    turn = await say(host, "My door opens with 4711. I am fond of trams.")
    entry = await learn(host, "Ana's code is 4711", turn)
    evidence = Evidence(
        source=SourceRef(SourceKind.TURN, turn.id),
        sentence="My door opens with 4711.",
        said_at=NOON,
        verdict=EvidenceVerdict.PROVEN,
    )
    await rest_on(host, entry, evidence)
    await host.memory.forget(entry.id)
    assert await said(host, turn) == ["[forgotten] I am fond of trams."]


async def test_forgetting_an_entry_without_evidence_redacts_the_turn_that_it_cites(host: Host):
    turn = await say(host, "My door opens with 4711. I am fond of trams.")
    await host.memory.forget((await learn(host, "Ana's code is 4711", turn)).id)
    assert await said(host, turn) == [GONE]


async def rest_on(host: Host, entry: MemoryEntry, evidence: Evidence) -> None:
    changed = replace(entry, evidence=(evidence,))
    await host.storage.write(host.memory.scope, lambda unit: unit.entries.replace([(entry, changed)]))
