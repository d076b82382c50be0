from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentcore import AgentHostBuilder, Host, Scope, Trust
from agentcore.domain import Status
from agentcore.errors import InvalidContentError, InvalidOptionsError, UnknownRecordError
from agentcore.hosting import Skills
from agentcore.testing import ManualClock, SequentialIds

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def clock():
    return ManualClock(NOON)


@pytest.fixture
async def host(clock: ManualClock):
    async with AgentHostBuilder(None, clock=clock, ids=SequentialIds("skill")).with_skills().build() as running:
        yield running


@pytest.fixture
def skills(host: Host):
    return host.skills


async def test_a_saved_skill_is_found_by_its_name(skills: Skills):
    saved = await skills.save("mcp/email", summary="Sends mail", content="# Steps\n1. ...", see_also=["b", "a", "b"])
    assert await skills.get("mcp/email") == saved
    assert (saved.created_at, saved.updated_at, saved.last_used_at) == (NOON, None, None)
    assert (saved.see_also, saved.trust) == (("a", "b"), Trust.STATED)
    assert await skills.get("mcp") is None


async def test_saving_a_known_name_rewrites_the_skill_and_keeps_its_id_and_dates(skills: Skills, clock: ManualClock):
    first = await skills.save("mcp/email", summary="Sends mail", content="old")
    await skills.use("mcp/email", session_id="s1")
    clock.advance(DAY)
    again = await skills.save("mcp/email", summary="Sends mail", content="new", trust=Trust.INFERRED)
    used = replace(first, last_used_at=NOON)
    assert again == replace(used, content="new", trust=Trust.INFERRED, updated_at=NOON + DAY)


async def test_saving_what_is_there_already_changes_nothing(skills: Skills, clock: ManualClock):
    first = await skills.save("mcp/email", summary="Sends mail", content="same")
    clock.advance(DAY)
    again = await skills.save("mcp/email", summary="Sends mail", content="same")
    assert (again, again.version) == (first, first.version)


async def test_the_catalogue_is_sorted_and_narrowed_by_prefix(skills: Skills):
    for name in ("web/search", "mcp/email", "mcp/calendar"):
        await skills.save(name, summary="One line", content="text")
    assert [skill.name for skill in await skills.list()] == ["mcp/calendar", "mcp/email", "web/search"]
    assert [skill.name for skill in await skills.list(prefix="mcp/")] == ["mcp/calendar", "mcp/email"]


async def test_a_use_is_logged_and_moves_the_last_use_forward_only(host: Host, skills: Skills, clock: ManualClock):
    await skills.save("mcp/email", summary="Sends mail", content="text")
    clock.advance(DAY)
    used = await skills.use("mcp/email", session_id="s1")
    earlier = await skills.use("mcp/email", session_id="s2", occurred_at=NOON)
    assert [used.last_used_at, earlier.last_used_at] == [NOON + DAY, NOON + DAY]
    uses = await host.storage.read(skills.scope, lambda view: view.skill_uses.newest(limit=9))
    assert [(use.session_id, use.skill_name, use.occurred_at) for use in uses] == [
        ("s2", "mcp/email", NOON),
        ("s1", "mcp/email", NOON + DAY),
    ]


async def test_using_an_unknown_skill_is_refused_and_logged_nowhere(host: Host, skills: Skills):
    with pytest.raises(UnknownRecordError, match="skill id 'mcp/mail' fits none"):
        await skills.use("mcp/mail", session_id="s1")
    assert await host.storage.read(skills.scope, lambda view: view.skill_uses.count()) == 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": " "}, "skill name cannot be stored: it is blank"),
        ({"summary": "two\nlines"}, "summary cannot be stored: it holds a line break"),
        ({"content": ""}, "content cannot be stored: it is blank"),
        ({"see_also": ["x\ny"]}, "related skill cannot be stored"),
    ],
)
async def test_what_cannot_be_stored_is_refused_in_a_sentence(skills: Skills, change: dict[str, Any], sentence: str):
    given = {"name": "mcp/email", "summary": "Sends mail", "content": "text"} | change
    with pytest.raises(InvalidContentError, match=sentence):
        await skills.save(given.pop("name"), **given)
    assert await skills.list() == []


async def test_skills_saved_without_a_trust_take_the_options():
    built = AgentHostBuilder(None).with_skills(lambda options: options.replace(trust=Trust.INFERRED)).build()
    async with built as host:
        saved = await host.skills.save("mcp/email", summary="Sends mail", content="text")
        assert saved.trust is Trust.INFERRED


async def test_scopes_are_never_mixed(host: Host):
    ben = host.for_scope(Scope("acme", "agent", "ben")).skills
    await host.skills.save("mcp/email", summary="Sends mail", content="text")
    assert await ben.get("mcp/email") is None
    assert await ben.list() == []


async def test_skills_are_recalled_by_name_before_summary_before_content(skills: Skills):
    await skills.save("notes/daily", summary="Write the day down", content="Mention every invoice.")
    await skills.save("mail/send", summary="Mail an invoice", content="Attach it.")
    await skills.save("invoice", summary="Make one", content="Number it.")
    hits = await skills.recall("How do I handle an invoice?")
    assert [hit.skill.name for hit in hits] == ["invoice", "mail/send", "notes/daily"]
    assert [hit.skill.name for hit in await skills.recall("invoices", k=1)] == ["invoice"]


async def test_recall_follows_rewritten_used_and_retired_skills(host: Host, skills: Skills):
    saved = await skills.save("mail/send", summary="Send a mail", content="Write.")
    assert await skills.recall("telegram") == []
    rewritten = await skills.save("mail/send", summary="Send a telegram", content="Write.")
    assert [hit.skill.id for hit in await skills.recall("telegram")] == [saved.id]
    used = await skills.use("mail/send", session_id="s1")
    assert [hit.skill for hit in await skills.recall("telegram")] == [used]
    retired = replace(used, status=Status.ARCHIVED, status_reason="Old.", status_at=NOON)
    await host.storage.write(skills.scope, lambda unit: unit.skills.replace(used, retired))
    assert rewritten.id == used.id
    assert await skills.recall("telegram") == []


async def test_odd_queries_for_skills_find_nothing_or_are_refused(skills: Skills):
    await skills.save("mail/send", summary="Send a mail", content="Write.")
    for query in ("", "  ", "\x00\u200d", "🙂", "the of and", "x" * 1_000_000):
        assert await skills.recall(query) == []
    for k in (0, -1):
        with pytest.raises(InvalidOptionsError, match="give 1 or more"):
            await skills.recall("mail", k=k)
