"""What becomes of the preferences of an answer: entries with provenance, or refusals with a reason."""

from dataclasses import replace
from typing import Any

import pytest
from dreaming import DAY, NOW, VerifyingChatClient, World, codes
from talking import MINUTE, answering, handle_of, lines_of, talk
from wanting import SHORT, a_preference, answer, infer, shorter, signal, wanted

from agentcore.domain import FeedbackKind, Level, SourceKind, Status, Trust
from agentcore.domain.validity import day_of
from agentcore.llm import ChatRequest, Completion
from dream.domain import PassOutcome
from dream.options import PreferenceOptions
from dream.passes.preferences import PreferenceInference, needs_permission
from dream.stores import dream_stores

SAID = ("Please, shorter answers!", "I said shorter answers.", "shorter answers would be nice")


async def test_a_preference_becomes_an_inferred_entry_that_knows_where_it_comes_from(world: World):
    turns = await talk(world, *SAID[:2], occurred_at=NOW - DAY)
    report = await infer(world, shorter("t1", "t2", sentiment="frustrated", tags=["Length"], importance=0.7))
    (entry,) = await wanted(world)
    assert (entry.content, entry.category, entry.tags) == (SHORT, "user-preferences/inferred", ("inferred", "length"))
    assert (entry.level, entry.trust, entry.base, entry.own_count) == (Level.DERIVED, Trust.INFERRED, 0.7, 1)
    assert entry.metadata == {"source": "inferred"}
    assert {source.id for source in entry.sources} == {turn.id for turn in turns}
    assert (entry.created_at, entry.last_seen_at) == (turns[0].occurred_at, turns[1].occurred_at)
    assert (report.notes["new"], report.notes["need_permission"], report.notes["questions"]) == (1, 0, [])
    (row,) = await world.journal()
    assert (row.operation, row.reason) == ("prefer", 'inferred from what was shown 2 times, such as "shorter answers"')


async def test_nothing_is_a_good_answer_and_a_second_run_asks_nothing(world: World):
    await talk(world, "What is a quorum?")
    assert (await infer(world)).outcome is PassOutcome.UNCHANGED
    silent = answering(world)
    report = (await silent.run_passes(PreferenceInference())).passes[0]
    assert (report.reason, silent.chat.requests) == ("no_work", [])


@pytest.mark.parametrize(
    ("sentiment", "least"),
    [("irritated", 1), ("frustrated", 2), ("casual", 3), ("furious", 3), (None, 3), (7, 3), (["irritated"], 3)],
)
async def test_how_strongly_it_was_voiced_says_how_many_occasions_it_takes(world: World, sentiment: Any, least: int):
    for cited in range(1, 4):
        one = world.elsewhere()
        await talk(one, *SAID)
        handles = [f"t{place}" for place in range(1, cited + 1)]
        report = await infer(one, shorter(*handles, sentiment=sentiment))
        assert codes(report) == ([] if cited >= least else ["too_few_citations"]), cited
        assert len(await wanted(one)) == (cited >= least), cited


async def test_the_same_turn_twice_is_one_occasion(world: World):
    await talk(world, *SAID)
    assert codes(await infer(world, shorter("t1", "[t1]", "t1", sentiment="frustrated"))) == ["too_few_citations"]


async def test_the_assistant_is_no_occasion(world: World):
    await talk(world, "assistant: You like shorter answers?", "Yes, shorter answers.")
    report = await infer(world, shorter("t1", "t2", sentiment="frustrated"))
    assert codes(report) == ["too_few_citations"]
    assert "cites 1 of the 2" in report.refused[0].detail


