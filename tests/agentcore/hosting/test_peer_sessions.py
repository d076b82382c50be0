"""Sessions of several peers: who observes whom, line by line of the matrix, and what follows the speaker's memory."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from peering import Company, peer, scope_of

from agentcore import AgentHostBuilder, Scope, SyncHost
from agentcore.domain import SourceKind, SourceRef, Status
from agentcore.errors import InvalidOptionsError, InvalidScopeError, UnknownRecordError
from agentcore.stores import Origin
from agentcore.testing import ManualClock, SequentialIds

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
SAID = "I live in Lisbon."


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
async def company(clock: ManualClock) -> AsyncIterator[Company]:
    made = AgentHostBuilder(None, clock=clock, ids=SequentialIds("r")).with_memory()
    async with made.with_conversation_log().with_context().with_dreaming().build() as host:
        yield Company(host)


@pytest.mark.parametrize(
    ("observe_me", "observe_others", "own", "others"),
    [
        pytest.param(None, False, [SAID], [], id="by default the peer's own memory grows and no other"),
        pytest.param(True, False, [SAID], [], id="who may be observed and is not"),
        pytest.param(None, True, [SAID], [SAID], id="who observes others learns of them"),
        pytest.param(True, True, [SAID], [SAID], id="both said"),
        pytest.param(False, False, [], [], id="who is not to be observed is not, by itself either"),
        pytest.param(False, True, [], [], id="nobody observes whoever does not want it"),
    ],
)
async def test_a_line_of_the_matrix_holds(
    company: Company, observe_me: bool | None, observe_others: bool, own: list[str], others: list[str]
):
    talk = await company.session("s1", peer("ana", me=observe_me), peer("ben", others=observe_others))
    await talk.append("ana", SAID)
    await company.read("ana", "ben")
    assert (await company.knows("ana", "ana"), await company.knows("ben", "ana")) == (own, others)
    assert await company.heard("ana", "ana") == [SAID]
    assert await company.heard("ben", "ana") == others
    assert (await company.knows("ben", "ben"), await company.knows("ana", "ben")) == ([], [])


async def test_whoever_is_not_to_be_observed_observes_others_all_the_same(company: Company):
    talk = await company.session("s1", "ana", peer("ben", me=False, others=True))
    await talk.append("ana", SAID)
    await talk.append("ben", "I live in Porto.")
    await company.read("ana", "ben")
    assert await company.knows("ben", "ana") == [SAID]
    assert (await company.knows("ben", "ben"), await company.knows("ana", "ben")) == ([], [])


@pytest.mark.parametrize("session_says", [None, True, False])
@pytest.mark.parametrize("peer_says", [None, True, False])
async def test_what_a_session_says_of_a_peer_wins_over_what_holds_elsewhere(
    company: Company, session_says: bool | None, peer_says: bool | None
):
    await company.host.peer("ana", workspace="acme", observe_me=peer_says)
    talk = await company.session("s1", peer("ana", me=session_says), peer("ben", others=True))
    await talk.append("ana", SAID)
    await company.read("ana")
    said = session_says if session_says is not None else peer_says
    assert await company.knows("ben", "ana") == ([] if said is False else [SAID])


RING = {("a", "b"), ("b", "c"), ("c", "a")}
MESH = set(permutations("abcd", 2))


async def test_a_full_mesh_of_four_holds_pair_by_pair(company: Company):
    talk = await company.session("s1", *(peer(name, others=True) for name in "abcd"))
    for name in "abcd":
        await talk.append(name, f"I am {name}.")
    await company.read(*"abcd")
    for observer, observed in MESH:
        assert await company.knows(observer, observed) == [f"I am {observed}."]


async def test_a_ring_of_sessions_holds_pair_by_pair(company: Company):
    for number, (observer, observed) in enumerate(sorted(RING)):
        talk = await company.session(f"s{number}", peer(observer, others=True), observed)
        await talk.append(observed, f"I am {observed}.")
    await company.read(*"abc")
    for observer, observed in permutations("abc", 2):
        assert await company.knows(observer, observed) == (
            [f"I am {observed}."] if (observer, observed) in RING else []
        )


async def test_a_mixed_matrix_of_four_holds(company: Company):
    members = [peer("a", others=True), peer("b", me=False, others=True), peer("c"), peer("d", me=False)]
    talk = await company.session("s1", *members)
    for name in "abcd":
        await talk.append(name, f"I am {name}.")
    await company.read(*"abcd")
    told = {pair for pair in MESH if await company.knows(*pair)}
    assert told == {("a", "c"), ("b", "a"), ("b", "c")}
    assert [name for name in "abcd" if await company.knows(name, name)] == ["a", "c"]


async def test_two_observers_hold_what_each_heard(company: Company):
    monday = await company.session("monday", "ana", peer("ben", others=True))
    tuesday = await company.session("tuesday", "ana", peer("cleo", others=True))
    await monday.append("ana", "I vote for the reds.")
    await tuesday.append("ana", "I vote for the blues.")
    await company.read("ana")
    assert await company.knows("ben", "ana") == ["I vote for the reds."]
    assert await company.knows("cleo", "ana") == ["I vote for the blues."]
    assert len(await company.knows("ana", "ana")) == 2


async def test_who_joins_later_or_leaves_hears_what_is_said_meanwhile(company: Company):
    talk = await company.session("s1", "ana")
    await talk.append("ana", "One.")
    talk = await talk.add(peer("ben", others=True))
    await talk.append("ana", "Two.")
    talk = await talk.remove("ben")
    await talk.append("ana", "Three.")
    await company.read("ana")
    assert await company.knows("ben", "ana") == ["Two."]
    assert [one.name for one in talk.peers] == ["ana"]


async def test_a_read_confined_to_sessions_shows_nothing_of_others(company: Company):
    for name, text in (("monday", "I have a dog."), ("tuesday", "I have a cat.")):
        talk = await company.session(name, "ana", peer("ben", others=True))
        await talk.append("ana", text)
    await company.read("ana")
    bens = company.host.for_scope(scope_of("ben", "ana")).memory
    found = await bens.representation(sessions=["monday"])
    assert [held.entry.content for held in found.held] == ["I have a dog."]
    assert [hit.entry.content for hit in await bens.recall("dog cat", sessions=["tuesday"])] == ["I have a cat."]


LEVELS = [
    (None, None, None, True),
    (False, None, None, False),
    (False, True, None, True),
    (False, False, True, True),
    (True, False, None, False),
    (None, False, True, True),
    (None, None, False, False),
    (None, True, False, False),
    (False, None, True, True),
]


@pytest.mark.parametrize(("workspace", "session", "message", "is_learnt"), LEVELS)
async def test_the_narrowest_level_decides_whether_anything_is_learnt(
    company: Company, workspace: bool | None, session: bool | None, message: bool | None, is_learnt: bool
):
    await company.host.configure(workspace="acme", learning=workspace)
    talk = await company.session("s1", "ana", peer("ben", others=True), learning=session)
    await talk.append("ana", SAID, learning=message)
    await company.read("ana")
    expected = [SAID] if is_learnt else []
    assert (await company.knows("ana", "ana"), await company.knows("ben", "ana")) == (expected, expected)
    assert await company.heard("ana", "ana") == [SAID]
    assert await company.may_learn("ana") is (is_learnt or workspace is not False)


async def test_a_message_that_is_on_in_a_session_that_is_off_is_learnt_alone(company: Company):
    talk = await company.session("s1", "ana", peer("ben", others=True), learning=False)
    await talk.append("ana", "Quiet.")
    await talk.append("ana", "Loud.", learning=True)
    await company.read("ana")
    assert (await company.knows("ana", "ana"), await company.knows("ben", "ana")) == (["Loud."], ["Loud."])


async def test_a_copy_tells_whose_memory_it_is_from(company: Company):
    talk = await company.session("s1", "ana", peer("ben", others=True))
    turn = await talk.append("ana", SAID)
    await company.read("ana")
    origin, copy = await company.entry("ana", "ana", SAID), await company.entry("ben", "ana", SAID)
    assert (copy.id, copy.sources) == (origin.id, (SourceRef(SourceKind.TURN, turn.id),))
    why = await company.host.for_scope(scope_of("ben", "ana")).dreams.why(copy.id)
    assert [str(one.actor) for one in why.writes] == ["peer:ana"]


async def test_a_fact_of_two_turns_needs_both(company: Company):
    first = await company.session("s1", "ana", peer("ben", others=True))
    one = await first.append("ana", "I have a dog.")
    second = await company.session("s2", "ana")
    other = await second.append("ana", "He is called Rex.")
    ana = company.host.for_scope(scope_of("ana", "ana"))
    await ana.memory.remember(
        "Ana's dog is called Rex.", sources=[SourceRef(SourceKind.TURN, t.id) for t in (one, other)]
    )
    await company.fan_out.follow(ana.scope)
    assert await company.knows("ben", "ana") == []


async def gives_way(company: Company, old: str, new: str) -> str:
    """Have a fact of Ana's own memory give way to another one, as a dream would; return its id."""
    ana = company.host.for_scope(scope_of("ana", "ana"))
    before, after = await company.entry("ana", "ana", old), await company.entry("ana", "ana", new)
    at = company.host.clock.now()
    gone = {"status": Status.SUPERSEDED, "status_reason": "she moved", "successor": after.id, "status_at": at}
    pair = before, replace(before, **gone)
    await company.storage.write(ana.scope, lambda unit: unit.entries.replace([pair]), origin=Origin.DREAM)
    await company.fan_out.follow(ana.scope)
    return before.id


