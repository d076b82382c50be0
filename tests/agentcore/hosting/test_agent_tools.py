import json
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import openai
import orjson
import pytest
from hypothesis import example, given, strategies as st
from openai.types.chat import ChatCompletionMessageToolCall

from agentcore import AgentHostBuilder, AgentTools, ForgetQuestion, Host, MemoryEntry, Scope, Status, Trust, TurnsChoice
from agentcore.errors import HostNotStartedError, InvalidContentError, StorageUnavailableError
from agentcore.hosting import LONGEST_SHOWN, MOST_HITS, SET_ASIDE, TOKENS
from agentcore.llm import estimate_tokens
from agentcore.testing import ChatServer, ManualClock, SequentialIds, answer

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
MOVED = "Ana moved to Lisbon in May 2025"


def builder(data_dir: Path | None = None) -> AgentHostBuilder:
    return AgentHostBuilder(data_dir, clock=ManualClock(NOON), ids=SequentialIds("r"))


@asynccontextmanager
async def hosted():
    async with builder().with_memory().with_feedback().build() as running:
        yield running


@pytest.fixture
async def host():
    async with hosted() as running:
        yield running


async def called(tools: AgentTools, name: str, /, **arguments: Any) -> dict[str, Any]:
    return orjson.loads(await tools.call(name, orjson.dumps(arguments).decode()))


async def error_of(tools: AgentTools, name: Any, arguments: Any) -> str:
    said = orjson.loads(await tools.call(name, arguments))
    assert set(said) == {"error"}
    return said["error"]


async def test_a_secret_is_refused_by_its_kind_unless_the_host_keeps_them(caplog: pytest.LogCaptureFixture):
    secret = "Ana's bank PIN is 5512"
    caplog.set_level("DEBUG")
    async with builder().with_memory().build() as host:
        said = await called(host.tools(trust=Trust.CONFIRMED), "remember", content=secret)
        assert (said["code"], set(said)) == ("secret", {"code", "error"})
        assert "seems to hold a password" in said["error"]
        assert "5512" not in said["error"] + caplog.text
        assert await host.memory.list() == []
        assert (await host.memory.remember(secret)).content == secret
    async with builder().with_memory(lambda options: options.replace(secrets="keep")).build() as host:
        assert "id" in await called(host.tools(), "remember", content=secret)


# What there is


def test_there_is_a_tool_for_each_service_and_no_other():
    assert builder().build().tools().names == ()
    assert builder().with_memory().build().tools().names == ("remember", "recall", "forget")
    assert builder().with_feedback().build().tools().names == ("feedback",)
    assert builder().with_memory().with_feedback().build().tools().names == ("remember", "recall", "forget", "feedback")


def test_a_schema_is_what_a_chat_completion_takes():
    schemas = builder().with_memory().with_feedback().build().tools().schemas
    for schema in schemas:
        assert set(schema) == {"type", "function"}
        assert schema["type"] == "function"
        function = schema["function"]
        assert set(function) == {"name", "description", "parameters"}
        assert function["parameters"]["additionalProperties"] is False
        assert set(function["parameters"]["required"]) <= set(function["parameters"]["properties"])
        assert all(one["description"] for one in function["parameters"]["properties"].values())
    assert orjson.loads(orjson.dumps(schemas)) == schemas
    recall = next(schema["function"] for schema in schemas if schema["function"]["name"] == "recall")
    assert recall["parameters"]["properties"]["k"]["maximum"] == MOST_HITS


def test_changing_what_schemas_gave_changes_nothing():
    tools = builder().with_memory().build().tools()
    tools.schemas[0]["function"]["parameters"]["properties"].clear()
    assert "content" in tools.schemas[0]["function"]["parameters"]["properties"]