@pytest.mark.parametrize(
    ("kind", "counts"),
    [(FeedbackKind.CORRECTION, True), (FeedbackKind.THUMBS_DOWN, True), (FeedbackKind.THUMBS_UP, True),
     (FeedbackKind.SESSION_SUMMARY, False), (FeedbackKind.TOOL_FAILURE, False), (FeedbackKind.WISP_CORRECTION, False)],
)  # fmt: skip
async def test_feedback_of_people_is_an_occasion(world: World, kind: FeedbackKind, counts: bool):
    await talk(world, SAID[0])
    await signal(world, kind, "wants it brief", at=NOW - DAY)

    def cite(request: ChatRequest) -> str:
        return answer(shorter("t1", handle_of(request, "wants it brief"), sentiment="frustrated"))

    report = (await answering(world, cite).run_passes(PreferenceInference())).passes[0]
    assert codes(report) == ([] if counts else ["too_few_citations"])
    kinds = {source.kind for entry in await wanted(world) for source in entry.sources}
    assert kinds == ({SourceKind.TURN, SourceKind.FEEDBACK} if counts else set())


async def test_a_correction_that_was_made_of_a_cited_turn_is_not_counted_twice(world: World):
    await talk(world, SAID[0], session="s1")
    await signal(world, FeedbackKind.CORRECTION, f"The user said: {SAID[0]}", session_id="s1")

    def cite(request: ChatRequest) -> str:
        return answer(shorter("t1", handle_of(request, "The user said"), sentiment="frustrated"))

    assert codes((await answering(world, cite).run_passes(PreferenceInference())).passes[0]) == ["too_few_citations"]


async def test_the_newest_feedback_of_seven_days_is_shown(world: World):
    await talk(world, SAID[0])
    for day in range(9, 0, -1):
        await signal(world, FeedbackKind.CORRECTION, f"fault {day}", at=NOW - day * DAY)
    heard = answering(world, answer(), preferences=PreferenceOptions(max_feedback=3))
    await heard.run_passes(PreferenceInference())
    shown = [line.split()[-1].strip('"') for line in lines_of(heard.chat.requests[0], "f")]
    assert shown == ["3", "2", "1"]


async def test_occasions_that_an_earlier_run_read_still_count_for_seven_days(world: World):
    await talk(world, "shorter answers, I forgot to say", session="old", occurred_at=NOW - 8 * DAY)
    await talk(world, SAID[0], session="a")
    assert codes(await infer(world, shorter("t1", sentiment="frustrated"))) == ["too_few_citations"]
    world.clock.advance(2 * DAY)
    await talk(world, SAID[1], session="b")

    def cite(request: ChatRequest) -> str:
        earlier = [line for line in lines_of(request, "t") if " read-before " in line]
        assert ["Please" in line for line in earlier] == [True]
        return answer(shorter("t1", handle_of(request, "Please"), sentiment="frustrated"))

    assert codes((await answering(world, cite).run_passes(PreferenceInference())).passes[0]) == []
    (entry,) = await wanted(world)
    assert (entry.created_at, entry.last_seen_at) == (NOW, NOW + 2 * DAY)


CASUAL = (
    "I only do metric.",
    "How far is it? In metres please.",
    "And the oven? In celsius.",
    "The run was 12 km of course.",
)


async def test_casual_occasions_in_other_words_and_dreams_are_counted_together(world: World):
    for place, text in enumerate(CASUAL[:2]):
        await talk(world, text, session=f"s{place}")
        await infer(world)
        world.clock.advance(DAY)
    await talk(world, CASUAL[2], session="s2")

    def cite(request: ChatRequest) -> str:
        cited = [handle_of(request, text) for text in CASUAL[:3]]
        return answer(a_preference("Ana prefers metric.", *cited, quote="I only do metric", sentiment="casual"))

    report = (await answering(world, cite).run_passes(PreferenceInference())).passes[0]
    assert (codes(report), [entry.content for entry in await wanted(world)]) == ([], ["Ana prefers metric."])


