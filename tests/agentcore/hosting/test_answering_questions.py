"""The tool answer_question, and what a host tells of a peer."""

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from agentcore import AgentHostBuilder
from agentcore.domain import MemoryEntry, RecordKind, Scope, SourceKind, SourceRef, Status, Trust
from agentcore.domain.question import Question, QuestionCause
from agentcore.hosting.host import Host

ASKED = "Does Lea have an allergy?"
ALLERGIC, HEALTHY = "Lea is allergic to cats.", "Lea has no allergies."


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    built = AgentHostBuilder(None).with_memory().with_conversation_log().with_dreaming(in_background=False).build()
    async with built:
        for text in (ALLERGIC, HEALTHY):
            await built.memory.remember(text)
        yield built


async def contradicted(host: Host) -> dict[str, MemoryEntry]:
    """Ask which of the two memories holds; return them by their text."""
    entries = await host.memory.list()
    members = tuple(sorted(SourceRef(SourceKind.ENTRY, entry.id) for entry in entries))
    asked = Question(id="q", scope=Scope.default(), cause=QuestionCause.CONTRADICTION, members=members, text=ASKED,
                     asked_at=entries[0].recorded_at, asked_by="deduction")  # fmt: skip
    await host.storage.write(Scope.default(), lambda unit: unit.of_kind(RecordKind.QUESTION).apply([(None, asked)]))
    return {entry.content: entry for entry in entries}


async def call(host: Host, **arguments: Any) -> dict[str, Any]:
    return orjson.loads(await host.tools().call("answer_question", arguments))


async def test_a_person_s_answer_ends_a_contradiction_and_undo_brings_it_back(host: Host):
    entries = await contradicted(host)
    told = await host.context.for_turn("s1", "What about her allergies?", budget_tokens=300)
    assert f"(contradicted, ask: {ASKED})" in told.text
    answer = await call(host, question=ASKED, keep=HEALTHY)
    assert (answer["answered"], answer["holds"]) == (ASKED, HEALTHY)
    gone = await host.memory.get(entries[ALLERGIC].id)
    assert gone is not None
    assert (gone.status, gone.successor) == (Status.SUPERSEDED, entries[HEALTHY].id)
    assert await host.desk.questions() == []
    await host.dreams.undo(answer["run"])
    assert [one.question.text for one in await host.desk.questions()] == [ASKED]


async def test_what_is_true_instead_is_trusted_as_the_model_is(host: Host):
    await contradicted(host)
    await call(host, question="q", text="Lea is allergic to birch pollen.")
    (entry,) = await host.memory.list()
    assert (entry.content, entry.trust) == ("Lea is allergic to birch pollen.", Trust.INFERRED)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"question": "Does Bo?", "keep": HEALTHY}, "open question"),
        ({"question": ASKED, "keep": "Lea has a cat."}, "memory of the question"),
        ({"question": ASKED}, "either keep or text"),
        ({"question": ASKED, "keep": HEALTHY, "text": "Both."}, "either keep or text"),
        ({"question": ASKED, "text": "Her password is hunter2-Xk9pQ."}, "secret"),
    ],
)
async def test_an_answer_that_cannot_be_is_one_sentence(host: Host, arguments: dict[str, str], problem: str):
    await contradicted(host)
    assert problem in (await call(host, **arguments))["error"]
    assert len(await host.desk.questions()) == 1


async def test_a_model_decides_against_nothing_that_a_person_confirmed(host: Host):
    entries = await contradicted(host)
    await host.desk.confirm(entries[ALLERGIC].id)
    assert "only a person" in (await call(host, question=ASKED, keep=HEALTHY))["error"]
    assert (await call(host, question=ASKED, keep=ALLERGIC))["holds"] == ALLERGIC


async def test_a_host_tells_what_is_known_of_a_peer_of_any_scope(host: Host):
    bo = host.for_scope("default/agent/bo")
    await bo.memory.remember("Bo keeps bees.")
    await bo.card.set("IDENTITY: Name is Bo.")
    known = await host.representation("default/agent/bo", "bees", levels=["explicit"], budget_tokens=200)
    assert known.text == "IDENTITY: Name is Bo.\n- Bo keeps bees."
    assert (await host.representation("default/agent/bo", levels=["deductive"])).held == ()