async def test_the_real_client_sends_the_schemas_and_a_tool_call_of_its_answer_is_answered(host: Host):
    tools = host.tools()
    function = {"name": "remember", "arguments": '{"content": "Ana moved to Lisbon in May 2025"}'}
    call = {"id": "call-7", "type": "function", "function": function}
    async with (
        ChatServer([answer(None, message={"tool_calls": [call]})]) as server,
        openai.AsyncOpenAI(base_url=server.base_url, api_key="k") as client,
    ):
        completion = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Remember it."}], tools=tools.schemas
        )
        assert server.requests[0].body["tools"] == tools.schemas
    message = await tools.answer(completion.choices[0].message.tool_calls[0])
    assert (message["role"], message["tool_call_id"]) == ("tool", "call-7")
    (entry,) = await host.memory.list()
    assert orjson.loads(message["content"]) == {"id": entry.id, "category": "general", "times_seen": 1}


async def test_a_tool_call_may_be_an_object_or_a_dictionary(host: Host):
    as_dictionary = {"id": "c1", "type": "function", "function": {"name": "recall", "arguments": '{"query": "Ana"}'}}
    as_object = ChatCompletionMessageToolCall.model_validate(as_dictionary)
    assert await host.tools().answer(as_dictionary) == await host.tools().answer(as_object)


@pytest.mark.parametrize("tool_call", [None, {}, {"id": "c1"}, {"id": 7, "function": "recall"}, "recall", 7, []])
async def test_what_is_no_tool_call_is_answered_with_an_error(host: Host, tool_call: object):
    message = await host.tools().answer(tool_call)
    assert set(orjson.loads(message["content"])) == {"error"}
    assert message["role"] == "tool"


# remember


async def test_what_the_agent_remembers_is_its_own_word(host: Host):
    said = await called(
        host.tools(),
        "remember",
        content=MOVED,
        category="people / ana",
        tags=["move"],
        importance="high",
        about="2025-05",
    )
    entry = await host.memory.get(said["id"])
    assert (entry.content, entry.category, entry.tags, entry.base) == (MOVED, "people/ana", ("move",), 0.7)
    assert (str(entry.subject_time), entry.trust) == ("2025-05", Trust.INFERRED)
    assert (entry.pinned, entry.metadata, entry.sources) == (False, {}, ())


async def test_the_host_says_how_far_the_agent_is_trusted(host: Host):
    said = await called(host.tools(trust=Trust.STATED), "remember", content=MOVED)
    assert (await host.memory.get(said["id"])).trust is Trust.STATED


async def test_the_agent_cannot_reinforce_what_a_person_said(host: Host):
    stated = await host.memory.remember(MOVED)
    for _ in range(3):
        said = await called(host.tools(), "remember", content=MOVED, importance="high")
    kept = await host.memory.get(stated.id)
    assert said == {"id": stated.id, "category": "general", "times_seen": 1}
    assert (kept.own_count, kept.trust, kept.last_seen_at) == (1, Trust.STATED, stated.last_seen_at)


async def test_the_agent_cannot_bring_back_what_a_person_asked_to_forget(host: Host):
    moved = f"{MOVED} with two cats, a parrot and her grandmother's piano"
    entry = await host.memory.remember(moved)
    await host.memory.forget(entry.id)
    said = await error_of(host.tools(), "remember", {"content": f"  {moved.upper()}. "})
    assert "a person asked to forget this text" in said
    assert await host.memory.count(status=None) == 0
    assert "id" in await called(host.tools(trust=Trust.STATED), "remember", content=moved)


@pytest.mark.parametrize("level", ["low", "normal", "high"])
async def test_no_importance_of_the_agent_protects_an_entry(host: Host, level: str):
    said = await called(host.tools(), "remember", content=MOVED, importance=level)
    assert (await host.memory.get(said["id"])).base < 0.80


# recall


