"""Corrections become anti-patterns that cite them."""

from typing import Any

import pytest
from consolidating import NOTHING, Shown, dream, lines
from dreaming import DAY, NOW, World, codes

from agentcore.domain import EvidenceVerdict, Feedback, FeedbackKind, Level, MemoryEntry, SourceKind, SourceRef, Trust
from dream.domain import Refused, Skip
from dream.options import VerificationMode

REPLY = "No, never answer to all in Outlook, only to the sender."
WIDER = "Never answer to anybody in Outlook."
RULE = "Answering to all in Outlook annoyed the person: answer only to the sender."


async def give(world: World, *summaries: str, **fields: Any) -> list[Feedback]:
    said = fields.pop("occurred_at", world.clock.now())
    found = [
        Feedback(
            **{"id": world.ids.new(), "scope": world.scope, "session_id": "s", "kind": FeedbackKind.CORRECTION}
            | {"summary": text, "occurred_at": said, "recorded_at": world.clock.now()}
            | fields
        )
        for text in summaries
    ]
    await world.write(lambda unit: unit.feedback.append(found))
    return found


def learn(content: str, *texts: str, **fields: Any) -> Any:
    def answer(shown: Shown) -> dict[str, object]:
        sources = [shown.get(text, text) for text in texts]
        item = {"content": content, "category": "anti-patterns/email", "sourceIds": sources} | fields
        return {"toDelete": [], "toSave": [item]}

    return answer


async def learned(world: World) -> list[MemoryEntry]:
    return [entry for entry in await world.active() if entry.category.startswith("anti-patterns/")]


async def test_a_correction_becomes_an_anti_pattern_that_cites_it(world: World):
    (said,) = await give(world, REPLY, occurred_at=NOW - DAY)
    report, requests = await dream(world, learn(RULE, REPLY))
    (entry,) = await learned(world)
    assert (entry.content, entry.category, entry.level) == (RULE, "anti-patterns/email", Level.DERIVED)
    assert entry.sources == (SourceRef(SourceKind.FEEDBACK, said.id),)
    assert (entry.trust, entry.created_at, entry.recorded_at) == (Trust.STATED, NOW - DAY, NOW)
    assert report.notes["learned"] == 1
    assert lines(requests[0])[REPLY] == "kind=correction date=2025-06-13"


async def test_feedback_has_a_call_of_its_own(world: World):
    await world.add("Ana likes tea.")
    await give(world, REPLY)
    _, requests = await dream(world, NOTHING, NOTHING)
    assert sorted([*lines(request)] for request in requests) == [["Ana likes tea."], [REPLY]]


async def test_feedback_is_mined_once(world: World):
    await give(world, REPLY)
    await dream(world, NOTHING)
    report, requests = await dream(world)
    assert (requests, report.reason) == ([], Skip.NO_WORK)
    world.clock.advance(DAY)
    await give(world, "Wrong again.")
    _, requests = await dream(world, NOTHING)
    assert set(lines(requests[0])) == {"Wrong again."}


async def test_an_answer_in_another_shape_leaves_it_to_the_next_run(world: World):
    await give(world, REPLY)
    report, _ = await dream(world, {"facts": []})
    assert codes(report) == [Refused.BROKEN_ANSWER]
    await dream(world, learn(RULE, REPLY))
    assert len(await learned(world)) == 1


async def test_old_feedback_is_left_alone(world: World):
    await give(world, REPLY, occurred_at=NOW - 8 * DAY)
    assert (await dream(world))[0].reason == Skip.NO_WORK


async def test_of_much_feedback_the_newest_is_mined(world: World):
    for place in range(5):
        await give(world, f"wrong {place}", occurred_at=NOW - (5 - place) * DAY)
    _, requests = await dream(world, NOTHING, max_feedback=2)
    assert set(lines(requests[0])) == {"wrong 3", "wrong 4"}
    assert (await dream(world, max_feedback=0))[0].reason == Skip.NO_WORK


async def test_what_one_prompt_has_no_room_for_waits(world: World):
    for place in range(4):
        await give(world, f"wrong {place}", detail="word " * 150)
        world.clock.advance(DAY / 100)
    world.options = world.options.replace(model=world.options.model.replace(prompt_tokens=800))
    seen: list[str] = []
    for _ in range(4):
        report, requests = await dream(world, NOTHING)
        seen += [text.split("\n")[0] for request in requests for text in lines(request)]
        if not report.backlog:
            break
    assert seen == [f"wrong {place}" for place in range(4)]


async def test_a_rule_that_a_second_reader_does_not_find_in_the_feedback_is_not_learned(world: World):
    await give(world, REPLY)
    report, _ = await dream(world, learn(WIDER, REPLY), denies=[WIDER], repairs=0)
    assert (codes(report), await learned(world)) == ([Refused.DENIED], [])


async def test_a_rule_in_the_words_of_the_correction_needs_no_second_reading(world: World):
    await give(world, REPLY)
    world.options = world.options.replace(verification=VerificationMode.OFF)
    await dream(world, learn(REPLY, REPLY))
    (rule,) = await learned(world)
    assert (rule.content, rule.verdict) == (REPLY, EvidenceVerdict.PROVEN)


