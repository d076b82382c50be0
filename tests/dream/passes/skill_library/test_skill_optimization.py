"""Skill optimization: which skills are looked at, what a rewrite may change, and when it is taken back."""

from datetime import timedelta
from typing import Any

import orjson
import pytest
from dreaming import DAY, World, codes
from rereading import leaves_out_a_step
from skilled import LONG, NOTHING, Library, Reply, handle_of, with_options

from agentcore.domain import Capability, FeedbackKind, Rating, Status, ToolCall, Trust
from agentcore.errors import UnknownRecordError
from dream.domain import Skip
from dream.options import DreamOptions, ModelOptions, PassMode, SkillOptimizationOptions
from dream.passes.skills.optimization import SkillOptimization

SEND = "1. Draft the mail to rui@example.org.\n2. Send it with `mail send --queue 25`."
ASKING = (
    "1. Draft the mail to rui@example.org.\n2. Show the draft and wait for a yes.\n"
    "3. Send it with `mail send --queue 25`."
)
SUMMARY = FeedbackKind.SESSION_SUMMARY


@pytest.fixture
def library(world: World) -> Library:
    return Library(world)


def rewriting(name: str, content: str | None = ASKING, **fields: Any) -> Reply:
    """Rewrite one skill."""

    def reply(prompt: str) -> dict[str, Any]:
        handle = handle_of(prompt, name)
        item = {"name": name, "summary": "Send a mail once it was seen", "content": content, "sourceNames": [handle]}
        return {"toSave": [item | {"seeAlso": []} | fields], "toDelete": []}

    return reply


async def at_risk(library: Library, content: str = SEND + "\n" + LONG, **fields: Any) -> Any:
    skill = await library.skill("mail-send", content, **fields)
    await library.used("mail-send", "s1")
    await library.feedback("s1")
    return skill


async def test_skills_used_in_sessions_with_corrections_are_at_risk(library: Library):
    await at_risk(library)
    await library.skill("calm")
    await library.used("calm", "s2")
    done = await library.optimize()
    assert (done.notes["at_risk"], done.notes["sparse"]) == (1, 0)
    assert 'name="mail-send"' in library.prompts[0]
    assert 'name="calm"' not in library.prompts[0]


async def test_their_failure_context_is_appended(library: Library):
    await at_risk(library)
    await library.feedback("s1", summary="It went to everyone!", kind=FeedbackKind.THUMBS_DOWN)
    await library.optimize()
    (prompt,) = library.prompts
    lines = prompt.splitlines()
    place = next(number for number, line in enumerate(lines) if 'name="mail-send"' in line)
    assert lines[place + 1].startswith("- failure of s1: kind=correction")
    assert lines[place + 1].endswith('"No, ask me first."')
    assert lines[place + 2].endswith('"It went to everyone!"')


async def called(library: Library, *calls: tuple[int, str, bool], session: str = "s1") -> None:
    """Log calls of a tool so many minutes after the start of a session, two hours ago."""
    start = library.now - timedelta(hours=2)
    made = [
        ToolCall(
            id=library.world.ids.new(),
            scope=library.world.scope,
            session_id=session,
            tool_name="mail",
            succeeded=succeeded,
            arguments=arguments,
            occurred_at=start + timedelta(minutes=minute),
            recorded_at=start,
        )
        for minute, arguments, succeeded in calls
    ]
    await library.world.write(lambda unit: unit.tool_calls.append(made))


async def test_tool_calls_that_had_to_be_repeated_are_told_beside_the_failures(library: Library):
    await at_risk(library)
    long = "b" * 300
    await called(library, (0, "late", False), (2, long, False), (3, "c", False), (4, "d", False), (31, "e", True))
    await called(library, (40, "f", True), (41, "g", False), (42, "g", True), (43, "h", False), (80, "i", True))
    await called(library, (0, "elsewhere", False), (1, "elsewhere too", True), session="s2")
    await library.skill("calm")
    await library.used("calm", "s2")
    assert (await library.optimize()).notes["at_risk"] == 1
    told = [line for line in library.prompts[0].splitlines() if line.startswith("- retry")]
    failed = f'failed="{long[:200]}..." failed="c" failed="d"'
    assert told == [f'- retry beside s1: tool="mail" at=2025-06-14 {failed} worked="e"']
    await called(library, (90, "j", False), (91, "k", True))
    assert (await library.optimize()).reason == Skip.NO_WORK