async def test_recall_gives_what_a_model_needs_and_nothing_else(host: Host):
    entry = await host.memory.remember(
        MOVED, category="people/ana", subject_time="2025-05", occurred_at=NOON - timedelta(days=1), importance=0.613
    )
    await host.memory.remember("Ben likes tea", metadata={"requires_user_permission": "true", "key": "value"})
    (found,) = (await called(host.tools(), "recall", query="Lisbon"))["memories"]
    assert found == {
        "id": entry.id,
        "content": MOVED,
        "category": "people/ana",
        "importance": 0.61,
        "said": "2025-06-13",
        "last_seen": "2025-06-13",
        "trust": "stated",
        "about": "2025-05",
    }
    (guarded,) = (await called(host.tools(), "recall", query="tea"))["memories"]
    assert guarded["requires_user_permission"] is True
    assert "key" not in guarded


async def test_recall_keeps_to_a_number_and_a_category(host: Host):
    for number in range(30):
        await host.memory.remember(f"tea no. {number}", category="drinks/tea" if number % 2 else "notes")
    tools = host.tools()
    assert len((await called(tools, "recall", query="tea"))["memories"]) == 5
    assert len((await called(tools, "recall", query="tea", k=20))["memories"]) == 20
    found = (await called(tools, "recall", query="tea", k=20, category="drinks"))["memories"]
    assert {one["category"] for one in found} == {"drinks/tea"}
    assert len(found) == 15


@pytest.mark.parametrize("letter", ["a", "語", "\x01", "🜁"])
async def test_recall_is_bounded_whatever_is_stored(host: Host, letter: str):
    for number in range(MOST_HITS):
        await host.memory.remember(f"tea {number} {letter * 99_000}")
    said = await host.tools().call("recall", {"query": "tea", "k": MOST_HITS})
    shown = orjson.loads(said)
    assert estimate_tokens(said) <= TOKENS + 100
    assert len(shown["memories"]) >= 1
    assert len(shown["memories"]) + shown["left_out"] == MOST_HITS
    assert all(len(one["content"]) == LONGEST_SHOWN and one["content"].endswith("…") for one in shown["memories"])


# forget


async def test_without_a_person_forget_sets_aside_and_deletes_nothing(host: Host):
    entry = await host.memory.remember(MOVED)
    said = await called(host.tools(), "forget", id=entry.id, begins="Ana moved to Lisbon")
    assert said["set_aside"] == entry.id
    kept = await host.memory.get(entry.id)
    assert (kept.status, kept.status_reason, kept.status_at) == (Status.ARCHIVED, SET_ASIDE, NOON)
    assert kept.content == MOVED
    assert await host.memory.recall("Lisbon") == []


async def test_what_was_set_aside_can_be_restored():
    async with builder().with_memory().with_dreaming().build() as host:
        entry = await host.memory.remember(MOVED)
        await called(host.tools(), "forget", id=entry.id, begins=MOVED)
        await host.dreams.restore(entry.id)
        assert [hit.entry.id for hit in await host.memory.recall("Lisbon")] == [entry.id]


async def test_entries_of_equal_text_are_set_aside_together_but_for_pinned_ones(host: Host):
    one = await host.memory.remember("Zoe plays chess on Mondays", category="general")
    twin = await host.memory.remember("Zoe plays chess on Mondays.", category="people/zoe")
    await called(host.tools(), "forget", id=one.id, begins=one.content)
    assert (await called(host.tools(), "recall", query="Zoe chess"))["memories"] == []
    assert twin.id != one.id
    pinned = await host.memory.remember("Rui plays chess on Mondays", pinned=True, category="people/rui")
    other = await host.memory.remember("Rui plays chess on Mondays.", category="general")
    await called(host.tools(), "forget", id=other.id, begins=other.content)
    assert [entry.id for entry in await host.memory.list()] == [pinned.id]


async def test_a_pinned_memory_is_not_set_aside(host: Host):
    entry = await host.memory.remember(MOVED, pinned=True)
    assert "only a person can" in await error_of(host.tools(), "forget", {"id": entry.id, "begins": MOVED})
    assert await host.memory.get(entry.id) == entry


