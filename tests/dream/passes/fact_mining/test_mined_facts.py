"""What becomes of the facts of an answer: entries with provenance, or refusals with a reason."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from dreaming import DAY, NOW, World, codes
from mining import MINUTE, a_fact, a_turn, answer, contents, hearing, lines_of, mine, talk

from agentcore.domain import Level, SourceKind, SourceRef, Trust
from dream.domain import PassOutcome
from dream.passes.fact_mining import FactMining

LISBON = a_fact("Ana moved to Lisbon on 13 June 2025.", "t1", quote="moved to Lisbon", category="people/ana")


async def test_a_fact_becomes_an_entry_that_knows_where_it_comes_from(world: World):
    (turn,) = await talk(world, "I moved to Lisbon yesterday!", occurred_at=NOW - timedelta(hours=2))
    fact = LISBON | {"tags": ["Home", "moving"], "importance": 0.7}
    report = await mine(world, fact)
    (entry,) = await world.active()
    assert (entry.content, entry.category, entry.tags) == (fact["content"], "people/ana", ("home", "moving"))
    assert (entry.created_at, entry.last_seen_at, entry.recorded_at) == (turn.occurred_at, turn.occurred_at, NOW)
    assert (entry.level, entry.trust, entry.base, entry.own_count) == (Level.EXPLICIT, Trust.STATED, 0.7, 1)
    assert entry.sources == (SourceRef(SourceKind.TURN, turn.id),)
    assert report.notes == {"turns": 1, "sessions": 1, "facts_found": 1, "new": 1, "reinforced": 0, "known": 0,
                            "categories_repaired": 0, "subject_times_dropped": 0, "verbatim": 0, "repairs": 0,
                            "repaired": 0, "read_again": 1, "denied": 0}  # fmt: skip
    (row,) = await world.journal()
    assert (row.operation, row.reason) == ("mine", 'said by Ana on 14 June 2025: "moved to Lisbon"')


async def test_no_facts_is_a_good_answer(world: World):
    await talk(world, "What a lovely day!")
    report = await mine(world)
    assert (report.outcome, codes(report), await world.active()) == (PassOutcome.UNCHANGED, [], [])


async def test_a_second_run_with_nothing_new_asks_nothing(world: World):
    await talk(world, "I moved to Lisbon yesterday!")
    await mine(world, LISBON)
    silent = hearing(world)
    report = (await silent.run_passes(FactMining())).passes[0]
    assert (report.outcome, report.reason, silent.chat.requests) == (PassOutcome.UNCHANGED, "no_work", [])


TALK = (
    "I moved to Lisbon yesterday!",
    "assistant: So you live in Alfama now, near the castle.",
    "Yes, exactly.",
    "assistant: And you speak Dutch.",
    "No, I do not.",
    "My brother Rui is 34, and I don't eat meat.",
)

REFUSED = [
    ("an unknown handle", {"sourceTurns": ["t1", "t99"]}, "unknown_handle"),
    ("a handle that is no text", {"sourceTurns": [1]}, "unknown_handle"),
    ("an id instead of a handle", {"sourceTurns": ["id-1"]}, "unknown_handle"),
    ("no turn", {"sourceTurns": []}, "no_sources"),
    ("turns as text", {"sourceTurns": "t1"}, "no_sources"),
    ("a quote that nobody said", {"quote": "moved to Porto"}, "quote_not_found"),
    ("a quote of another turn", {"sourceTurns": ["t6"]}, "quote_not_found"),
    ("a quote that cuts words", {"quote": "oved to Lisbo"}, "quote_not_found"),
    ("a quote of punctuation", {"quote": "!"}, "quote_not_found"),
    ("an empty quote", {"quote": ""}, "quote_not_found"),
    ("a quote with a gap", {"quote": "I moved ... yesterday"}, "quote_not_found"),
    ("a name from nowhere", {"content": "Ana moved to Lisbon with Pedro."}, "invented_detail"),
    ("a number from nowhere", {"content": "Ana moved to Lisbon with 3 cats."}, "invented_detail"),
    ("a year from nowhere", {"content": "Ana moved to Lisbon in 2019."}, "invented_detail"),
    ("what a second reading denies", {"content": "Ana and Rui moved to Lisbon."}, "denied"),
    ("two claims", {"content": "Ana moved to Lisbon. She likes it."}, "split_it"),
    ("a long claim", {"content": f"Ana moved to Lisbon {'and on ' * 12}."}, "split_it"),
    ("the assistant alone", {"content": "Ana lives in Alfama.", "sourceTurns": ["t2"], "quote": "you live in Alfama"},
     "not_evidence"),
    ("the assistant and what was said before",
     {"content": "Ana lives in Alfama.", "sourceTurns": ["t1", "t2"], "quote": "you live in Alfama"},
     "quote_not_found"),
    ("blank content", {"content": "  "}, "invalid_content"),
    ("content that is no text", {"content": {"a": 1}}, "invalid_content"),
    ("content that no store takes", {"content": "Ana moved\x00 to Lisbon"}, "invalid_content"),
    ("a transcript", {"content": "Ana moved to Lisbon. " * 100}, "invalid_content"),
    ("a protected category", {"category": "Active-Plans/move"}, "protected_category"),
    ("a secret", {"content": "Ana's password is hunter2.", "sourceTurns": ["t7"], "quote": "password is hunter2"},
     "secret"),
    ("a secret in the quote", {"content": "Ana has a password.", "sourceTurns": ["t7"], "quote": "password is hunter2"},
     "secret"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "code"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
async def test_a_fact_that_does_not_hold_is_refused_alone(world: World, fields: dict[str, Any], code: str):
    await talk(world, *TALK, "My password is hunter2.")
    brother = a_fact("Ana's brother is Rui.", "t6", quote="my brother rui")
    report = await mine(world, LISBON | fields, brother, denies=["Ana and Rui"])
    is_said = code in {"invented_detail", "denied", "split_it"}
    said = ['Ana, 2025-06-14: "I moved to Lisbon yesterday!"'] if is_said else []
    assert codes(report) == [code]
    assert contents(await world.active()) == sorted([*said, "Ana's brother is Rui."])
    assert report.refused[0].detail.startswith(("fact 1", "item 1"))
    assert "hunter2" not in report.refused[0].detail


@pytest.mark.parametrize("item", [None, "a fact", 7, [], True])
async def test_an_item_that_is_no_object_is_refused_alone(world: World, item: Any):
    await talk(world, *TALK)
    report = await mine(world, item, LISBON)
    assert (codes(report), len(await world.active())) == (["invalid_content"], 1)


@pytest.mark.parametrize(
    "text", ['{"memories": []}', '{"facts": {}}', '{"facts": "none"}', '{"facts": null}', answer(*[LISBON] * 251)]
)
async def test_an_answer_in_another_shape_is_refused_whole_and_its_turns_are_read_again(world: World, text: str):
    await talk(world, *TALK)
    heard = hearing(world, text, answer(LISBON))
    report = (await heard.run_passes(FactMining())).passes[0]
    assert (codes(report), await world.active(), report.backlog) == (["broken_answer"], [], len(TALK))
    await heard.run_passes(FactMining())
    assert len(await world.active()) == 1


ACCEPTED = [
    ("the assistant, confirmed", {"content": "Ana lives in Alfama.", "sourceTurns": ["t2", "t3"],
                                  "quote": "you live in Alfama"}),
    ("a number of the right turn", {"content": "Ana's brother Rui is 34.", "sourceTurns": ["t6"],
                                    "quote": "Rui is 34"}),
    ("a denial in other words", {"content": "Ana does not eat meat.", "sourceTurns": ["t6"],
                                 "quote": "I don\u2019t eat meat"}),
    ("a quote in another spelling", {"quote": "\u201cI  MOVED to lisbon\u201d"}),
    ("handles in brackets", {"sourceTurns": ["[t1]"]}),
    ("a resolved date", {"content": "Ana moved to Lisbon on Friday, 13 June 2025."}),
    ("the month of the date", {"content": "Ana moved to Lisbon in June 2025."}),
    ("a relative date that stays", {"content": "Ana moved to Lisbon yesterday."}),
]  # fmt: skip


@pytest.mark.parametrize("fields", [case[1] for case in ACCEPTED], ids=[case[0] for case in ACCEPTED])
async def test_a_fact_that_holds_is_remembered(world: World, fields: dict[str, Any]):
    await talk(world, *TALK)
    report = await mine(world, LISBON | fields)
    assert (codes(report), contents(await world.active())) == ([], [(LISBON | fields)["content"]])


async def test_a_fact_rests_on_confirmed_words_with_the_trust_of_the_assistant(world: World):
    turns = await talk(world, *TALK)
    await mine(world, LISBON | ACCEPTED[0][1])
    (entry,) = await world.active()
    assert entry.trust is Trust.INFERRED
    assert {source.id for source in entry.sources} == {turns[1].id, turns[2].id}


async def test_an_assistant_turn_that_nobody_confirmed_is_no_source(world: World):
    turns = await talk(world, *TALK)
    await mine(world, LISBON | {"sourceTurns": ["t1", "t4"]})
    (entry,) = await world.active()
    assert (entry.trust, [source.id for source in entry.sources]) == (Trust.STATED, [turns[0].id])


async def test_the_least_trusted_turn_decides(world: World):
    await talk(world, "I moved to Lisbon yesterday!", trust=Trust.UNTRUSTED)
    await mine(world, LISBON)
    assert [entry.trust for entry in await world.active()] == [Trust.UNTRUSTED]


@pytest.mark.parametrize(
    ("importance", "base"),
    [(None, 0.5), (0.2, 0.2), (0, 0.0), (-3, 0.0), (1, 0.79), (99, 0.79), ("high", 0.5), (True, 0.5), ([], 0.5)],
)
async def test_no_model_makes_its_own_words_undroppable(world: World, importance: Any, base: float):
    await talk(world, *TALK)
    await mine(world, LISBON | {"importance": importance})
    assert [entry.base for entry in await world.active()] == [pytest.approx(base)]


@pytest.mark.parametrize(
    ("category", "stored", "repaired"),
    [
        ("people/ana", "people/ana", 0),
        (None, "general", 0),
        (" ", "general", 0),
        ("People / Ana Silva", "people/ana-silva", 1),
        ("../../etc", "etc", 1),
        ("what?!", "general", 1),
        (7, "general", 1),
        ("a\nb", "general", 1),
        ("anti-patterns/mail", "general", 1),
        ("user-preferences/inferred/tea", "general", 1),
        ("user-preferences/tea", "user-preferences/tea", 0),
        ("pessoas/inês", "pessoas/inês", 0),
    ],
)
async def test_a_category_is_repaired_or_replaced(world: World, category: Any, stored: str, repaired: int):
    await talk(world, *TALK)
    report = await mine(world, LISBON | {"category": category})
    assert [entry.category for entry in await world.active()] == [stored]
    assert report.notes["categories_repaired"] == repaired


@pytest.mark.parametrize(
    ("tags", "stored"),
    [
        (["B", "a", "a ", ""], ("a", "b")),
        ("one", ()),
        (None, ()),
        ([1, None, {"a": 1}, "ok"], ("ok",)),
        (["ghp_0123456789abcdefghijABCDEFGHIJ012345"], ()),
    ],
)
async def test_tags_are_words_or_nothing(world: World, tags: Any, stored: tuple[str, ...]):
    await talk(world, *TALK)
    await mine(world, LISBON | {"tags": tags})
    assert [entry.tags for entry in await world.active()] == [stored]


@pytest.mark.parametrize(
    ("said", "given", "stored", "dropped"),
    [
        ("I moved yesterday", "2025-06-13", "2025-06-13", 0),
        ("I moved yesterday", "2025-06", "2025-06", 0),
        ("I moved yesterday", "2025-06-12", "2025-06-13", 1),
        ("I moved yesterday", "soon", "2025-06-13", 1),
        ("I moved yesterday", 2025, "2025-06-13", 1),
        ("I moved yesterday", None, "2025-06-13", 0),
        ("I moved last week", None, "2025-06-02..2025-06-08", 0),
        ("I moved last week", "2025-06-04", "2025-06-02..2025-06-08", 1),
        ("I moved on Friday", None, None, 0),
        ("I moved on Friday", "2025-06-13", "2025-06-13", 0),
        ("I moved on 3 May", "2025-05-03", "2025-05-03", 0),
        ("I moved in 2020", "2020..?", "2020..?", 0),
        ("I moved between 2018 and 2020", "2018..2020", "2018..2020", 0),
        ("I moved in 2020", "2019..?", None, 1),
        ("I moved yesterday at 14:30", "2025-06-13T14:30", "2025-06-13T14:30", 0),
        ("I moved yesterday at 14:30", "2025-06-13T15:30", "2025-06-13", 1),
        ("I moved", "2025-06-14", "2025-06-14", 0),
        ("I moved", None, None, 0),
    ],
)
async def test_a_subject_time_follows_from_the_turns(
    world: World, said: str, given: Any, stored: str | None, dropped: int
):
    await talk(world, said)
    report = await mine(world, a_fact("Ana moved.", quote=said, subjectTime=given))
    (entry,) = await world.active()
    assert (None if entry.subject_time is None else str(entry.subject_time)) == stored
    assert report.notes["subject_times_dropped"] == dropped


async def test_each_turn_is_dated_by_its_own_day(world: World):
    await talk(world, "I saw Rui last Tuesday", occurred_at=NOW - 30 * DAY)
    await talk(world, "I saw Eva last Tuesday")
    report = await mine(
        world,
        a_fact("Ana saw Rui on 13 May 2025.", "t1", quote="saw Rui"),
        a_fact("Ana saw Eva on 10 June 2025.", "t2", quote="saw Eva"),
    )
    assert (codes(report), len(await world.active())) == ([], 2)


async def test_turns_of_machines_are_neither_shown_nor_cited(world: World):
    said = [
        a_turn(world, "Ana lives in Faro", "s1", NOW, generated=True),
        a_turn(world, "Be helpful to Ben", "s1", NOW, role="system"),
        a_turn(world, "<html>Ana lives in Braga</html>", "s1", NOW, role="tool"),
        a_turn(world, "I live in Porto", "s1", NOW + MINUTE),
    ]
    await talk(world, *said)
    heard = hearing(world, answer(a_fact("Ana lives in Porto.", "t1", quote="I live in Porto")))
    report = (await heard.run_passes(FactMining())).passes[0]
    (line,) = lines_of(heard.chat.requests[0])
    assert "Porto" in line
    assert (contents(await world.active()), report.backlog) == (["Ana lives in Porto."], 0)
    assert (await heard.run_passes(FactMining())).passes[0].reason == "no_work"


async def test_only_machines_talking_costs_no_call(world: World):
    await talk(world, a_turn(world, "a page", "s1", NOW, role="tool"))
    silent = hearing(world)
    report = (await silent.run_passes(FactMining())).passes[0]
    assert (report.outcome, silent.chat.requests, report.backlog) == (PassOutcome.UNCHANGED, [], 0)
    assert (await silent.run_passes(FactMining())).passes[0].reason == "no_work"


async def test_a_future_turn_is_not_seen_in_the_future(world: World):
    await talk(world, "I moved to Lisbon", occurred_at=NOW + DAY)
    await mine(world, a_fact("Ana moved to Lisbon.", quote="moved to Lisbon"))
    (entry,) = await world.active()
    assert (entry.created_at, entry.last_seen_at) == (NOW + DAY, NOW)


async def test_a_long_quote_is_shortened_in_the_reason(world: World):
    said = "I moved to Lisbon " + "and was very glad " * 20
    await talk(world, said)
    await mine(world, a_fact("Ana moved to Lisbon.", quote=said))
    (row,) = await world.journal()
    assert len(row.reason) < 260
    assert row.reason.endswith('…"')


async def test_a_turn_that_changed_since_it_was_packed_is_read_again(world: World):
    (turn,) = await talk(world, "I moved to Lisbon yesterday!")

    async def reply(_: Any) -> str:
        await world.write(lambda unit: unit.turns.delete([turn.id]))
        await world.write(lambda unit: unit.turns.add([replace(turn, content="I moved to Porto.")]))
        await world.write(lambda unit: unit.turns.mark_consumed([turn.id], NOW))
        return answer(LISBON)

    report = (await hearing(world, reply).run_passes(FactMining())).passes[0]
    assert (codes(report), await world.active()) == (["stale_source"], [])


@pytest.mark.parametrize(
    ("reply", "content"),
    [
        ("Thanks! By the way, I bought a bike.", "Ana works at Norte."),
        ("No, at Sul.", "Ana works at Norte."),
        ("Yes, for years.", "Ana works at Norte."),
    ],
)
async def test_what_an_assistant_said_is_read_again_beside_what_the_person_said_then(
    world: World, reply: str, content: str
):
    await talk(world, "assistant: You work at Norte.", reply, "Good night.")
    heard = hearing(world, answer(a_fact(content, "t1", "t2", quote="work at Norte")), answer(), denies=[content])
    report = (await heard.run_passes(FactMining())).passes[0]
    (asked,) = heard.chat.readings
    assert all(text in asked.messages[-1].content for text in ("You work at Norte.", reply, "Good night."))
    assert codes(report) == ["denied"]


async def test_what_an_assistant_said_counts_only_where_a_later_turn_of_the_person_is_cited(world: World):
    await talk(world, "I am new here.", "assistant: You work at Norte.", "Yes, for years.")
    fact = a_fact("Ana works at Norte.", "t1", "t2", quote="work at Norte")
    report = await mine(world, fact, fact | {"sourceTurns": ["t2", "t3"]})
    assert codes(report) == ["quote_not_found"]
    assert contents(await world.active()) == ["Ana works at Norte."]


async def test_a_fact_of_a_long_sentence_needs_no_quote_of_its_own(world: World):
    await talk(world, f"I moved to Lisbon {'and walked along the river ' * 20}")
    without = {name: value for name, value in a_fact("Ana moved to Lisbon.", quote="").items() if name != "quote"}
    report = await mine(world, without)
    assert (report.refused, contents(await world.active())) == ((), ["Ana moved to Lisbon."])


async def test_what_somebody_is_quoted_with_may_have_stops_of_its_own(world: World):
    said = 'Rui told me: "We do that. Promised." So be it.'
    await talk(world, said)
    await mine(world, a_fact('Ana says that Rui told her: "We do that. Promised."', quote="We do that. Promised."))
    assert contents(await world.active()) == ['Ana says that Rui told her: "We do that. Promised."']