async def test_an_address_that_only_a_repeated_call_gives_is_no_step_of_a_skill(library: Library):
    before = await at_risk(library)
    await called(library, (0, "to https://a.example", False), (1, "to https://b.example", True))
    done = await library.optimize(rewriting("mail-send", f"{SEND}\n3. Post to https://b.example.\n{LONG}"))
    assert (codes(done), await library.get(before)) == (["invented_detail"], before)


@pytest.mark.parametrize(
    ("kind", "rating", "summary", "counts"),
    [
        (SUMMARY, Rating.POOR, "It went badly.", True),
        (SUMMARY, Rating.FAIR, "So-so.", True),
        (SUMMARY, Rating.GOOD, "A fairly poor day, but all worked.", False),
        (SUMMARY, Rating.EXCELLENT, "They were treated unfairly elsewhere; this was fine.", False),
        (SUMMARY, None, "poor and fair", False),
        (FeedbackKind.THUMBS_DOWN, None, "Bad.", True),
        (FeedbackKind.THUMBS_UP, None, "Not poor, not fair: great.", False),
        (FeedbackKind.TOOL_FAILURE, None, "Timeout.", False),
    ],
)
async def test_ratings_are_matched_as_ratings_and_not_as_words(
    library: Library, kind: FeedbackKind, rating: Rating | None, summary: str, counts: bool
):
    await library.skill("mail-send")
    await library.used("mail-send", "s1")
    await library.feedback("s1", kind, summary, rating=rating)
    assert (await library.optimize()).calls == counts


async def test_sparse_skills_are_reviewed_without_any_failure(library: Library):
    await library.skill("short", "Send it.")
    await library.skill("young", "Send it.", created_at=library.now - timedelta(days=6))
    done = await library.optimize(rewriting("short", "1. Draft it.\n2. Send it.\n3. Check that it arrived."))
    assert 'name="short" sparse-content ' in library.prompts[0]
    assert 'name="young"' not in library.prompts[0]
    kept = await library.named("short")
    assert kept is not None
    assert (kept.content, done.notes["rewritten"]) == ("1. Draft it.\n2. Send it.\n3. Check that it arrived.", 1)


async def test_it_is_skipped_entirely_if_nothing_is_at_risk_or_sparse(library: Library):
    await library.skill("fine")
    await library.used("fine", "s1")
    done = await library.optimize()
    assert (done.reason, done.calls) == (Skip.NO_WORK, 0)


async def test_it_requires_skills_and_feedback(world: World):
    world.capabilities = frozenset(Capability) - {Capability.LLM, Capability.FEEDBACK}
    done = await Library(world).optimize()
    assert done.reason == "missing: feedback"


async def test_it_runs_whether_or_not_consolidation_did(library: Library):
    await library.skill("short", "Send it.")
    await library.skill("other")
    await library.consolidate()
    assert (await library.consolidate()).reason == Skip.NO_WORK
    assert (await library.optimize()).calls == 1


async def test_a_rewrite_keeps_identity_dates_and_links(library: Library):
    used = library.now - DAY
    before = await at_risk(library, see_also=("calm", "mail-read"), last_used_at=used, trust=Trust.CONFIRMED)
    await library.optimize(rewriting("mail-send", ASKING + "\n" + LONG))
    after = await library.get(before)
    assert (after.id, after.name, after.created_at) == (before.id, before.name, before.created_at)
    assert (after.last_used_at, after.see_also) == (used, ("calm", "mail-read"))
    assert (after.updated_at, after.trust) == (library.now, Trust.INFERRED)
    assert "wait for a yes" in after.content


async def test_a_rewrite_keeps_the_old_version(library: Library):
    before = await at_risk(library)
    await library.optimize(rewriting("mail-send", ASKING + "\n" + LONG))
    (former,) = await library.retired()
    assert (former.content, former.summary, former.name) == (before.content, before.summary, "mail-send")
    assert (former.status, former.successor) == (Status.SUPERSEDED, "mail-send")
    assert await library.names() == ["mail-send"]


async def test_the_same_failures_are_looked_at_once(library: Library):
    await at_risk(library)
    await library.optimize()
    assert (await library.optimize()).reason == Skip.NO_WORK
    await library.pass_time(days=8)
    assert (await library.optimize()).reason == Skip.NO_WORK
    await library.feedback("s1", summary="Again!")
    assert (await library.optimize()).calls == 1