async def test_a_fact_that_gives_way_does_so_for_those_who_heard_of_both(company: Company):
    talk = await company.session("s1", "ana", peer("ben", others=True), peer("cleo", others=True))
    await talk.append("ana", "I live in Porto.")
    talk = await talk.remove("cleo")
    await talk.append("ana", SAID)
    await company.read("ana")
    old = await gives_way(company, "I live in Porto.", SAID)
    assert await company.knows("ben", "ana") == [SAID]
    assert await company.knows("cleo", "ana") == ["I live in Porto."]
    # It comes back where it comes back in Ana's own memory.
    ana = company.host.for_scope(scope_of("ana", "ana"))
    await ana.dreams.restore(old)
    assert await company.knows("ben", "ana") == [SAID, "I live in Porto."]


async def test_a_fact_heard_after_it_took_a_place_takes_it_for_the_observer_too(company: Company):
    monday = await company.session("s1", "ana", peer("ben", others=True))
    await monday.append("ana", "I live in Porto.")
    alone = await company.session("s2", "ana")
    await alone.append("ana", SAID)
    await company.read("ana")
    await gives_way(company, "I live in Porto.", SAID)
    assert await company.knows("ben", "ana") == ["I live in Porto."]
    turn = await monday.append("ana", SAID)
    ana = company.host.for_scope(scope_of("ana", "ana")).memory
    await ana.remember(SAID, sources=[SourceRef(SourceKind.TURN, turn.id)])
    await company.fan_out.follow(scope_of("ana", "ana"))
    assert await company.knows("ben", "ana") == [SAID]
    copy = await company.entry("ben", "ana", SAID)
    assert (copy.sources, copy.own_count) == ((SourceRef(SourceKind.TURN, turn.id),), 1)


