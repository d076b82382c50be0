"""Whatever peers say, forget and erase: each observer holds exactly what the matrix says, and nothing of another."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st
from peering import Company, peer, scope_of

from agentcore import AgentHostBuilder
from agentcore.domain import Status
from agentcore.stores import Origin
from agentcore.testing import ManualClock, SequentialIds

pytestmark = pytest.mark.slow

NAMES = ("ana", "ben", "cleo")
SESSIONS = ("s1", "s2")
WORKSPACES = ("acme", "umbrella")

membership = st.tuples(
    st.just("join"),
    st.sampled_from(SESSIONS),
    st.sampled_from(NAMES),
    st.sampled_from([None, True, False]),
    st.booleans(),
)
speech = st.tuples(
    st.just("say"), st.sampled_from(SESSIONS), st.sampled_from(NAMES), st.sampled_from([None, True, False])
)
leaving = st.tuples(st.just("leave"), st.sampled_from(SESSIONS), st.sampled_from(NAMES))
switching = st.tuples(st.just("switch"), st.sampled_from(SESSIONS), st.sampled_from([None, True, False]))
reading = st.tuples(st.just("read"), st.sampled_from(NAMES))
replacing = st.tuples(st.just("supersede"), st.sampled_from(NAMES), st.integers(0, 9), st.integers(0, 9))
forgetting = st.tuples(st.just("forget"), st.sampled_from(NAMES), st.integers(0, 9))
erasing = st.tuples(st.just("erase"), st.sampled_from(NAMES), st.sampled_from(NAMES))
histories = st.lists(
    st.tuples(
        st.sampled_from(WORKSPACES),
        st.one_of(
            membership, speech, speech, speech, leaving, switching, reading, reading, replacing, forgetting, erasing
        ),
    ),
    max_size=40,
)


@dataclass
class Said:
    """A text, and who of its observers may still hold it."""

    text: str
    speaker: str
    session: str
    observers: set[str]
    learnt: bool | None
    is_read: bool = False
    retired_for: str | None = None
    """The text that took its place in the speaker's own memory."""
    gone_for: set[str] = field(default_factory=set[str])
    """Those for whom it gave way: they knew what took its place."""