async def test_a_rule_in_other_words_is_learned_only_if_it_is_read_a_second_time(world: World):
    await give(world, REPLY)
    world.options = world.options.replace(verification=VerificationMode.OFF)
    await dream(world, learn(RULE, REPLY))
    assert await learned(world) == []


async def test_a_rule_keeps_the_words_that_it_was_learned_from(world: World):
    (said,) = await give(world, REPLY)
    await dream(world, learn(RULE, REPLY))
    (rule,) = await learned(world)
    (evidence,) = rule.evidence
    assert (evidence.sentence, evidence.verdict) == (REPLY, EvidenceVerdict.VERIFIED)
    assert evidence.source == SourceRef(SourceKind.FEEDBACK, said.id)


async def test_a_title_above_the_details_proves_nothing(world: World):
    (said,) = await give(world, "Answer to all.", detail="Never do this in Outlook again.")
    report, _ = await dream(
        world, learn(said.summary, f"{said.summary}\n{said.detail}"), denies=[said.summary], repairs=0
    )
    assert (codes(report), await learned(world)) == ([Refused.DENIED], [])


async def test_a_secret_is_not_learned(world: World):
    told = "No, the password is hunter2hunter2!"
    await give(world, told)
    report, _ = await dream(world, learn(told, told))
    assert (codes(report), await learned(world)) == ([Refused.SECRET], [])


async def test_a_denied_rule_can_be_repaired(world: World):
    await give(world, REPLY)
    _, requests = await dream(world, learn(WIDER, REPLY), learn(RULE, REPLY), denies=[WIDER])
    assert len(requests) == 2
    assert [entry.content for entry in await learned(world)] == [RULE]


async def test_a_rule_may_leave_out_what_its_occasion_was_about(world: World):
    await give(world, "No, the invoice of 12 May went to the wrong Rui.")
    await dream(world, learn("Check who the invoice is for.", "No, the invoice of 12 May went to the wrong Rui."))
    assert len(await learned(world)) == 1


@pytest.mark.parametrize(
    ("kind", "trust"),
    [
        (FeedbackKind.CORRECTION, Trust.STATED),
        (FeedbackKind.THUMBS_DOWN, Trust.STATED),
        (FeedbackKind.WISP_CORRECTION, Trust.INFERRED),
        (FeedbackKind.TOOL_FAILURE, Trust.UNTRUSTED),
    ],
)
async def test_a_rule_is_trusted_as_the_feedback_it_cites(world: World, kind: FeedbackKind, trust: Trust):
    await give(world, REPLY, kind=kind)
    await dream(world, learn(RULE, REPLY))
    assert [entry.trust for entry in await learned(world)] == [trust]


@pytest.mark.parametrize("kind", [FeedbackKind.SESSION_SUMMARY, FeedbackKind.THUMBS_UP])
async def test_praise_and_a_models_summary_show_no_mistake_and_cost_no_call(world: World, kind: FeedbackKind):
    await give(world, REPLY, kind=kind)
    report, requests = await dream(world)
    assert (requests, report.reason) == ([], Skip.NO_WORK)
    await give(world, "Wrong again.")
    _, requests = await dream(world, NOTHING)
    assert set(lines(requests[0])) == {"Wrong again."}


@pytest.mark.parametrize(
    ("sources", "code"),
    [((), Refused.NO_SOURCES), (("f9",), Refused.UNKNOWN_HANDLE), (("e1",), Refused.UNKNOWN_HANDLE)],
)
async def test_a_rule_that_cites_nothing_shown_is_not_learned(world: World, sources: tuple[str, ...], code: Refused):
    await give(world, REPLY)
    report, _ = await dream(world, learn(RULE, *sources))
    assert (codes(report), await learned(world)) == ([code], [])


@pytest.mark.parametrize(
    ("category", "filed"),
    [
        (None, "anti-patterns/general"),
        ("anti-patterns", "anti-patterns/general"),
        ("email", "anti-patterns/email"),
        ("active-plans", "anti-patterns/active-plans"),
    ],
)
async def test_a_rule_is_filed_among_the_anti_patterns(world: World, category: str | None, filed: str):
    await give(world, REPLY)
    await dream(world, learn(RULE, REPLY, category=category))
    assert [entry.category for entry in await learned(world)] == [filed]


async def test_a_rule_that_is_known_is_not_learned_twice(world: World):
    await give(world, REPLY)
    await dream(world, learn(RULE, REPLY))
    world.clock.advance(DAY)
    await give(world, REPLY + " Please.")
    report, _ = await dream(world, learn(RULE, REPLY + " Please."))
    assert (len(await learned(world)), report.accepted) == (1, 0)


async def test_feedback_deletes_nothing(world: World):
    (tea,) = await world.add("Ana likes tea.")
    await dream(world, NOTHING)
    await give(world, REPLY)

    def answer(shown: Shown) -> dict[str, object]:
        return {"toDelete": ["e1", shown[REPLY]][:1], "toSave": []}

    await dream(world, answer)
    assert (await world.get(tea)).is_active


async def test_an_undone_rule_is_not_learned_again(world: World):
    await give(world, REPLY)
    before = await world.export()
    await dream(world, learn(RULE, REPLY))
    await world.dreams.undo((await world.dreams.runs())[0].run_id)
    assert await world.export() == before
    report, _ = await dream(world, learn(RULE, REPLY))
    assert codes(report) == [Refused.UNDONE_BY_PERSON]
