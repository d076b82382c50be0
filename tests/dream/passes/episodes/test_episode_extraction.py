"""What becomes of the episodes of an answer: entries with provenance, or refusals with a reason."""

from typing import Any

import orjson
import pytest
from diary import again, an_episode, answer, diary, tell
from dreaming import DAY, NOW, World, codes
from talking import MINUTE, answering, handle_of, lines_of, talk

from agentcore.domain import Level, SourceKind, SourceRef, Status, Trust
from agentcore.llm import ChatRequest
from dream.domain import PassOutcome
from dream.options import EpisodeOptions
from dream.passes.episodes import EpisodeExtraction, counted
from dream.passes.fact_mining import FactMining
from dream.stores import dream_stores

ROOF = an_episode("Ana decided to tile the roof.", "t1", quote="we will tile the roof")
SAID = "It is settled: we will tile the roof."


async def test_an_episode_becomes_an_entry_that_knows_where_it_comes_from(world: World):
    (turn,) = await talk(world, SAID, occurred_at=NOW - DAY)
    report = await tell(world, ROOF | {"tags": ["House"], "importance": 0.6})
    (entry,) = await diary(world)
    assert (entry.content, entry.category) == ("Ana decided to tile the roof.", "episodes/decision")
    assert entry.tags == ("episodic", "house")
    assert (entry.base, entry.level, entry.trust, entry.own_count) == (0.6, Level.DERIVED, Trust.STATED, 1)
    assert (entry.created_at, entry.last_seen_at, entry.recorded_at) == (turn.occurred_at, turn.occurred_at, NOW)
    assert entry.sources == (SourceRef(SourceKind.TURN, turn.id),)
    assert entry.metadata == {"event_type": "decision", "actor": "Ana", "source_sessions": "s1"}
    assert {name: count for name, count in report.notes.items() if count} == {
        "turns": 1, "sessions": 1, "episodes_found": 1, "new": 1, "read_again": 1,
    }  # fmt: skip
    (row,) = await world.journal()
    assert (row.operation, row.reason) == ("episode", 'said by Ana on 13 June 2025: "we will tile the roof"')


async def test_nothing_is_a_good_answer_and_a_second_run_asks_nothing(world: World):
    await talk(world, "Good morning!")
    assert (await tell(world)).outcome is PassOutcome.UNCHANGED
    silent = answering(world)
    report = (await silent.run_passes(EpisodeExtraction())).passes[0]
    assert (report.reason, silent.chat.requests, await diary(world)) == ("no_work", [], [])


async def test_without_its_stores_it_is_skipped_by_name(world: World):
    await talk(world, SAID)
    report = (await world.run_passes(EpisodeExtraction())).passes[0]
    assert (report.outcome, report.reason) == (PassOutcome.SKIPPED, "missing: llm")


@pytest.mark.parametrize("kind", ["conversation", "task", "decision", "discovery", "problem"])
async def test_each_type_of_event_has_a_category(world: World, kind: str):
    await talk(world, SAID)
    await tell(world, ROOF | {"eventType": kind})
    assert [(entry.category, entry.metadata["event_type"]) for entry in await diary(world)] == [
        (f"episodes/{kind}", kind)
    ]


@pytest.mark.parametrize("kind", [None, "party", 7, ["task"], {}, "Task"])
async def test_an_unknown_type_is_a_conversation(world: World, kind: Any):
    await talk(world, SAID)
    report = await tell(world, ROOF | {"eventType": kind})
    assert [entry.category for entry in await diary(world)] == ["episodes/conversation"]
    assert report.notes["types_repaired"] == 1


@pytest.mark.parametrize(
    ("given", "stored", "repaired"),
    [("Ana", "Ana", 0), ("user", "user", 0), ("roof", "roof", 0), ("assistant", "Ana", 1), ("Mallory", "Ana", 1),
     (None, "Ana", 1), (7, "Ana", 1), ("", "Ana", 1), ("A" * 200, "Ana", 1), ("a\nb", "Ana", 1)],
)  # fmt: skip
async def test_an_actor_is_somebody_the_turns_know(world: World, given: Any, stored: str, repaired: int):
    await talk(world, SAID)
    report = await tell(world, ROOF | {"actor": given})
    assert [entry.metadata["actor"] for entry in await diary(world)] == [stored]
    assert report.notes["actors_repaired"] == repaired