async def test_a_forgotten_fact_is_forgotten_by_all_who_heard_it(company: Company):
    talk = await company.session("s1", "ana", peer("ben", others=True))
    await talk.append("ana", "My code is 4711.")
    await talk.append("ana", SAID)
    await company.read("ana")
    entry = await company.entry("ana", "ana", "My code is 4711.")
    bens = company.host.for_scope(scope_of("ben", "ana"))
    await bens.memory.remember("Ana has a code lock.", sources=[SourceRef(SourceKind.ENTRY, entry.id)])
    await company.host.for_scope(scope_of("ana", "ana")).memory.forget(entry.id)
    assert await company.knows("ben", "ana") == [SAID]
    assert await company.heard("ben", "ana") == sorted([SAID, "[forgotten]"])
    await company.fan_out.catch_up()
    assert await company.knows("ben", "ana") == [SAID]


async def test_a_forgotten_talk_is_forgotten_by_all_who_heard_it(company: Company):
    for name in ("s1", "s2"):
        talk = await company.session(name, "ana", peer("ben", others=True))
        await talk.append("ana", f"I sang in {name}.")
    await company.read("ana")
    await talk.append("ana", "I sang twice.")  # nobody has read it yet
    await company.fan_out.catch_up()
    await company.host.for_scope(scope_of("ana", "ana")).conversation.forget(session_id="s2")
    assert await company.knows("ben", "ana") == ["I sang in s1."]
    assert await company.heard("ben", "ana") == ["I sang in s1.", "[forgotten]", "[forgotten]"]