async def test_the_newest_earlier_turns_fill_what_room_is_left(world: World):
    for place in range(60):
        await talk(world, f"Wish {place}: {'word ' * 20}", session=f"s{place}", occurred_at=NOW - (60 - place) * MINUTE)
    await infer(world)
    await talk(world, "Something else.", session="new")
    bounded = world.options.model.replace(prompt_tokens=3_000)
    heard = answering(world, answer(), model=bounded)
    await heard.run_passes(PreferenceInference())
    (request,) = heard.chat.requests
    shown = [int(line.partition("Wish ")[2].partition(":")[0]) for line in lines_of(request, "t") if "Wish" in line]
    assert 5 < len(shown) < 60
    assert shown == [*range(60 - len(shown), 60)]
    assert len(request.messages[1].content.encode()) / 4 <= 3_000


async def test_feedback_is_shown_as_long_as_the_turns_beside_it_are(world: World):
    long_ago = NOW - 400 * DAY
    await talk(world, SAID[0], session="old", occurred_at=long_ago)
    await signal(world, FeedbackKind.CORRECTION, "Shorter, I said!", at=long_ago, session_id="old")
    await signal(world, FeedbackKind.CORRECTION, "Before that talk.", at=long_ago - DAY)

    def cite(request: ChatRequest) -> str:
        assert len(lines_of(request, "f")) == 1
        cited = ("t1", handle_of(request, "Shorter, I said!"))
        return answer(shorter(*cited, sentiment="frustrated"))

    report = (await answering(world, cite).run_passes(PreferenceInference())).passes[0]
    assert (codes(report), len(await wanted(world))) == ([], 1)


async def test_of_much_feedback_that_of_the_sessions_shown_comes_first(world: World):
    long_ago = NOW - 400 * DAY
    await talk(world, SAID[0], session="old", occurred_at=long_ago)
    await signal(world, FeedbackKind.CORRECTION, "Shorter, I said!", at=long_ago, session_id="old")
    for day in range(5):
        await signal(world, FeedbackKind.CORRECTION, f"fault {day}", at=NOW - day * DAY)
    heard = answering(world, answer(), preferences=PreferenceOptions(max_feedback=3))
    await heard.run_passes(PreferenceInference())
    shown = [line.partition(' "')[2].strip('"') for line in lines_of(heard.chat.requests[0], "f")]
    assert shown == ["Shorter, I said!", "fault 1", "fault 0"]


async def test_consumed_turns_are_occasions_too(world: World):
    (turn,) = await talk(world, SAID[0], session="a")
    await infer(world)
    await world.write(lambda unit: unit.turns.mark_consumed([turn.id], NOW))
    await talk(world, SAID[1], session="b")
    heard = answering(world, answer())
    await heard.run_passes(PreferenceInference())
    assert any("read-before" in line and "Please" in line for line in lines_of(heard.chat.requests[0], "t"))


