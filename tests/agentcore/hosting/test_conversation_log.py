from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agentcore import AgentHostBuilder, Host, Scope, Trust
from agentcore.errors import InvalidContentError, InvalidOptionsError
from agentcore.hosting import Conversation, ConversationOptions
from agentcore.testing import ManualClock, SequentialIds

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)


def builder(data_dir: Path | None = None):
    return AgentHostBuilder(data_dir, clock=ManualClock(NOON), ids=SequentialIds("turn"))


@pytest.fixture
async def host():
    async with builder().with_conversation_log().build() as running:
        yield running


@pytest.fixture
def conversation(host: Host):
    return host.conversation


async def test_a_turn_is_logged_as_it_was_said(conversation: Conversation):
    said_at = NOON - timedelta(hours=3)
    turn = await conversation.append(
        session_id=" s1 ", role="user", content=" Hi there ", occurred_at=said_at, speaker="Ana", generated=True
    )
    assert (turn.id, turn.session_id, turn.role, turn.content) == ("turn-000001", "s1", "user", "Hi there")
    assert (turn.speaker, turn.occurred_at, turn.recorded_at) == ("Ana", said_at, NOON)
    assert (turn.consumed_at, turn.generated) == (None, True)
    assert await conversation.get(turn.id) == turn


async def test_a_turn_without_an_instant_was_said_now(conversation: Conversation):
    assert (await conversation.append(session_id="s1", role="user", content="Hi")).occurred_at == NOON


async def test_a_session_is_read_in_the_order_it_was_said(conversation: Conversation):
    for minute, text in ((2, "third"), (0, "first"), (1, "second")):
        at = NOON + timedelta(minutes=minute)
        await conversation.append(session_id="s1", role="user", content=text, occurred_at=at)
    await conversation.append(session_id="s2", role="user", content="elsewhere")
    assert [turn.content for turn in await conversation.session("s1")] == ["first", "second", "third"]
    assert [turn.content for turn in await conversation.session("s1", limit=2)] == ["second", "third"]
    assert await conversation.session("s3") == []
    assert await conversation.count() == 4


@pytest.mark.parametrize(
    ("role", "trust"),
    [
        ("user", Trust.STATED),
        ("assistant", Trust.INFERRED),
        ("system", Trust.STATED),
        ("tool", Trust.UNTRUSTED),
    ],
)
async def test_a_turn_is_trusted_as_far_as_its_role_unless_told_otherwise(
    conversation: Conversation, role: str, trust: Trust
):
    assert (await conversation.append(session_id="s", role=role, content="Hi")).trust is trust
    told = await conversation.append(session_id="s", role=role, content="Hi", trust=Trust.CONFIRMED)
    assert told.trust is Trust.CONFIRMED


async def test_where_anybody_may_talk_users_are_trusted_as_the_options_say():
    built = builder().with_conversation_log(lambda options: options.replace(user_trust=Trust.UNTRUSTED)).build()
    async with built as host:
        turn = await host.conversation.append(session_id="s", role="user", content="Hi")
        assert turn.trust is Trust.UNTRUSTED


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"role": "robot"}, "role cannot be stored: 'robot' is none; give one of user, assistant, system, tool"),
        ({"session_id": " "}, "session id cannot be stored: it is blank"),
        ({"session_id": "s" * 257}, "257 characters; give at most 256"),
        ({"session_id": "a\nb"}, "line break"),
        ({"content": ""}, "content cannot be stored: it is blank"),
        ({"content": None}, "it is NoneType, not text"),
        ({"speaker": "A\tB"}, "speaker cannot be stored"),
        ({"occurred_at": datetime(2025, 1, 1)}, "no time zone"),  # noqa: DTZ001 - what is refused
    ],
)
async def test_what_cannot_be_stored_is_refused_in_a_sentence_and_nothing_is_written(
    conversation: Conversation, change: dict[str, Any], sentence: str
):
    said = {"session_id": "s1", "role": "user", "content": "Hi"}
    with pytest.raises(InvalidContentError, match=sentence):
        await conversation.append(**(said | change))
    assert await conversation.count() == 0


async def test_scopes_are_never_mixed(host: Host):
    ben = host.for_scope(Scope("acme", "agent", "ben")).conversation
    turn = await host.conversation.append(session_id="s1", role="user", content="Hi")
    assert await ben.get(turn.id) is None
    assert await ben.session("s1") == []


async def test_a_conversation_survives_a_restart(tmp_path: Path):
    async with builder(tmp_path).with_conversation_log().build() as host:
        turn = await host.conversation.append(session_id="s1", role="user", content="Hi")
    async with builder(tmp_path).with_conversation_log().build() as host:
        assert await host.conversation.session("s1") == [turn]


async def say(conversation: Conversation, *texts: str, session: str = "s1", **said: Any):
    return [await conversation.append(session_id=session, role="user", content=text, **said) for text in texts]


async def test_a_turn_is_recalled_by_its_words_its_speaker_and_its_date(conversation: Conversation):
    (moved,) = await say(conversation, "I moved to Lisbon", speaker="Ana")
    (_other,) = await say(
        conversation, "Nothing new", speaker="Ben", session="s2", occurred_at=NOON - timedelta(days=99)
    )
    for query in ("Where is Lisbon?", "What did Ana say?", "What was said in June 2025?"):
        hits = await conversation.recall(query)
        assert hits[0].turn == moved
    assert await conversation.recall("volcano") == []


async def test_recall_of_turns_follows_the_log_and_its_filters(host: Host, conversation: Conversation):
    first, second = await say(conversation, "tea with milk", "tea with lemon")
    (third,) = await say(conversation, "iced tea", session="s2", occurred_at=NOON + timedelta(days=1))
    await conversation.append(session_id="s1", role="system", content="tea prompt")
    await conversation.append(session_id="s1", role="assistant", content="tea summary", generated=True)

    async def found(**where: Any) -> set[str]:
        return {hit.turn.id for hit in await conversation.recall("tea", **where)}

    assert await found() == {first.id, second.id, third.id}
    assert await found(session_id="s2") == await found(besides="s1") == {third.id}
    assert await found(said_after=NOON + timedelta(hours=1)) == {third.id}
    assert await found(said_before=NOON + timedelta(hours=1)) == {first.id, second.id}
    await host.storage.write(conversation.scope, lambda unit: unit.turns.delete([first.id]))
    await host.storage.write(conversation.scope, lambda unit: unit.turns.mark_consumed([second.id], NOON))
    assert await found() == {second.id, third.id}
    assert await found(k=1) < {second.id, third.id}


async def test_odd_queries_for_turns_find_nothing_or_are_refused(conversation: Conversation):
    await say(conversation, "I moved to Lisbon")
    for query in ("", "\x00\u200d", "🙂", "\u202e\u200f", "x" * 1_000_000):
        assert await conversation.recall(query) == []
    assert len(await conversation.recall("lisbon", k=10**9)) == 1
    with pytest.raises(InvalidOptionsError, match="give 1 or more"):
        await conversation.recall("lisbon", k=0)
    with pytest.raises(InvalidOptionsError, match="give text"):
        await conversation.recall(7)  # pyright: ignore[reportArgumentType]


def test_weights_that_make_no_sense_are_refused():
    with pytest.raises(InvalidOptionsError, match="session_weight"):
        ConversationOptions(session_weight=-1)
