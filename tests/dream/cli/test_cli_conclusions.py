"""`dream conclusions`, and what `dream why` tells of one."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from commandline import CommandLine

from agentcore import AgentHostBuilder
from agentcore.domain import Confidence, Level, MemoryEntry, Pattern, Premise, Scope, SourceKind, SourceRef, Turn
from agentcore.domain.text import fold_key
from agentcore.errors import InvalidInputError
from agentcore.hosting import Memory
from agentcore.hosting.host import Host

SAID = datetime(2025, 5, 1, tzinfo=UTC)


def built(cli: CommandLine) -> Host:
    return AgentHostBuilder(cli.data).with_memory().with_conversation_log().build()


async def concluded(cli: CommandLine) -> None:
    """A pattern over two talks, and a deduction from the second."""
    scope = Scope.default()
    texts = ("Lea put off the bank.", "Lea moved the dentist.")
    async with built(cli) as host:
        turns = [
            Turn(id=f"t{n}", scope=scope, session_id=f"talk {n}", role="user", content=text,
                 occurred_at=SAID + timedelta(days=n), recorded_at=SAID)
            for n, text in enumerate(texts)
        ]  # fmt: skip
        usual = {"scope": scope, "recorded_at": SAID, "last_seen_at": SAID}
        entries = [
            MemoryEntry(
                id=f"e{n}", content=text, created_at=SAID, sources=(SourceRef(SourceKind.TURN, f"t{n}"),), **usual
            )
            for n, text in enumerate(texts)
        ]
        premises = tuple(
            Premise(f"e{n}", fold_key(text), SAID + timedelta(days=n), f"talk {n}") for n, text in enumerate(texts)
        )
        named = tuple(SourceRef(SourceKind.ENTRY, f"e{n}") for n in range(2))
        habit = MemoryEntry(
            id="habit", content="Lea tends to postpone appointments.", created_at=SAID, level=Level.INDUCTIVE,
            pattern=Pattern.TENDENCY, confidence=Confidence.LOW, premises=premises, sources=named, **usual
        )  # fmt: skip
        follows = MemoryEntry(
            id="follows", content="Lea has a dentist.", created_at=SAID, level=Level.DEDUCTIVE, premises=premises[1:],
            sources=named[1:], **usual
        )  # fmt: skip
        await host.storage.write(scope, lambda unit: unit.turns.add(turns))
        await host.storage.write(scope, lambda unit: unit.entries.add([*entries, habit, follows]))


def test_conclusions_are_listed_with_what_they_rest_on(cli: CommandLine):
    cli.make_folder()
    assert cli.good("conclusions") == "Nothing was concluded.\n"
    asyncio.run(concluded(cli))
    told = cli.good("conclusions")
    assert "inductive tendency, confidence low on 2 premises" in told
    assert 'because "Lea put off the bank." (e0, 2025-05-01' in told
    assert "in session talk" in told
    (only,) = cli.json("conclusions", "--level", "deductive")["conclusions"]
    assert (only["id"], [one["content"] for one in only["premises"]]) == ("follows", ["Lea moved the dentist."])
    assert cli.json("conclusions", "--confidence", "high")["conclusions"] == []
    assert [one["id"] for one in cli.json("conclusions", "--pattern", "tendency")["conclusions"]] == ["habit"]


def test_why_walks_from_a_conclusion_down_to_the_turns(cli: CommandLine):
    asyncio.run(concluded(cli))
    told = cli.good("why", "habit")
    assert 'because "Lea put off the bank."' in told
    assert "turn t0" in told


def test_what_lost_its_premise_is_told_so(cli: CommandLine):
    asyncio.run(concluded(cli))
    cli.good("archive", "e1")
    (gone,) = cli.json("conclusions", "--status", "archived", "--level", "deductive")["conclusions"]
    assert gone["status_reason"] == "premise_gone: e1"


def test_a_representation_is_told_with_premises_within_its_budget_and_its_sessions(cli: CommandLine):
    asyncio.run(concluded(cli))

    async def ask() -> None:
        async with built(cli) as host:
            memory: Memory = host.memory
            whole = await memory.representation()
            assert {one.entry.id for one in whole.held} == {"e0", "e1", "habit", "follows"}
            assert (
                "[inductive tendency, confidence low; from: Lea put off the bank.; Lea moved the dentist.]"
                in whole.text
            )
            (first, *_) = (await memory.representation("appointments", levels=["inductive"])).held
            assert first.entry.id == "habit"
            little = await memory.representation(budget_tokens=12)
            assert little.tokens <= 12 < whole.tokens
            # What was concluded from another conversation does not show through.
            confined = await memory.representation(sessions=["talk 1"])
            assert {one.entry.id for one in confined.held} == {"e1", "follows"}
            with pytest.raises(InvalidInputError):
                await memory.representation(levels=["rumour"])

    asyncio.run(ask())