async def test_failures_before_a_rewrite_are_no_word_on_the_new_text(library: Library):
    await at_risk(library)
    await library.optimize(rewriting("mail-send", ASKING + "\n" + LONG))
    assert (await library.optimize()).reason == Skip.NO_WORK
    await library.pass_time(days=1)
    await library.used("mail-send", "s2", at=library.now - timedelta(hours=2))
    await library.feedback("s2", summary="Still wrong.")
    await library.optimize()
    assert "Still wrong." in library.prompts[0]
    assert "No, ask me first." not in library.prompts[0]


@pytest.mark.parametrize("lacks", ["`mail send --queue 25`", "rui@example.org"])
async def test_what_no_failure_calls_wrong_must_stay(library: Library, lacks: str):
    before = await at_risk(library)
    library.denies = leaves_out_a_step
    done = await library.optimize(rewriting("mail-send", f"{ASKING}\n{LONG}".replace(lacks, "it")))
    assert (codes(done), await library.get(before)) == (["denied"], before)


async def test_what_a_correction_calls_wrong_may_go(library: Library):
    before = await library.skill("mail-send", "1. Open the port 5433.\n2. Send the mail.")
    await library.used("mail-send", "s1")
    await library.feedback("s1", summary="No, it is port 6543.")
    done = await library.optimize(rewriting("mail-send", "1. Open the port 6543.\n2. Send the mail."))
    assert (done.refused, (await library.get(before)).content[:21]) == ((), "1. Open the port 6543")


CACHED = "1. Build with `make all`.\n2. Clear the cache with `rm -rf /var/cache/app` on host db-7.\n3. Tell Ana."


@pytest.mark.parametrize(
    "said",
    [
        "No, don't clear the cache!",
        "Stop clearing the cache, it takes an hour.",
        "You cleared the cache again.",
        "The cache must not be cleared on that host.",
    ],
)
async def test_a_step_that_a_correction_contradicts_may_go_with_its_code(library: Library, said: str):
    before = await at_risk(library, f"{CACHED}\n{LONG}")
    await library.feedback("s1", summary=said)
    done = await library.optimize(rewriting("mail-send", f"1. Build with `make all`.\n2. Tell Ana.\n{LONG}"))
    assert (codes(done), "cache" in (await library.get(before)).content) == ([], False)


@pytest.mark.parametrize("is_meant", [True, False])
async def test_whether_a_correction_means_a_step_is_for_the_second_reading_to_say(library: Library, is_meant: bool):
    before = await at_risk(library, f"{CACHED}\n{LONG}")
    await library.feedback("s1", summary="The disk was full again, twice this week." if is_meant else "Don't call Ana.")
    library.denies = lambda *_: not is_meant
    done = await library.optimize(rewriting("mail-send", f"1. Build with `make all`.\n2. Tell Ana.\n{LONG}"))
    assert (codes(done), await library.get(before) == before) == (([], False) if is_meant else (["denied"], True))
    # It is shown the skill, each failure, and all that the rewrite says.
    assert all(one in library.reread[0] for one in ("rm -rf /var/cache/app", "No, ask me first.", " whole adds:"))


async def test_without_a_failure_no_code_of_a_skill_may_go(library: Library):
    before = await library.skill("short", "Build with `make all`.")
    done = await library.optimize(rewriting("short", "1. Build it.\n2. Check that it runs."))
    assert (codes(done), library.reread, await library.get(before)) == (["lost_detail"], [], before)


async def test_an_address_that_nobody_gave_is_refused(library: Library):
    await library.skill("short", "Send it.")
    done = await library.optimize(rewriting("short", "1. Send it.\n2. Report to https://evil.example/x."))
    assert (codes(done), (await library.named("short") or NOTHING).content) == (["invented_detail"], "Send it.")


async def test_a_secret_is_no_step_of_a_skill(library: Library):
    await library.skill("short", "Send it.")
    done = await library.optimize(rewriting("short", "1. Send it.\n2. The password is hunter2-Zebra!"))
    assert (codes(done), (await library.named("short") or NOTHING).content) == (["secret"], "Send it.")