async def test_what_an_observer_forgets_stays_forgotten_there_alone(company: Company):
    talk = await company.session("s1", "ana", peer("ben", others=True))
    await talk.append("ana", SAID)
    await company.read("ana")
    copy = await company.entry("ben", "ana", SAID)
    await company.host.for_scope(scope_of("ben", "ana")).memory.forget(copy.id)
    await company.host.for_scope(scope_of("ana", "ana")).memory.remember(SAID)
    await company.fan_out.follow(scope_of("ana", "ana"))
    assert (await company.knows("ana", "ana"), await company.knows("ben", "ana")) == ([SAID], [])


async def test_the_erasure_of_a_peer_reaches_what_others_heard(company: Company):
    talk = await company.session("s1", "ana", peer("ben", others=True))
    await talk.append("ana", SAID)
    await talk.append("ben", "I live in Faro.")
    await company.read("ana", "ben")
    await company.host.for_scope(scope_of("ben", "ana")).memory.remember("Ana is Ben's neighbour.")
    await company.host.erase(scope_of("ana", "ana"))
    assert await company.knows("ben", "ana") == ["Ana is Ben's neighbour."]
    assert await company.heard("ben", "ana") == []
    assert await company.knows("ben", "ben") == ["I live in Faro."]
    with pytest.raises(UnknownRecordError):
        await talk.append("ana", "Again.")


async def test_an_erased_observer_hears_only_what_is_said_afterwards(company: Company, clock: ManualClock):
    talk = await company.session("s1", "ana", peer("ben", others=True))
    await talk.append("ana", "Before.")
    await company.read("ana")
    await company.host.erase(scope_of("ben", "ana"))
    clock.advance(timedelta(minutes=1))
    await talk.append("ana", "After.")
    await company.read("ana")
    assert await company.knows("ben", "ana") == ["After."]


async def test_another_workspace_hears_nothing(company: Company):
    talk = await company.session("s1", "ana", peer("ben", others=True))
    other = Company(company.host, "umbrella")
    await other.session("s1", "ana", peer("ben", others=True))
    await talk.append("ana", SAID)
    await company.read("ana")
    assert await other.knows("ben", "ana") == []
    assert all(scope.workspace != "umbrella" for scope in await company.storage.scopes())


async def test_a_scope_of_its_own_is_no_session_of_peers(company: Company):
    alone = company.host.for_scope(Scope("acme", "ana", "ana"))
    await company.session("s1", "ana", peer("ben", others=True))
    await alone.conversation.append(session_id="s1", role="user", content=SAID)
    await company.read("ana")
    assert (await company.knows("ana", "ana"), await company.knows("ben", "ana")) == ([SAID], [])


async def test_bad_peers_are_refused(company: Company):
    talk = await company.session("s1", "ana")
    with pytest.raises(UnknownRecordError, match="peer id"):
        await talk.append("ben", "Hello.")
    with pytest.raises(InvalidScopeError):
        await talk.add("a/b")
    with pytest.raises(InvalidOptionsError):
        await talk.add(peer("ben", others=None))  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidOptionsError):
        await talk.append("ana", "Hello.", learning="yes")


def test_a_sync_host_holds_sessions_of_peers_too():
    with SyncHost(AgentHostBuilder(None).with_memory().with_conversation_log().build()) as host:
        talk = host.session("s1", peers=["ana", peer("ben", others=True)])
        said = talk.append("ana", SAID)
        assert (said.content, said.observers) == (SAID, ("ben",))
        assert [one.name for one in talk.remove("ben").peers] == ["ana"]