@dataclass
class Life:
    """One workspace: the host's, and what it should hold, told by nothing but the rules of the page."""

    company: Company
    clock: ManualClock
    members: dict[str, dict[str, tuple[bool | None, bool]]] = field(default_factory=dict[str, Any])
    switches: dict[str, bool | None] = field(default_factory=dict[str, Any])
    said: list[Said] = field(default_factory=list[Said])

    async def live(self, name: str, *step: Any) -> None:
        """Do one step, in the host and in the mind."""
        await getattr(self, name)(*step)
        for observer in NAMES:
            known = {one.text for speaker in NAMES for one in self.of(observer, speaker)}
            for one in self.said:
                if one.retired_for in known:
                    one.gone_for.add(observer)
        self.clock.advance(timedelta(seconds=1))

    def held(self, observer: str, observed: str) -> list[str]:
        return sorted(one.text for one in self.of(observer, observed) if observer not in one.gone_for)

    def of(self, observer: str, observed: str) -> list[Said]:
        read = [one for one in self.said if one.speaker == observed and one.is_read]
        return [one for one in read if observer == observed or observer in one.observers]

    def active(self, speaker: str) -> list[Said]:
        return [one for one in self.said if one.speaker == speaker and one.is_read and one.retired_for is None]

    async def join(self, session: str, name: str, me: bool | None, others: bool) -> None:
        await self.company.session(session, peer(name, me=me, others=others))
        self.members.setdefault(session, {})[name] = (me, others)

    async def leave(self, session: str, name: str) -> None:
        if self.members.get(session, {}).pop(name, None) is not None:
            await (await self.company.session(session)).remove(name)

    async def say(self, session: str, name: str, learning: bool | None) -> None:
        members = self.members.get(session, {})
        if name in members:
            text = f"I keep parcel {self.clock.now():%j%H%M%S}."
            await (await self.company.session(session)).append(name, text, learning=learning)
            me = members[name][0]
            hears = {one for one, (_, others) in members.items() if others and one != name and me is not False}
            self.said.append(Said(text, name, session, hears, False if me is False else learning))

    async def switch(self, session: str, learning: bool | None) -> None:
        await self.company.session(session, learning=learning)
        before, self.switches[session] = self.switches.get(session), learning
        if before is False and learning is not False:
            for one in self.said:  # what came in while it was off stays out
                if one.session == session and not one.is_read and one.learnt is None:
                    one.learnt = False

    async def read(self, name: str) -> None:
        await self.company.read(name)
        for one in self.said:
            is_on = one.learnt if one.learnt is not None else self.switches.get(one.session) is not False
            one.is_read |= one.speaker == name and is_on

    async def supersede(self, name: str, old: int, new: int) -> None:
        known = self.active(name)
        if len(known) < 2 or old % len(known) == new % len(known):
            return
        gone, stays = known[old % len(known)], known[new % len(known)]
        before, after = [await self.company.entry(name, name, one.text) for one in (gone, stays)]
        told = {"status_reason": "it changed", "successor": after.id, "status_at": self.clock.now()}
        pair = before, replace(before, status=Status.SUPERSEDED, **told)
        scope = scope_of(name, name, self.company.workspace)
        await self.company.storage.write(scope, lambda unit: unit.entries.replace([pair]), origin=Origin.DREAM)
        await self.company.fan_out.follow(scope)
        gone.retired_for = stays.text

    async def forget(self, name: str, place: int) -> None:
        known = self.active(name)
        if known:
            gone = known[place % len(known)]
            entry = await self.company.entry(name, name, gone.text)
            await self.company.host.for_scope(scope_of(name, name, self.company.workspace)).memory.forget(entry.id)
            self.said.remove(gone)

    async def erase(self, observer: str, observed: str) -> None:
        await self.company.host.erase(scope_of(observer, observed, self.company.workspace))
        if observer == observed:
            self.said = [one for one in self.said if one.speaker != observed]
            for members in self.members.values():
                members.pop(observed, None)
        for one in self.said:
            if one.speaker == observed:
                one.observers.discard(observer)


async def lived(history: list[tuple[str, tuple[Any, ...]]]) -> None:
    clock = ManualClock(datetime(2025, 6, 14, tzinfo=UTC))
    made = AgentHostBuilder(None, clock=clock, ids=SequentialIds("r")).with_memory().with_conversation_log()
    async with made.with_dreaming().build() as host:
        lives = {name: Life(Company(host, name), clock) for name in WORKSPACES}
        for workspace, step in history:
            await lives[workspace].live(*step)
        for workspace, life in lives.items():
            await life.company.fan_out.catch_up()
            for observer, observed in product(NAMES, NAMES):
                found = await life.company.knows(observer, observed)
                assert found == life.held(observer, observed), (workspace, observer, observed)


A, B = "acme", "umbrella"
TALK = [(A, ("join", "s1", "ana", None, True)), (A, ("join", "s1", "ben", None, True))]
SAY, READ = (A, ("say", "s1", "ana", None)), (A, ("read", "ana"))
GIVES_WAY = [*TALK, SAY, SAY, READ, (A, ("supersede", "ana", 0, 1))]


@example([*GIVES_WAY, (A, ("forget", "ana", 0)), SAY, READ])
@example([*GIVES_WAY, (A, ("erase", "ben", "ana")), SAY, READ, (A, ("erase", "ana", "ana")), *TALK, SAY, READ])
@example([*TALK, SAY, (A, ("leave", "s1", "ben")), SAY, READ, (A, ("supersede", "ana", 0, 1))])
@example([*TALK, (A, ("switch", "s1", False)), SAY, (A, ("switch", "s1", None)), SAY, READ, (B, SAY[1])])
@given(histories)
@settings(deadline=None)
def test_every_observer_holds_what_the_matrix_says_and_nothing_of_another(history: list[Any]):
    asyncio.run(lived(history))