@pytest.mark.parametrize(
    ("given", "base"), [(None, 0.5), (0.0, 0.2), (-9, 0.2), (0.4, 0.4), (0.95, 0.79), (1, 0.79), ("high", 0.5)]
)
async def test_importance_has_a_scale_and_stays_below_what_protects(world: World, given: Any, base: float):
    await talk(world, SAID)
    await tell(world, ROOF | {"importance": given})
    assert [entry.base for entry in await diary(world)] == [pytest.approx(base)]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown turn": ({"sourceTurns": ["t99"]}, "unknown_handle"),
    "an episode as a turn": ({"sourceTurns": ["e1"]}, "unknown_handle"),
    "no turn": ({"sourceTurns": []}, "no_sources"),
    "a handle that is no text": ({"sourceTurns": [1]}, "unknown_handle"),
    "an unknown episode": ({"existing": "e99"}, "unknown_handle"),
    "a turn as an episode": ({"existing": "t1"}, "unknown_handle"),
    "an episode that is no handle": ({"existing": 3}, "unknown_handle"),
    "a quote that nobody said": ({"quote": "we will paint the roof"}, "quote_not_found"),
    "an empty quote": ({"quote": ""}, "quote_not_found"),
    "a name from nowhere": ({"content": "Ana and Pedro decided to tile the roof."}, "invented_detail"),
    "a number from nowhere": ({"content": "Ana decided to tile 3 roofs."}, "invented_detail"),
    "what a second reading denies": ({"content": "Ana decided to paint the fence.", "sourceTurns": ["t4"],
                                      "quote": "paint the fence"}, "denied"),
    "two events": ({"content": "Ana decided to tile the roof. Then she left."}, "split_it"),
    "the assistant alone": ({"sourceTurns": ["t2"], "quote": "Slate is better"}, "not_evidence"),
    "blank content": ({"content": " "}, "invalid_content"),
    "no content": ({"content": None}, "invalid_content"),
    "a secret": ({"content": "Ana's password is hunter2.", "sourceTurns": ["t3"], "quote": "password is hunter2"},
                 "secret"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
async def test_an_episode_that_does_not_hold_is_refused_alone(world: World, case: str):
    await talk(
        world, SAID, "assistant: Slate is better, I think.", "My password is hunter2.", "We won't paint the fence."
    )
    fields, code = REFUSED[case]
    good = an_episode("Ana told a password.", "t3", quote="My password")
    report = await tell(world, ROOF | fields, good, denies=["to paint the fence"])
    assert codes(report) == [code]
    assert [entry.content for entry in await diary(world)] == ["Ana told a password."]
    assert "hunter2" not in report.refused[0].detail


async def test_generated_turns_are_never_shown(world: World):
    await talk(world, SAID)
    await talk(world, "Dreamt: the roof burnt.", session="s2", generated=True)
    heard = answering(world, answer())
    await heard.run_passes(EpisodeExtraction())
    assert [SAID in line for line in lines_of(heard.chat.requests[0], "t")] == [True]


async def test_a_protected_category_is_left_alone(world: World):
    await talk(world, SAID)
    assert codes(await tell(world, ROOF, protected_categories=("episodes",))) == ["protected_category"]
    assert await diary(world) == []


@pytest.mark.parametrize("text", ['{"episodes": []}', '{"toSave": {}}', '{"toSave": null}', answer(*[ROOF] * 101)])
async def test_an_answer_in_another_shape_is_refused_whole_and_its_turns_are_read_again(world: World, text: str):
    await talk(world, SAID)
    heard = answering(world, text, answer(ROOF))
    report = (await heard.run_passes(EpisodeExtraction())).passes[0]
    assert (codes(report), report.backlog, await diary(world)) == (["broken_answer"], 1, [])
    await heard.run_passes(EpisodeExtraction())
    assert len(await diary(world)) == 1


async def come_back(world: World, text: str, session: str, **fields: Any) -> Any:
    """Say something, and have the model point at the roof."""
    turns = await talk(world, text, session=session, **fields)

    def point(request: ChatRequest) -> str:
        return answer(again(handle_of(request, "tile the roof."), "t1", quote=text))

    report = (await answering(world, point).run_passes(EpisodeExtraction())).passes[0]
    return turns[0], report


async def test_an_episode_met_again_counts_once_more_and_moves_its_last_sight_to_the_turn(world: World):
    (first,) = await talk(world, SAID)
    await tell(world, ROOF)
    world.clock.advance(3 * DAY)
    second, report = await come_back(world, "The roof is half tiled", "s2", occurred_at=NOW + 2 * DAY)
    (entry,) = await diary(world)
    assert (entry.own_count, entry.created_at, entry.last_seen_at) == (2, first.occurred_at, second.occurred_at)
    assert (entry.content, counted(entry)) == ("Ana decided to tile the roof.", {"s1", "s2"})
    assert (report.notes["reinforced"], report.notes["new"]) == (1, 0)
    assert (await world.journal())[-1].operation == "reinforce"


async def test_a_session_counts_once_however_much_is_said_in_it(world: World):
    await talk(world, SAID)
    await tell(world, ROOF)
    for day in (1, 2):
        world.clock.advance(DAY)
        await come_back(world, f"The roof again, day {day}", "s2")
    (entry,) = await diary(world)
    assert (entry.own_count, entry.last_seen_at) == (2, NOW + 2 * DAY)
    assert len(entry.sources) == 3


async def test_the_same_answer_about_the_same_turns_changes_nothing(world: World):
    await talk(world, SAID)
    await tell(world, ROOF)
    before = await diary(world)
    reworded = ROOF | {"content": "Ana has decided to tile the roof"}
    for told in (ROOF, reworded):
        # As after a lost cursor: the pass reads the turns again.
        await world.write(lambda unit: dream_stores(unit).cursors.move("episodes", None))
        assert (await tell(world, told)).notes["known"] == 1
    assert await diary(world) == before


async def test_what_a_person_took_back_is_not_told_again(world: World):
    await talk(world, SAID)
    await tell(world, ROOF)
    run = (await world.dreams.runs())[0]
    await world.dreams.undo(run.run_id)
    assert await diary(world) == []
    assert codes(await tell(world, ROOF)) == ["undone_by_person"]


async def test_what_a_person_had_forgotten_stays_away(world: World):
    said = "It is settled: we will tile the roof of the summer kitchen with slate from Valongo."
    content = "Ana decided to tile the roof of the summer kitchen with slate from Valongo."
    roof = an_episode(content, "t1", quote="we will tile the roof of the summer kitchen")
    await talk(world, said)
    await tell(world, roof)
    await world.memory.forget((await diary(world))[0].id)
    await talk(world, said, session="s2")
    assert codes(await tell(world, roof)) == ["forgotten"]


async def test_turns_trusted_less_reinforce_nothing(world: World):
    await talk(world, SAID)
    await tell(world, ROOF)
    _, report = await come_back(world, "The roof is done", "s2", trust=Trust.UNTRUSTED)
    assert ([entry.own_count for entry in await diary(world)], report.notes["known"]) == ([1], 1)


async def test_turns_about_something_else_do_not_meet_an_episode(world: World):
    await talk(world, SAID)
    await tell(world, ROOF)
    await talk(world, "Bananas ripen.", session="s1")

    def point(request: ChatRequest) -> str:
        new = handle_of(request, "Bananas")
        return answer(again(handle_of(request, "to tile the roof."), new, quote="Bananas ripen"))

    report = (await answering(world, point).run_passes(EpisodeExtraction())).passes[0]
    assert (codes(report), [entry.own_count for entry in await diary(world)]) == (["unrelated"], [1])


async def test_known_episodes_are_shown_if_they_are_near_or_of_the_same_session_and_recent(world: World):
    stored = {"category": "episodes/task", "tags": ("episodic",), "metadata": {"source_sessions": "a%2Cb"}}
    await world.add("The roof was measured.", "Rui cut the hedge.", **stored)
    await world.add("The roof was built.", created_at=NOW - 40 * DAY, **stored)
    await world.add("The roof is a fact.", category="home")
    for session, expected in (("s1", ["measured"]), ("a,b", ["hedge", "measured"])):
        await talk(world, SAID, session=session)
        heard = answering(world, answer())
        await heard.run_passes(EpisodeExtraction())
        shown = sorted(line.split()[-1].strip('."') for line in lines_of(heard.chat.requests[0], "e"))
        assert shown == expected
    silent = answering(world, answer(), episodes=EpisodeOptions(context_entries=0))
    await talk(world, SAID, session="s3")
    await silent.run_passes(EpisodeExtraction())
    assert lines_of(silent.chat.requests[0], "e") == []


async def test_an_episode_that_went_meanwhile_is_stale(world: World):
    await talk(world, SAID)
    await tell(world, ROOF)
    (entry,) = await diary(world)
    gone = {"status": Status.ARCHIVED, "status_reason": "gone", "status_at": NOW}
    context = EpisodeExtraction()
    await talk(world, "The roof is done", session="s2", occurred_at=NOW + MINUTE)

    class Going:
        """Answers once the episode is archived."""

        async def complete(self, request: ChatRequest) -> Any:
            told = answer(again(handle_of(request, "tile the roof."), "t1", quote="The roof is done"))
            await world.change(entry, **gone)
            return await answering(world, told).chat.complete(request)

    heard = answering(world)
    heard.chat = Going()
    assert codes((await heard.run_passes(context)).passes[0]) == ["stale_source"]


FACT = {"content": "Ana decided on Friday to tile the roof.", "category": "home", "tags": [], "sourceTurns": ["t1"]}


@pytest.mark.parametrize(
    ("fact", "is_told"),
    [
        (FACT, True),
        (FACT | {"content": "Ana decided on Friday to paint the roof."}, False),
        (FACT | {"sourceTurns": ["t2"], "content": "Ana decided to tile the roof."}, False),
    ],
    ids=["told", "something else", "another turn"],
)
async def test_an_episode_that_a_fact_of_its_turns_tells_whole_is_known_already(
    world: World, fact: dict[str, Any], is_told: bool
):
    await talk(world, f"On Friday I painted. {SAID}", f"Once more: {SAID}")
    await answering(world, orjson.dumps({"facts": [fact]}).decode()).run_passes(FactMining())
    report = await tell(world, ROOF)
    assert (codes(report), len(await diary(world))) == ((["already_known"], 0) if is_told else ([], 1))