@pytest.mark.parametrize("begins", ["Ana", "Ben likes tea", "moved to Lisbon in May", "…", ".", "Ana moved to Berlin"])
async def test_a_call_that_does_not_quote_the_memory_forgets_nothing(host: Host, begins: str):
    entry = await host.memory.remember(MOVED)
    assert "quote" in await error_of(host.tools(), "forget", {"id": entry.id, "begins": begins})
    assert await host.memory.get(entry.id) == entry


@pytest.mark.parametrize("content", ["Tea", "語" * 5_000])
async def test_what_recall_showed_is_quote_enough(host: Host, content: str):
    await host.memory.remember(f"{content} Tea")
    (found,) = (await called(host.tools(), "recall", query="tea"))["memories"] or [None]
    assert "set_aside" in await called(host.tools(), "forget", id=found["id"], begins=found["content"])


@pytest.mark.parametrize("gone", ["none", "archived", "other scope"])
async def test_what_is_not_there_is_not_forgotten(host: Host, gone: str):
    tools, entry = host.tools(), await host.memory.remember(MOVED)
    if gone == "archived":
        await host.memory.archive(entry.id, reason="old")
    elif gone == "other scope":
        tools = host.for_scope(Scope("w", "a", "b")).tools()
    entry_id = "nobody" if gone == "none" else entry.id
    assert "fits none in this scope" in await error_of(tools, "forget", {"id": entry_id, "begins": MOVED})


async def test_a_memory_that_names_an_off_limits_topic_is_for_the_person_alone_to_keep(host: Host):
    await host.off_limits.add("my health")
    told = await error_of(host.tools(), "remember", {"content": "Ana's health is poor."})
    assert "only they can" in told
    assert (await called(host.tools(), "remember", content="Ana moved."))["times_seen"] == 1
    assert (await host.memory.remember("Ana's health is poor.")).content == "Ana's health is poor."


async def test_a_person_who_confirms_deletes_for_good(host: Host):
    asked: list[MemoryEntry] = []

    async def confirm(question: ForgetQuestion) -> bool:
        asked.append(question.entry)
        return True

    entry = await host.memory.remember(MOVED, pinned=True)
    said = await called(host.tools(confirm_forget=confirm), "forget", id=entry.id, begins=MOVED)
    assert said == {"deleted": [entry.id], "brought_back": []}
    assert asked == [entry]
    assert await host.memory.get(entry.id) is None


@pytest.mark.parametrize("reply", [False, None, "yes", 1])
async def test_anything_but_true_confirms_nothing(host: Host, reply: Any):
    entry = await host.memory.remember(MOVED)
    tools = host.tools(confirm_forget=lambda _: reply)
    assert "did not confirm" in await error_of(tools, "forget", {"id": entry.id, "begins": MOVED})
    assert await host.memory.get(entry.id) == entry


async def test_a_text_that_changed_while_the_person_thought_is_not_deleted(host: Host):
    entry = await host.memory.remember(MOVED)

    async def confirm(question: ForgetQuestion) -> bool:
        await host.memory.update(question.entry.id, content="Ana lives in Porto")
        return True

    tools = host.tools(confirm_forget=confirm)
    assert "quote" in await error_of(tools, "forget", {"id": entry.id, "begins": MOVED})
    assert (await host.memory.get(entry.id)).content == "Ana lives in Porto"


async def test_a_confirmation_that_fails_is_the_hosts_to_see(host: Host):
    def confirm(_: ForgetQuestion) -> bool:
        raise RuntimeError("the phone is off")

    entry = await host.memory.remember(MOVED)
    with pytest.raises(RuntimeError, match="the phone is off"):
        await host.tools(confirm_forget=confirm).call("forget", {"id": entry.id, "begins": MOVED})
    assert await host.memory.get(entry.id) == entry


async def test_a_person_sees_what_else_says_it_and_chooses():
    async with AgentHostBuilder(None).with_memory().with_conversation_log().build() as host:
        await see_and_choose(host)