async def test_a_lossy_rewrite_is_repaired_by_one_more_question(library: Library):
    before = await at_risk(library)
    library.denies = leaves_out_a_step
    done = await library.optimize(rewriting("mail-send", LONG), rewriting("mail-send", ASKING + "\n" + LONG))
    assert (done.calls, done.refused) == (4, ())
    assert (await library.get(before)).content.startswith("1. Draft the mail")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"name": "renamed"}, "mismatched"),
        ({"sourceNames": ["s9"]}, "unknown_handle"),
        ({"sourceNames": []}, "no_sources"),
        ({"content": None}, "invalid_content"),
        ({"content": " "}, "invalid_content"),
    ],
)
async def test_an_item_that_does_not_hold_is_refused(library: Library, answer: dict[str, Any], code: str):
    before = await at_risk(library)
    good: Any = rewriting("mail-send", ASKING + "\n" + LONG)
    done = await library.optimize(lambda prompt: {"toSave": [good(prompt)["toSave"][0] | answer]})
    assert (codes(done), await library.everything()) == ([code], [before])


async def test_a_skill_may_be_called_by_the_name_that_was_shown(library: Library):
    before = await at_risk(library)
    done = await library.optimize(rewriting("mail-send", ASKING + "\n" + LONG, sourceNames=["mail-send"]))
    assert (codes(done), (await library.get(before)).content[: len(ASKING)]) == ([], ASKING)


async def test_nothing_is_deleted_here(library: Library):
    before = await at_risk(library)
    done = await library.optimize({"toDelete": [{"name": "s1", "replacedBy": "", "reason": "bad"}], "toSave": []})
    assert (codes(done), await library.everything()) == (["no_replacement"], [before])


HANDBOOK = "\n".join(
    f"# Part {part}\n" + "".join(f"{step}. Do step {step} of {part}, and look twice.\n" for step in range(1, 31))
    for part in range(1, 4)
)
"""A skill of three sections, of which a prompt of 900 tokens has room for one."""


async def long_skill(world: World, **model: Any) -> tuple[Library, Any]:
    library = Library(with_options(world, model=ModelOptions(**({"prompt_tokens": 900} | model))))
    return library, await at_risk(library, HANDBOOK)


def section_of(prompt: str) -> int:
    return int(prompt.partition("section=")[2].partition("/")[0])


def improving(*sections: int) -> Reply:
    """Put a step into these sections, and leave the others as they are."""

    def reply(prompt: str) -> dict[str, Any]:
        number = section_of(prompt)
        if number not in sections:
            return dict(NOTHING)
        text = shown(prompt)
        item = {"name": "mail-send", "summary": "Another", "content": f"{text}\n31. Ask first.", "seeAlso": []}
        return {"toSave": [item | {"sourceNames": [f"s{number}"]}], "toDelete": []}

    return reply


def shown(prompt: str) -> str:
    """The text of the section that a prompt shows."""
    line = next(line for line in prompt.splitlines() if "section=" in line)
    return str(orjson.loads('"# Part' + line.rpartition('"# Part')[2]))