async def test_earlier_turns_alone_are_no_reason(world: World):
    await talk(world, SAID[0], session="a")
    await infer(world)
    await talk(world, "More answers about the weather!", session="b")

    def cite(request: ChatRequest) -> str:
        return answer(shorter(handle_of(request, "Please")))

    assert codes((await answering(world, cite).run_passes(PreferenceInference())).passes[0]) == ["no_sources"]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown source": ({"sourceIds": ["t1", "f99"]}, "unknown_handle"),
    "no source": ({"sourceIds": []}, "no_sources"),
    "sources as text": ({"sourceIds": "t1"}, "no_sources"),
    "an unknown preference": ({"existing": "e99"}, "unknown_handle"),
    "a contradiction of nothing": ({"supersedes": "e99"}, "unknown_handle"),
    "a contradiction that is no handle": ({"supersedes": 1}, "unknown_handle"),
    "a quote that nobody said": ({"quote": "longer answers"}, "quote_not_found"),
    "a quote of the assistant": ({"sourceIds": ["t2", "t3"], "quote": "emoji are fun"}, "quote_not_found"),
    "the assistant alone": ({"sourceIds": ["t2"], "quote": "emoji are fun"}, "not_evidence"),
    "a number from nowhere": ({"content": "Ana prefers answers of 3 lines."}, "invented_detail"),
    "a name from nowhere": ({"content": "Ana prefers shorter answers about Zoltan."}, "invented_detail"),
    "what a second reading denies": ({"content": "Ana wants long tables.", "sourceIds": ["t4", "t5"],
                                      "quote": "no long tables"}, "denied"),
    "two wishes": ({"content": "Ana wants short answers. She likes tables."}, "split_it"),
    "blank content": ({"content": ""}, "invalid_content"),
    "a secret": ({"content": "Ana's password is hunter2.", "sourceIds": ["t4"], "quote": "password is hunter2"},
                 "secret"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
async def test_a_preference_that_does_not_hold_is_refused_alone(world: World, case: str):
    await talk(
        world,
        SAID[0],
        "assistant: emoji are fun",
        "Maybe.",
        "My password is hunter2, use metric units.",
        "And no long tables.",
    )
    fields, code = REFUSED[case]
    good = a_preference("Ana prefers metric units.", "t4", quote="use metric units")
    report = await infer(world, shorter() | fields, good, denies=["wants long tables"])
    assert codes(report) == [code]
    assert [entry.content for entry in await wanted(world)] == ["Ana prefers metric units."]
    assert "hunter2" not in report.refused[0].detail


async def test_a_deletion_without_a_successor_is_refused(world: World):
    await world.add("Ana prefers tea.", category="user-preferences/inferred")
    await talk(world, SAID[0])
    heard = answering(world, answer(toDelete=["e2"]))
    report = (await heard.run_passes(PreferenceInference())).passes[0]
    assert (codes(report), len(await wanted(world))) == (["no_successor"], 1)


@pytest.mark.parametrize(
    ("text", "asks"),
    [("Ana prefers shorter answers about her bank", True), ("Ana prefers shorter answers", False)],
)
async def test_money_needs_permission_whatever_the_model_says(world: World, text: str, asks: bool):
    await talk(world, "Please, shorter answers about my bank and all!")
    report = await infer(world, a_preference(text, quote="shorter answers"))
    marks = [entry.metadata.get("requires_user_permission") for entry in await wanted(world)]
    assert (marks, report.notes["need_permission"]) == (["true" if asks else None], int(asks))


@pytest.mark.parametrize(("said", "asks"), [(True, True), ("yes", True), (1, True), ({}, True), (None, False),
                                            ("false", False), (False, False)])  # fmt: skip
async def test_the_model_may_ask_for_permission_too(world: World, said: Any, asks: bool):
    await talk(world, SAID[0])
    await infer(world, shorter(requiresUserPermission=said))
    (entry,) = await wanted(world)
    assert ("requires_user_permission" in entry.metadata) is asks


TOUCHY = (
    "wants the Passwörter kept in a vault", "wants to log in by hand", "stores credentials elsewhere",
    "quiere que guarde la contraseña", "prefere pagar depois", "möchte Überweisungen selbst freigeben",
    "préfère payer par virement", "mot de passe", "用密码", "パスワード", "never buys without asking", "at most 30 €",
    "двоеточие и деньги", "uses 2FA", "API key rotation", "wants invoices as PDF", "Datenschutz zuerst",
)  # fmt: skip
PLAIN = (
    "prefers shorter answers", "wants tables", "mag kurze Antworten", "prefers paydirt novels", "likes metric units",
    "préfère le thé", "prefers dark mode", "quiere respuestas breves", "liest gern am Abend", "wants no emoji",
)  # fmt: skip


@pytest.mark.parametrize("text", TOUCHY)
def test_security_credentials_and_money_are_found_in_several_languages(text: str):
    assert needs_permission(text)


@pytest.mark.parametrize("text", PLAIN)
def test_other_preferences_need_no_permission(text: str):
    assert not needs_permission(text)


async def test_what_is_shown_again_is_seen_again_with_one_occasion(world: World):
    await talk(world, SAID[0])
    await infer(world, shorter())
    world.clock.advance(DAY)
    await talk(world, "again: shorter answers", session="s2")
    report = await infer(world, shorter("t1", sentiment="casual", quote="shorter answers"))
    assert codes(report) == ["too_few_citations"]
    await talk(world, "and once more: shorter answers", session="s3")

    def point(request: ChatRequest) -> str:
        known = {"existing": handle_of(request, SHORT), "sourceIds": ["t1"], "quote": "shorter answers"}
        return answer(known)

    report = (await answering(world, point).run_passes(PreferenceInference())).passes[0]
    (entry,) = await wanted(world)
    assert (report.notes["reinforced"], entry.own_count, entry.last_seen_at) == (1, 2, NOW + DAY)


async def test_an_equal_text_is_seen_again(world: World):
    await talk(world, SAID[0])
    await infer(world, shorter())
    await talk(world, SAID[1], session="s2")
    report = await infer(world, shorter())
    assert (report.notes["reinforced"], [entry.own_count for entry in await wanted(world)]) == (1, [2])


async def test_the_same_answer_about_the_same_turns_changes_nothing(world: World):
    await talk(world, SAID[0])
    await infer(world, shorter())
    before = await wanted(world)
    for told in (shorter(), shorter() | {"content": "Ana prefers the shorter answers"}):
        # As after a lost cursor: the pass reads the turns again.
        await world.write(lambda unit: dream_stores(unit).cursors.move("preferences", None))
        assert (await infer(world, told)).notes["known"] == 1
    assert await wanted(world) == before


async def contradict(world: World, text: str = "Ana prefers longer answers.", **fields: Any) -> Any:
    """Have the model replace the shorter answers."""
    await talk(world, "No! longer answers, please.", session="s9", **fields)

    def replace_it(request: ChatRequest) -> str:
        return answer(a_preference(text, quote="longer answers", supersedes=handle_of(request, SHORT)))

    return (await answering(world, replace_it).run_passes(PreferenceInference())).passes[0]


async def test_a_contradicted_preference_is_superseded_and_not_doubled(world: World):
    await talk(world, SAID[0])
    await infer(world, shorter(requiresUserPermission=True, importance=0.3))
    (old,) = await wanted(world)
    world.clock.advance(2 * DAY)
    report = await contradict(world)
    (new,) = await wanted(world)
    gone = await world.get(old)
    assert (codes(report), report.notes["superseded"]) == ([], 1)
    assert (gone.status, gone.successor, gone.status_reason) == (
        Status.SUPERSEDED, new.id, f"contradicted by {new.id}",
    )  # fmt: skip
    assert (new.content, new.base) == ("Ana prefers longer answers.", 0.3)
    assert gone.valid_until == day_of(new.created_at)
    # The mark that protects the user outlives the text.
    assert new.metadata["requires_user_permission"] == "true"
    run = (await world.dreams.runs())[0]
    await world.dreams.undo(run.run_id)
    assert await wanted(world) == [old]


async def test_a_close_call_becomes_a_question(world: World):
    await talk(world, SAID[0])
    await infer(world, shorter())
    (old,) = await wanted(world)
    report = await contradict(world)
    assert (codes(report), await wanted(world)) == (["close_call"], [old])
    assert [question["entries"] for question in report.notes["questions"]] == [[old.id]]


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"trust": Trust.STATED}, "weaker_evidence"), ({"own_count": 3}, "weaker_evidence"),
     ({"pinned": True}, "protected_entry")],
)  # fmt: skip
async def test_a_preference_that_is_better_founded_stays(world: World, fields: dict[str, Any], code: str):
    usual = {"category": "user-preferences/inferred", "trust": Trust.INFERRED, "created_at": NOW - 3 * DAY}
    (old,) = await world.add(SHORT, **(usual | fields))
    report = await contradict(world)
    assert (codes(report), await wanted(world)) == ([code], [old])