async def see_and_choose(host: Host) -> None:
    said = await host.conversation.append(session_id="s", role="user", content=f"{MOVED}, you know", speaker="Ana")
    other = await host.conversation.append(session_id="s", role="user", content="I like tea", speaker="Ana")
    asked: list[ForgetQuestion] = []

    def confirm(question: ForgetQuestion) -> TurnsChoice:
        asked.append(question)
        return TurnsChoice.ALL

    entry = await host.memory.remember(MOVED)
    await called(host.tools(confirm_forget=confirm), "forget", id=entry.id, begins=MOVED)
    assert [one.id for one in asked[0].found] == [said.id]
    turns = await host.conversation.session("s")
    assert [turn.content for turn in turns] == ["[forgotten]", other.content]


# feedback


async def test_feedback_is_logged_for_the_session_of_the_host(host: Host):
    tools = host.tools(session_id="s7")
    said = await called(tools, "feedback", kind="correction", summary="Wrong date", detail="It was May")
    (signal,) = await host.feedback.newest()
    assert (signal.id, signal.session_id, signal.kind, signal.summary) == (
        said["noted"],
        "s7",
        "correction",
        "Wrong date",
    )
    assert signal.detail == "It was May"


async def test_the_agent_cannot_write_what_the_harness_writes(host: Host):
    said = await error_of(host.tools(), "feedback", {"kind": "session_summary", "summary": "All well"})
    assert "must be one of correction, tool_failure, thumbs_up, thumbs_down" in said
    assert await host.feedback.count() == 0


# What a model gets wrong


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("delete_everything", "{}", "there is no such tool; the tools are: remember, recall, forget, feedback"),
        (None, "{}", "there is no such tool"),
        ("\ud800", "{}", "there is no such tool"),
        ("recall", "{", "its arguments are no valid JSON"),
        ("recall", '{"query": "\ud800"}', "its arguments are no valid JSON"),
        ("recall", "[" * 5_000, "its arguments are no valid JSON"),
        ("recall", "[]", "its arguments must be one JSON object"),
        ("recall", 7, "its arguments must be one JSON object"),
        ("recall", " " * 100_001, "its arguments have 100,001 characters"),
        ("recall", "", "argument 'query' is missing"),
        ("recall", None, "argument 'query' is missing"),
        ("recall", {"query": None}, "argument 'query' is missing"),
        ("recall", {"query": " "}, "argument 'query' is blank"),
        ("recall", {"query": ["a"]}, "argument 'query' must be text"),
        ("recall", {"query": "\ud800"}, "argument 'query' contains half of a surrogate pair"),
        ("recall", {"query": "a\0"}, "argument 'query' contains a NUL character"),
        ("recall", {"query": "x" * 1_001}, "argument 'query' has 1,001 characters; give at most 1,000"),
        ("recall", {"query": "x", "k": 21}, "argument 'k' must be a whole number from 1 to 20"),
        ("recall", {"query": "x", "k": 0}, "argument 'k' must be a whole number from 1 to 20"),
        ("recall", {"query": "x", "k": True}, "argument 'k' must be a whole number from 1 to 20"),
        ("recall", {"query": "x", "k": "5"}, "argument 'k' must be a whole number from 1 to 20"),
        ("recall", {"query": "x", "limit": 5}, "'limit' is no argument; use query, k, category"),
        ("recall", {7: "x"}, "'7' is no argument"),
        ("remember", {"content": "x", "trust": 3}, "'trust' is no argument"),
        ("remember", {"content": "x", "pinned": True}, "'pinned' is no argument"),
        ("remember", {"content": "x" * 2_001}, "argument 'content' has 2,001 characters"),
        ("remember", {"content": "x", "tags": "a"}, "argument 'tags' must be a list of texts"),
        ("remember", {"content": "x", "tags": ["a", 1]}, "argument 'tags' has an item that must be text"),
        ("remember", {"content": "x", "tags": ["a"] * 11}, "argument 'tags' has 11 items; give at most 10"),
        ("remember", {"content": "x", "importance": 0.9}, "argument 'importance' must be one of low, normal, high"),
        ("remember", {"content": "x", "about": "yesterday"}, "'yesterday' is not a subject time"),
        ("forget", {"id": "x"}, "argument 'begins' is missing"),
        ("forget", {"id": "%", "begins": "x"}, "fits none in this scope"),
    ],
)
async def test_the_model_is_told_in_a_sentence(host: Host, name: Any, arguments: Any, sentence: str):
    said = await error_of(host.tools(), name, arguments)
    assert sentence in said
    assert said.endswith(".")
    assert await host.memory.count(status=None) == 0


