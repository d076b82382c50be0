"""Corrections become anti-patterns that cite them."""

from typing import Any

import pytest
from consolidating import NOTHING, Shown, dream, lines
from dreaming import DAY, NOW, World, codes

from agentcore.domain import Feedback, FeedbackKind, Level, MemoryEntry, SourceKind, SourceRef, Trust
from dream.domain import Refused, Skip

REPLY = "No, never answer to all in Outlook, only to the sender."
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


async def test_what_the_feedback_does_not_say_is_not_learned(world: World):
    await give(world, REPLY)
    report, _ = await dream(world, learn("Never write to Mallory in Outlook.", REPLY), repairs=0)
    assert (codes(report), await learned(world)) == ([Refused.INVENTED_DETAIL], [])


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("that's wrong, use zgrep for the .gz logs", "When searching .gz logs, don't use plain grep; use zgrep."),
        ("Actually, always run the tests before committing", "Don't commit without running the tests first."),
        ("No, show me the draft before you send it!", "Never send an email before the user has seen the draft."),
        ("You replied in English. Reply in Portuguese.", "Don't reply in English; reply in Portuguese."),
        ("Deploy only after the tests passed.", "Never deploy before the tests have passed."),
        ("Use `pnpm`, not npm, in this repository.", "Don't use npm in this repository; use pnpm."),
        ("Wrong, the meeting is on Tuesday.", "Don't assume a day for the meeting without checking; it is on Tuesday."),
        ("That doesn't work, run it with sudo.", "Don't run it without sudo."),
        ("Why did you book a flight? I asked for the train.", "Don't book a flight when the user asks for a train."),
        ("Nein, benutze zgrep für die .gz-Logs.", "Für .gz-Logs nicht grep benutzen, sondern zgrep."),
        ("Não, usa o zgrep nos logs .gz.", "Nunca uses o grep nos logs .gz; usa o zgrep."),
        ("no, the report goes out as HTML, not as a PDF", "Don't send the report as a PDF; send it as HTML."),
        ("Use single quotes in JS, eslint complains about double ones", "No double quotes in JS; use single quotes."),
        ("it's the footer you should leave out", "Don't put a footer in."),
        ("Stop putting my surname in the file names!", "Don't put the user's surname in file names."),
        ("no, sort by date, not by name", "Don't sort by name; sort by date."),
        ("Nein, Termine nie am Mittwoch, lieber donnerstags", "Termine nicht am Mittwoch, sondern am Donnerstag."),
        ("Die Liste nicht alphabetisch sortieren, sondern nach Gang", "Die Liste nicht alphabetisch sortieren."),
        ("Gebruik het nieuwe sjabloon, niet het oude", "Gebruik niet het oude sjabloon, maar het nieuwe."),
        ("usa sempre il tu, non il lei, con i clienti", "Con i clienti non usare il lei; usare il tu."),
        ("para de reiniciar o roteador", "Nunca reiniciar o roteador."),
        ("Non, il faut demander avant d'envoyer.", "N'envoie jamais rien sans demander avant."),
    ],
)
async def test_what_a_rule_forbids_is_its_point(world: World, said: str, rule: str):
    await give(world, said)
    report, _ = await dream(world, learn(rule, said))
    assert (codes(report), [entry.content for entry in await learned(world)]) == ([], [rule])


async def test_a_title_above_the_details_may_name_the_mistake(world: World):
    (said,) = await give(world, '"2 pm" in a mail', detail="Third time: 14:00.")
    rule = "Times in mails are written as 14:00 instead of 2 pm."
    report, _ = await dream(world, learn(rule, f"{said.summary}\n{said.detail}"))
    assert (codes(report), [entry.content for entry in await learned(world)]) == ([], [rule])


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("that's wrong, use zgrep for the .gz logs", "Don't use zgrep; use grep."),
        ("that's wrong, use zgrep for the .gz logs", "Use grep instead of zgrep for .gz logs."),
        ("that's wrong, use zgrep for the .gz logs", "zgrep must not be used for .gz logs."),
        ("Actually, always run the tests before committing", "Don't run the tests before committing."),
        ("No, show me the draft before you send it!", "Never show the draft to the user before sending it."),
        ("You replied in English. Reply in Portuguese.", "Don't reply in Portuguese; reply in English."),
        ("Deploy only after the tests passed.", "Don't deploy after the tests passed."),
        ("Use `pnpm`, not npm, in this repository.", "Don't use pnpm in this repository; use npm."),
        ("That doesn't work, run it with sudo.", "Don't run it with sudo."),
        ("No, never answer to all in Outlook, only to the sender.", "Do not answer only to the sender."),
        ("I told you to book the aisle seat.", "Avoid booking the aisle seat."),
        ("Nein, benutze zgrep für die .gz-Logs.", "Für .gz-Logs zgrep nicht benutzen."),
        ("Não, usa o zgrep nos logs .gz.", "Nunca uses o zgrep nos logs .gz."),
        ("no, the report goes out as HTML, not as a PDF", "Don't send the report as HTML; send it as a PDF."),
        ("use tar for the archive, zip drops the permissions", "Don't use tar for archives; use zip."),
        ("use tar for the archive, zip drops the permissions", "Don't use rar for archives; use tar."),
        ("we format with ruff here, not with black", "Don't format with black; format with prettier."),
        ("the heading was fine, it's the footer you should leave out", "Don't put a heading in."),
        ("Don't reply to Bob's newsletter mails", "Never reply to mails."),
        ("you shortened the quotes again", "Never shorten any text."),
        ("I don't want the weather in my morning briefing", "Don't include the news in the morning briefing."),
        ("No upsell offers when someone writes of a funeral", "No upsell offers when someone writes of a birthday."),
        ("Nein, Termine nie am Mittwoch, lieber donnerstags", "Termine nicht am Donnerstag, sondern am Mittwoch."),
        ("Die Post an den Vorstand, nicht an den Kassenwart", "Post nicht an den Vorstand, sondern den Kassenwart."),
        ("Verstuur het op maandag, vrijdag leest niemand het", "Verstuur het niet op maandag, maar op vrijdag."),
        ("Gebruik het nieuwe sjabloon, niet het oude", "Gebruik niet het nieuwe sjabloon, maar het oude."),
        ("Arrête d'envoyer les rappels par SMS aux parents", "Ne plus envoyer de rappels."),
        ("No, no borres los correos, archívalos", "No archivar los correos; borrarlos."),
        ("mi hai tolto il riso dalla lista", "Non mettere il riso nella lista."),
        ("usa sempre il tu, non il lei, con i clienti", "Con i clienti non usare il tu; usare il lei."),
        ("Non, il faut demander avant d'envoyer.", "Ne demande pas avant d'envoyer."),
        ("用zgrep查日志", "不要用zgrep查日志"),
    ],
)
async def test_a_rule_that_forbids_what_was_asked_for_is_not_learned(world: World, said: str, rule: str):
    await give(world, said)
    report, _ = await dream(world, learn(rule, said), repairs=0)
    assert (codes(report), await learned(world)) == ([Refused.INVENTED_DETAIL], [])


async def test_what_it_made_up_can_be_repaired(world: World):
    await give(world, REPLY)
    _, requests = await dream(world, learn("Never write to Mallory in Outlook.", REPLY), learn(RULE, REPLY))
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
