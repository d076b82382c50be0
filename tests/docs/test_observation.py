"""The page that says who observes whom is held against the code, row by row."""

import dataclasses
from typing import Any

import pytest
from doc_pages import DOCS, rows, sections

from agentcore import AgentHostBuilder, SessionPeer
from agentcore.domain import observers_of

PAGE = DOCS / "reference" / "observation.md"
SAID = {"`true`": True, "`false`": False, "not said": None, "": None, "on": True, "off": False}


def cells(heading: str) -> list[list[str]]:
    """The rows of the table under a heading, without its head."""
    lines = [line for line in sections(PAGE)[heading].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_each_field_of_a_peer_has_a_row_with_its_default():
    found = rows(sections(PAGE)["What a session says of a peer"])
    assert set(found) == {one.name for one in dataclasses.fields(SessionPeer)}
    assert "| `false` |" in found["observe_others"]
    assert SessionPeer(name="ana").observe_others is False


def test_the_matrix_has_every_case_and_tells_each_as_it_is():
    told = {}
    for observe_me, observe_others, own, others in cells("The matrix"):
        speaker = SessionPeer(name="ana", observe_me=SAID[observe_me])
        other = SessionPeer(name="ben", observe_others=SAID[observe_others] is True)
        told[observe_me, observe_others] = (own, others)
        assert others == ("grows" if observers_of(speaker, [speaker, other]) else "nothing")
        assert own == ("nothing" if speaker.observe_me is False else "grows")
    assert len(told) == 6


@pytest.mark.parametrize("row", cells("Levels of learning"))
async def test_a_row_of_the_levels_tells_what_is_learnt(row: list[str]):
    workspace, session, message, learnt = row
    async with AgentHostBuilder(None).with_memory().with_conversation_log().with_dreaming().build() as host:
        await host.configure(workspace="acme", learning=SAID[workspace])
        talk = await host.session("s1", workspace="acme", peers=["ana"], learning=SAID[session])
        await talk.append("ana", "I live in Lisbon.", learning=SAID[message])
        scope = talk.scope("ana")

        def readable(view: Any) -> int:
            return view.learnable.turns.count_material(after=0, also=())

        is_gated = any(
            gate.name == "learning" for gate in (await host.for_scope(scope).dreams.explain()).decision.blocked_by
        )
        count = 0 if is_gated else await host._parts.storage.read(scope, readable)
    assert learnt == ("yes" if count else "no")