async def test_null_counts_as_not_given(host: Host):
    said = await called(host.tools(), "remember", content="x", category=None, tags=None, importance=None, about=None)
    assert said["category"] == "general"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.sampled_from([MOVED, "pinned"]),
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.text(max_size=8), parts, max_size=4),
    max_leaves=8,
)
_KEYS = st.sampled_from(["content", "category", "tags", "importance", "about", "query", "k", "id", "begins", "kind"])
_NAMES = st.sampled_from(["remember", "recall", "forget", "feedback"]) | st.text(max_size=10)
_ARGUMENTS = (
    st.text(max_size=60)
    | st.binary(max_size=20)
    | _JSON
    | st.dictionaries(_KEYS, _JSON | st.sampled_from(["r-1", "r-2", "high", "correction"]), max_size=5)
    | st.dictionaries(_KEYS, _JSON, max_size=5).map(json.dumps)
)


@example(calls=[("recall", {"query": 2**64, "k": 2**64}), ("remember", f'{{"content": "x", "tags": [{2**70}]}}')])
@given(calls=st.lists(st.tuples(_NAMES, _ARGUMENTS), min_size=1, max_size=20))
async def test_no_call_raises_or_touches_what_a_person_said(calls: list[tuple[str, Any]]):
    async with hosted() as host:
        known = [await host.memory.remember(MOVED, pinned=True), await host.memory.remember("Ben likes tea")]
        tools = host.tools()
        for name, arguments in calls:
            said = orjson.loads(await tools.call(name, arguments))
            assert isinstance(said, dict)
            assert said
        assert await host.memory.get(known[0].id) == known[0]
        kept = await host.memory.get(known[1].id)
        assert (kept.content, kept.trust, kept.own_count, kept.base) == ("Ben likes tea", Trust.STATED, 1, 0.5)
        others = [entry for entry in await host.memory.list(status=None) if entry.id not in {one.id for one in known}]
        assert all(entry.trust is Trust.INFERRED and not entry.pinned for entry in others)


# What is not the model's doing


async def test_a_failing_database_is_raised(tmp_path: Path):
    async with builder(tmp_path).with_memory().build() as host:
        tools = host.tools()
        await host.storage.stop()
        with pytest.raises((StorageUnavailableError, HostNotStartedError)):
            await tools.call("remember", {"content": "x"})


async def test_a_host_that_is_not_open_is_raised():
    with pytest.raises(HostNotStartedError):
        await builder().with_memory().build().tools().call("recall", {"query": "x"})


@pytest.mark.parametrize("settings", [{"trust": 7}, {"trust": "high"}, {"session_id": ""}, {"session_id": "a\nb"}])
def test_settings_that_cannot_be_are_refused_at_once(settings: dict[str, Any]):
    with pytest.raises(InvalidContentError):
        builder().with_memory().build().tools(**settings)


async def test_scopes_are_never_mixed(host: Host):
    await called(host.for_scope(Scope("acme", "agent", "ben")).tools(), "remember", content=MOVED)
    assert (await called(host.tools(), "recall", query="Lisbon"))["memories"] == []