async def test_what_has_nothing_to_do_with_it_is_not_superseded(world: World):
    (old,) = await world.add(SHORT, category="user-preferences/inferred", trust=Trust.INFERRED)
    await talk(world, "Use metric units!")

    def replace_it(request: ChatRequest) -> str:
        known = lines_of(request, "e")[0][1:].partition("]")[0]
        return answer(a_preference("The user wants metric units.", quote="metric units", supersedes=known))

    report = (await answering(world, replace_it).run_passes(PreferenceInference())).passes[0]
    assert (codes(report), await wanted(world)) == (["unrelated"], [old])


async def test_a_preference_that_changed_meanwhile_is_stale(world: World):
    (old,) = await world.add(SHORT, category="user-preferences/inferred", trust=Trust.INFERRED,
                             created_at=NOW - 3 * DAY)  # fmt: skip
    await talk(world, "No! longer answers, please.")

    def answered(request: ChatRequest) -> str:
        known = handle_of(request, SHORT)
        return answer(a_preference("No longer answers, please.", quote="longer answers", supersedes=known))

    class Changing(VerifyingChatClient):
        """Answers once the preference is rewritten."""

        async def complete(self, request: ChatRequest) -> Completion:
            completion = await super().complete(request)
            await world.change(old, content="Ana prefers shorter answers at night.")
            return completion

    heard = replace(world, chat=Changing([answered]))
    report = (await heard.run_passes(PreferenceInference())).passes[0]
    assert (codes(report), len(await wanted(world))) == (["stale_source"], 1)