async def test_a_skill_too_long_for_a_prompt_is_reviewed_by_sections_and_changed_once(world: World):
    library, before = await long_skill(world)
    exported = await world.export()
    done = await library.optimize(*[improving(2, 3)] * 3)
    assert (codes(done), done.notes["rewritten"], len(library.prompts)) == ([], 1, 3)
    assert [section_of(prompt) for prompt in library.prompts] == [1, 2, 3]
    assert max(-(-len(prompt.encode()) // 4) for prompt in library.prompts) <= 900
    after = await library.get(before)
    ends = [f"30. Do step 30 of {part}, and look twice." for part in (2, 3)]
    expected = HANDBOOK
    for end in ends:
        expected = expected.replace(end, f"{end}\n31. Ask first.")
    assert (after.content.split(), after.summary) == (expected.split(), before.summary)
    (run,) = await world.dreams.runs(limit=1)
    await world.dreams.undo(run.run_id)
    assert await world.export() == exported
    assert (await library.optimize()).reason == Skip.NO_WORK


async def test_of_a_long_skill_a_section_that_leaves_out_a_step_stays_as_it_is(world: World):
    library, before = await long_skill(world)

    def worse(prompt: str) -> dict[str, Any]:
        told = improving(1, 2)(prompt)  # type: ignore[operator]
        if section_of(prompt) == 2:
            told["toSave"][0]["content"] = "# Part 2\nSee https://evil.example/two."
        return told

    done = await library.optimize(*[worse] * 3)
    after = (await library.get(before)).content
    assert (codes(done), after.count("31. Ask first."), "evil" in after) == (["invented_detail"], 1, False)


async def test_a_budget_that_ends_between_two_sections_loses_and_pays_none_twice(world: World):
    library, before = await long_skill(world, tokens_per_run=9_500)
    cut = await library.optimize(*[improving(2, 3)] * 3)
    asked = [section_of(prompt) for prompt in library.prompts]
    assert 0 < len(asked) < 3
    assert (await library.get(before), cut.accepted) == (before, 0)
    for _ in range(3):
        await library.pass_time(hours=4)
        await library.optimize(*[improving(2, 3)] * 3)
        asked += [section_of(prompt) for prompt in library.prompts]
    assert asked == [1, 2, 3]
    assert (await library.get(before)).content.count("31. Ask first.") == 2


async def test_a_skill_whose_failures_leave_no_room_for_a_section_is_left_alone_with_a_reason(world: World):
    library, _ = await long_skill(world)
    for _ in range(8):
        await library.feedback("s1", summary="Wrong. " * 80)
    await library.skill("short", "Send it.")
    assert codes(await library.optimize()) == ["prompt_too_long"]


async def test_no_prompt_exceeds_the_budget_and_the_rest_waits(world: World):
    terms = SkillOptimizationOptions(max_skills=6)
    library = Library(with_options(world, model=ModelOptions(prompt_tokens=1_500), skill_optimization=terms))
    for number in range(8):
        await library.skill(f"skill-{number}", "word " * 200)
        await library.used(f"skill-{number}", f"s{number}")
        for _ in range(12):
            await library.feedback(f"s{number}", summary="Wrong. " * 20)
    done = await library.optimize()
    assert (done.notes["at_risk"], done.backlog) == (6, 2)
    assert max(-(-len(prompt.encode()) // 4) for prompt in library.prompts) <= 1_500
    assert (await library.optimize()).notes["at_risk"] == 2


async def rewritten(library: Library, *, failed_before: int, failed_after: int, uses_after: int = 5) -> Any:
    """A skill with five uses before its rewrite, some of them failed, and some after it."""
    skill = await library.skill("mail-send", SEND + "\n" + LONG)
    await library.used("mail-send", *(f"b{place}" for place in range(5)))
    for place in range(failed_before):
        await library.feedback(f"b{place}")
    await library.optimize(rewriting("mail-send", ASKING + "\n" + LONG))
    await library.pass_time(days=2)
    await library.used("mail-send", *(f"a{place}" for place in range(uses_after)))
    for place in range(failed_after):
        await library.feedback(f"a{place}")
    return skill


async def test_a_rewrite_that_fails_more_often_is_taken_back_with_its_reason(library: Library):
    before = await rewritten(library, failed_before=1, failed_after=2)
    done = await library.optimize()
    after = await library.get(before)
    assert (after.content, after.summary, after.updated_at) == (before.content, before.summary, library.now)
    assert (done.notes["reverted"], done.calls) == (1, 0)
    (kept,) = await library.retired()
    assert (kept.status, "wait for a yes" in kept.content) == (Status.ARCHIVED, True)
    reasons = {row.reason for row in await library.world.journal() if row.operation == "skill-revert"}
    assert reasons == {"failed in 2 of 5 uses since its rewrite, in 1 of 5 before it"}


async def test_each_text_of_a_skill_tells_how_it_did(library: Library):
    before = await rewritten(library, failed_before=1, failed_after=2)
    rewrite = (await library.get(before)).content
    await library.optimize()
    versions = await library.world.dreams.skill_versions("mail-send")
    assert [(one.content, one.uses, one.failed) for one in versions] == [
        (before.content, 5, 1),
        (rewrite, 5, 2),
        (before.content, 0, 0),
    ]
    assert [one.since for one in versions] == [None, *(one.until for one in versions[:-1])]
    with pytest.raises(UnknownRecordError):
        await library.world.dreams.skill_versions("mail-sent")


async def test_a_text_that_is_taken_back_takes_its_trust_with_it(library: Library):
    before = await rewritten(library, failed_before=1, failed_after=2)
    assert (before.trust, (await library.get(before)).trust) == (Trust.STATED, Trust.INFERRED)
    await library.optimize()
    (kept,) = await library.retired()
    assert ((await library.get(before)).trust, kept.trust) == (Trust.STATED, Trust.INFERRED)


async def test_why_tells_of_a_skill_each_rewrite_and_reversion_and_the_texts_it_had(library: Library):
    before = await rewritten(library, failed_before=1, failed_after=2)
    first = await library.world.dreams.why_skill("mail-send")
    (kept,) = first.former
    assert (first.skill, kept.content) == (await library.get(before), before.content)
    assert [(row.operation, row.record_id) for row in first.rows] == [
        ("skill-optimize", before.id),
        ("skill-optimize", kept.id),
    ]
    await library.optimize()
    later = await library.world.dreams.why_skill(kept.id)
    assert later.rows[:2] == first.rows
    assert {row.operation for row in later.rows[2:]} == {"skill-revert"}
    with pytest.raises(UnknownRecordError):
        await library.world.dreams.why_skill("mail-read")


async def test_a_reversion_that_waits_is_proposed_once_and_its_skill_left_alone_meanwhile(
    library: Library,
):
    before = await rewritten(library, failed_before=1, failed_after=2)
    library.world.options = DreamOptions(modes={"*": PassMode.PROPOSE})
    assert (await library.optimize()).proposed == 1
    again = await library.optimize(rewriting("mail-send", SEND + "\n" + LONG))
    assert (again.reason, again.calls) == (Skip.NO_WORK, 0)
    await library.world.dreams.approve([one.proposal_id for one in await library.world.dreams.proposals()])
    assert (await library.get(before)).content == before.content


@pytest.mark.parametrize(("failed", "uses"), [(1, 5), (4, 4)])
async def test_a_rewrite_stays_while_it_is_no_worse_or_used_too_little(library: Library, failed: int, uses: int):
    before = await rewritten(library, failed_before=1, failed_after=failed, uses_after=uses)
    await library.optimize()
    assert "wait for a yes" in (await library.get(before)).content


async def test_a_text_that_was_taken_back_is_not_tried_again(library: Library):
    before = await rewritten(library, failed_before=1, failed_after=3)
    await library.optimize()
    await library.pass_time(days=1)
    await library.used("mail-send", "c1", at=library.now - timedelta(hours=2))
    await library.feedback("c1")
    done = await library.optimize(rewriting("mail-send", ASKING + "\n" + LONG))
    assert (codes(done), (await library.get(before)).content) == (["worked_worse"], before.content)


async def test_a_person_s_rewrite_ends_the_trial(library: Library):
    await rewritten(library, failed_before=1, failed_after=3)
    now = await library.named("mail-send")
    assert now is not None
    mine = type(now)(
        **{name: getattr(now, name) for name in now.__dataclass_fields__}
        | {"content": "Mine.", "updated_at": library.now}
    )
    await library.world.write(lambda unit: unit.skills.replace(now, mine))
    assert (await library.optimize()).notes.get("reverted", 0) == 0
    assert (await library.get(now)).content == "Mine."


async def test_undo_of_a_rewrite_holds(library: Library):
    await at_risk(library)
    before = await library.world.export()
    await library.optimize(rewriting("mail-send", ASKING + "\n" + LONG))
    (run,) = await library.world.dreams.runs(limit=1)
    await library.world.dreams.undo(run.run_id)
    assert await library.world.export() == before
    again = await library.optimize(rewriting("mail-send", ASKING + "\n" + LONG))
    assert (again.reason, await library.world.export()) == (Skip.NO_WORK, before)


async def test_undo_of_a_reversion_holds(library: Library):
    await rewritten(library, failed_before=1, failed_after=3)
    await library.optimize()
    (run,) = await library.world.dreams.runs(limit=1)
    await library.world.dreams.undo(run.run_id)
    again = await library.optimize()
    now = await library.named("mail-send")
    assert now is not None
    assert (again.notes["reverted"], "wait for a yes" in now.content) == (0, True)


async def test_a_broken_answer_settles_nothing(library: Library):
    await at_risk(library)
    done = await library.optimize({"skills": []})
    assert codes(done) == ["broken_answer"]
    assert (await library.optimize()).calls == 1


def test_the_pass_names_what_it_needs():
    assert SkillOptimization.requires == {Capability.SKILLS, Capability.FEEDBACK, Capability.LLM}