async def test_what_people_took_back_or_forgot_stays_away(world: World):
    await talk(world, SAID[0])
    await infer(world, shorter())
    await world.dreams.undo((await world.dreams.runs())[0].run_id)
    assert codes(await infer(world, shorter())) == ["undone_by_person"]
    other = world.elsewhere()
    content = "Ana prefers shorter answers without tables, emojis, greetings, long lists and closing questions."
    long = shorter() | {"content": content}
    await talk(other, SAID[0])
    await infer(other, long)
    await other.memory.forget((await wanted(other))[0].id)
    await talk(other, SAID[1], session="s2")
    assert codes(await infer(other, long)) == ["forgotten"]


@pytest.mark.parametrize("trust", [Trust.UNTRUSTED, Trust.INFERRED, Trust.STATED])
async def test_it_is_trusted_no_more_than_its_sources_and_never_more_than_an_inference(world: World, trust: Trust):
    await talk(world, SAID[0], trust=trust)
    await infer(world, shorter())
    assert [entry.trust for entry in await wanted(world)] == [min(trust, Trust.INFERRED)]


@pytest.mark.parametrize("text", ['{"preferences": []}', '{"toSave": "none"}', answer(*[shorter()] * 51)])
async def test_an_answer_in_another_shape_is_refused_whole_and_its_turns_are_read_again(world: World, text: str):
    await talk(world, SAID[0])
    heard = answering(world, text, answer(shorter()))
    report = (await heard.run_passes(PreferenceInference())).passes[0]
    assert (codes(report), report.backlog) == (["broken_answer"], 1)
    await heard.run_passes(PreferenceInference())
    assert len(await wanted(world)) == 1


async def test_no_prompt_is_longer_than_the_options_allow(world: World):
    await world.add(*[f"Ana prefers shorter answers about topic {n}." for n in range(200)],
                    category="user-preferences/inferred")  # fmt: skip
    for n in range(60):
        await signal(world, FeedbackKind.CORRECTION, f"shorter answers, case {n} " * 20)
        await talk(world, *[f"shorter answers, please, for case {n} and {m}" for m in range(5)], session=f"s{n}")
    bounded = world.options.model.replace(prompt_tokens=2_000)
    heard = answering(world, *[answer()] * 60, model=bounded)
    await heard.run_passes(PreferenceInference())
    assert len(heard.chat.requests) > 5
    assert max(len(request.messages[1].content.encode()) / 4 for request in heard.chat.requests) <= 2_000
    for request in heard.chat.requests:
        assert all(lines_of(request, letter) for letter in "tfe")
